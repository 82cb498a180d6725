"""A source for Spark that makes its rows up: what Spark itself can take.

Its columns are those of a topic, and its batches as large as ours, so that what is left
between the two is Kafka. A module of its own, since Spark's workers import it by name.

Thread: those of Spark's processes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from prokurist.spark.row_schema import COLUMNS, ddl
from prokurist.spark.source.arrow_batches import TYPES

FORMAT = "made_up"
BATCH_BYTES = 1 << 20
ROW_BYTES = 40
"""What the other columns of a row take, about."""


class MadeUp(DataSource):
    """A source of made-up rows. Options: `parts`, `rows` of each, their `size`, `triggers`."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format`."""
        return FORMAT

    def schema(self) -> str:
        """That of a topic."""
        return ddl(with_headers=False)

    def reader(self, schema: Any) -> "MadeUpReader":
        """For a batch."""
        del schema
        return MadeUpReader(dict(self.options))

    def streamReader(self, schema: Any) -> "MadeUpStream":  # noqa: N802 - Spark's name
        """For a stream."""
        del schema
        return MadeUpStream(dict(self.options))


class MadeUpReader(DataSourceReader):
    """Makes so many rows in each of so many parts."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """As many as asked for."""
        return [InputPartition(number) for number in range(int(self._options["parts"]))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """About a mebibyte at a time."""
        return rows_made_up(
            partition.value, int(self._options["rows"]), int(self._options["size"])
        )


class MadeUpStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The same for so many triggers."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._reader = MadeUpReader(options)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Without it Spark would read all of it at once."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Nothing yet."""
        return {"trigger": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """One more, until there are enough."""
        del limit
        return {"trigger": min(start["trigger"] + 1, int(self._options["triggers"]))}

    def partitions(
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Sequence[InputPartition]:
        """The same each time."""
        del start, end
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The same each time."""
        return self._reader.read(partition)


def rows_made_up(partition: int, rows: int, size: int) -> Iterator[Any]:
    """Batches of about a mebibyte; all but the offsets is made once."""
    each = max(1, min(rows, BATCH_BYTES // (size + ROW_BYTES)))
    arrays = {
        "key": pa.nulls(each, pa.binary()),
        "value": pa.array([b"x" * size] * each, pa.binary()),
        "topic": pa.array(["made_up"] * each, pa.string()),
        "partition": pa.array([partition] * each, pa.int32()),
        "timestamp": pa.array([0] * each, pa.int64()).view(TYPES["timestamp"]),
        "timestampType": pa.array([0] * each, pa.int32()),
    }
    first = pa.array(range(each), pa.int64())
    schema = pa.schema([pa.field(name, TYPES[name]) for name in COLUMNS])
    for start in range(0, rows, each):
        arrays["offset"] = pc.add(first, start)
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in COLUMNS], schema=schema)
        yield batch.slice(0, min(each, rows - start))
