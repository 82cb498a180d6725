"""Messages of tasks to the driver: offsets of written rows, or the rows themselves.

Thread: any; values that are pickled.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from prokurist.errors import RecordTooLargeException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.sink.writing import WrittenRange
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class WrittenMessage(WriterCommitMessage):
    """Rows that a task has written.

    Attributes:
        rows: How many.
        ranges: Their offsets.
    """

    rows: int
    ranges: Mapping[TopicPartition, WrittenRange]


@dataclass(frozen=True, slots=True)
class RowsMessage(WriterCommitMessage):
    """Rows that the driver is to write.

    Attributes:
        rows: How many.
        query: The id of the query; empty where there is none.
        stream: The rows as an IPC stream of Arrow, compressed; empty for none.
    """

    rows: int
    query: str
    stream: bytes = field(repr=False)

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], query: str, most: int) -> "RowsMessage":
        """Pack the rows of a task.

        Args:
            batches: The rows.
            query: The id of the query.
            most: `exactlyOnceMaxBytes`.

        Raises:
            RecordTooLargeException: They have more bytes.
        """
        packed, writer, rows, size = pa.BufferOutputStream(), None, 0, 0
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        for batch in batches:
            if writer is None:
                writer = pa.ipc.new_stream(packed, batch.schema, options=options)
            rows += batch.num_rows
            size += batch.nbytes
            check_size(size, most)
            writer.write_batch(batch)
        if writer is None:
            return cls(0, query, b"")
        writer.close()
        return cls(rows, query, packed.getvalue().to_pybytes())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Unpack the rows."""
        if self.stream:
            yield from pa.ipc.open_stream(self.stream)


def check_size(size: int, most: int) -> None:
    """Check that the rows of a batch are not too many for the driver.

    Raises:
        RecordTooLargeException: They are.
    """
    if size > most:
        raise RecordTooLargeException(
            f"a batch has {size} bytes of rows or more, and exactlyOnceMaxBytes={most} is the "
            f"most that goes by way of the driver: take less with a trigger "
            f"(maxOffsetsPerTrigger of the source), or raise exactlyOnceMaxBytes and "
            f"spark.driver.maxResultSize"
        )
