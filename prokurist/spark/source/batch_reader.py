"""The batch reader that Spark calls; `batch_planning` has its logic.

Spark pickles it, so it holds what was asked for, and no client. Process: `partitions` in a
short worker beside the driver, `read` in the executors' workers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from prokurist.spark.source.batch_planning import planned
from prokurist.spark.source.filter_ranges import EVERYWHERE
from prokurist.spark.source.options import Settings
from prokurist.spark.source.task import read
from prokurist.spark.source.task_attempts import attempt_number


class BatchReader(DataSourceReader):
    """Spark's batch reader for Kafka; its offsets are fixed when first asked for.

    Args:
        settings: What the options come to.
        columns: What is wanted of each record.
    """

    def __init__(self, settings: Settings, columns: tuple[str, ...]) -> None:
        self._settings = settings
        self._columns = columns
        self._where = EVERYWHERE

    def partitions(self) -> Sequence[InputPartition]:
        """The input partitions: a task for each piece that is not empty."""
        pieces = planned(self._settings, self._columns, self._where)
        return [InputPartition(piece) for piece in pieces] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read one piece as Arrow batches."""
        # Spark makes one task, of nothing, where there is nothing to read.
        return iter(()) if partition.value is None else read(partition.value, attempt_number())
