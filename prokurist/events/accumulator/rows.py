"""Many records for one topic at a time: what is sent, and where each has come to.

Thread: that of the one call which sends them.

Invariant: of each row that is counted in `Places` it is known in which batch it is, and where.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from prokurist.records.columns import Spans

Column: TypeAlias = Sequence[bytes | None] | Spans
"""Byte strings, one for each row: a list of objects, or spans of shared memory."""
NO_HEADERS: Final = b"\0"
"""The headers of a record that has none, as they are on the wire."""


class Rows:
    """Records as columns.

    Args:
        count: How many.
        keys: Their keys; None where no record has one.
        values: Their values; None where all are null.
        headers: Their headers as on the wire: of each row, or the same for all.
        timestamps: Their timestamps: of each row, the same for all, or None for now. A
            timestamp of −1 stands for now.
    """

    __slots__ = ("count", "headers", "keys", "timestamps", "values")

    def __init__(
        self,
        count: int,
        keys: Column | None,
        values: Column | None,
        headers: Column | bytes = NO_HEADERS,
        timestamps: "memoryview | array[int] | int | None" = None,
    ) -> None:
        self.count: int = count
        self.keys: Column | None = keys
        self.values: Column | None = values
        self.headers: Column | bytes = headers
        self.timestamps: memoryview | array[int] | int | None = timestamps

    def row(self, index: int, now: int) -> tuple[bytes | None, bytes | None, bytes, int]:
        """One record: key, value, headers and timestamp.

        Args:
            index: Which.
            now: The timestamp of a record without one.
        """
        headers, timestamp = self.headers, self.timestamps
        if not isinstance(headers, bytes):
            headers = of(headers, index) or NO_HEADERS
        if timestamp is not None and not isinstance(timestamp, int):
            timestamp = timestamp[index]
        if timestamp is None or timestamp < 0:
            timestamp = now
        return of(self.keys, index), of(self.values, index), headers, timestamp

    def __repr__(self) -> str:
        return f"Rows({self.count})"


def of(column: Column | None, index: int) -> bytes | None:
    """One row of a column.

    Raises:
        ValueError: A span ends outside of its data.
    """
    if column is None:
        return None
    if not isinstance(column, Spans):
        return column[index]
    start, length = column.starts[index], column.lengths[index]
    if length < 0:
        return None
    if start < 0 or start + length > column.data.nbytes:
        raise ValueError(f"row {index} ends outside of its column's data")
    return bytes(column.data[start : start + length])


class Run(NamedTuple):
    """Records of one call that are side by side in one batch.

    Attributes:
        batch: The batch.
        first: The index of the first of them there.
        records: How many they are.
    """

    batch: Any
    first: int
    records: int


class Places:
    """Places of the records of one call in their batches, in pure Python.

    Args:
        total: How many there are to come.
    """

    __slots__ = ("_latest", "_runs", "_slots")

    def __init__(self, total: int) -> None:
        del total  # The native twin allocates as many.
        self._slots = array("i")
        # Batch, first index and number of each run; and which is a batch's latest.
        self._runs: list[list[Any]] = []
        self._latest: dict[Any, int] = {}

    @property
    def count(self) -> int:
        """Of how many records the place is known."""
        return len(self._slots)

    def add(self, batch: Any, index: int) -> None:
        """Take note of the next record's place."""
        slot = self._latest.get(batch)
        if slot is None or index != self._runs[slot][1] + self._runs[slot][2]:
            slot = self._latest[batch] = len(self._runs)
            self._runs.append([batch, index, 0])
        self._runs[slot][2] += 1
        self._slots.append(slot)

    def runs(self) -> list[Run]:
        """The runs that they make, in the order of their first records."""
        return [Run(*run) for run in self._runs if run[2]]

    def each(self) -> Iterator[tuple[Any, int]]:
        """The batch of each record, and its index there, in the order of the records."""
        ahead = [first for _, first, _ in self._runs]
        for slot in self._slots:
            yield self._runs[slot][0], ahead[slot]
            ahead[slot] += 1

    def __repr__(self) -> str:
        return f"Places({self.count})"
