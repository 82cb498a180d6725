"""A run of records, in pure Python: the specification.

What a reader hands out: consecutive rows of one decoded batch. Iterating it makes
the records one by one.

Thread: any, once it is made; nothing in it changes.
"""

from collections.abc import Iterator

from prokurist.records.columns import Columns, RecordColumns
from prokurist.records.record import ConsumerRecord, views


class RecordRun:
    """Consecutive records of one batch; iterating makes them.

    Args:
        columns: The batch.
        start: Its first row.
        stop: The row after its last.

    Raises:
        IndexError: The rows are not there.
    """

    __slots__ = ("columns", "start", "stop")

    def __init__(self, columns: Columns, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= len(columns):
            raise IndexError(f"rows {start} to {stop} of {len(columns)}")
        self.columns: Columns = columns
        self.start: int = start
        self.stop: int = stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return views(self.columns, self.start, self.stop)

    def __getitem__(self, index: int) -> ConsumerRecord:
        row = index + self.start if index >= 0 else index + self.stop
        if not self.start <= row < self.stop:
            raise IndexError(f"record {index} of {len(self)}")
        return ConsumerRecord.of(self.columns, row)

    def __repr__(self) -> str:
        return f"RecordRun({self.columns.topic}-{self.columns.partition}, {len(self)} records)"

    def as_columns(self) -> RecordColumns:
        """The same records as columns; nothing is copied."""
        return self.columns.sliced(self.start, self.stop)
