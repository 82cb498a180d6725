"""One partition's log: batches in order, and the epochs they were written in.

Invariants: offsets rise; `start <= end`; an epoch begins where the one before it ended; below
`stable_end` no transaction is open. `epochs` has the epochs with records, known to every
complete copy; further ones of a leader are the partition's.

Thread: the one that drives the model; the log itself has no lock.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from prokurist.testing.cluster.batches import RecordBatch
from prokurist.testing.cluster.epochs import EpochCache


class Found(NamedTuple):
    """A record found by its timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


class Settled(NamedTuple):
    """A transaction that is over: its first record, and its marker."""

    producer: int
    first: int
    last: int
    committed: bool


class Log:
    """The log."""

    __slots__ = ("_latest_deleted", "batches", "end", "epochs", "open", "settled", "start")

    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []
        self._latest_deleted: Found | None = None
        self.start: int = 0
        self.end: int = 0
        self.epochs: EpochCache = EpochCache()
        self.open: dict[int, int] = {}  # transactions: producer, first offset
        self.settled: list[Settled] = []  # in the order of their markers

    def __repr__(self) -> str:
        span = f"{self.start} to {self.end}"
        return f"Log({span}, {len(self.batches)} batches, {self.epochs})"

    def append(self, batch: RecordBatch, epoch: int) -> RecordBatch:
        """Put a batch at the end; it gets its offsets here."""
        kept = batch.appended_at(self.end, epoch)
        self.batches.append(kept)
        self.epochs.assign(epoch, kept.base_offset)
        self.end = kept.last_offset + 1
        if kept.is_transactional and kept.has_producer and not kept.is_control:
            self.open.setdefault(kept.producer_id, kept.base_offset)
        return kept

    def end_transaction(self, marker: RecordBatch, epoch: int, *, committed: bool) -> None:
        """Append a marker: it commits or aborts the producer's open transaction."""
        kept = self.append(marker, epoch)
        first = self.open.pop(kept.producer_id, None)
        if first is not None:
            over = Settled(kept.producer_id, first, kept.last_offset, committed)
            self.settled.append(over)

    def stable_end(self, watermark: int) -> int:
        """The last stable offset below a high watermark.

        That is where the oldest transaction begins that is open, or whose marker is not
        below the watermark yet; never before the log's start.
        """
        end = watermark
        for first in self.open.values():
            end = min(end, first)
        for over in reversed(self.settled):
            if over.last < watermark:
                break
            end = min(end, over.first)
        return max(end, min(self.start, watermark))

    def aborted_between(self, offset: int, upto: int) -> list[tuple[int, int]]:
        """The aborted transactions that reach beyond an offset and begin below another one.

        Returns:
            Producer and first offset of each.
        """
        return [
            (over.producer, over.first)
            for over in self.settled
            if over.last >= offset and over.first < upto and not over.committed
        ]

    def offset_after(self, offset: int, size: int) -> int:
        """The offset behind so many bytes, from the batch on that holds an offset."""
        first = bisect_left(self.batches, offset, key=lambda each: each.last_offset)
        for batch in islice(self.batches, first, None):
            if size <= 0:
                break
            offset, size = batch.last_offset + 1, size - len(batch.data)
        return offset

    def read(
        self, offset: int, max_bytes: int, *, at_least_one: bool, upto: int | None = None
    ) -> bytes:
        """Bytes from the batch that holds `offset`, up to a size and an offset.

        The last batch is cut off where the size ends. If the first one does not fit,
        there is nothing, or that batch alone.
        """
        taken: list[bytes] = []
        room = max_bytes
        first = bisect_left(self.batches, offset, key=lambda each: each.last_offset)
        for batch in islice(self.batches, first, None):
            if (taken and room <= 0) or (upto is not None and batch.base_offset >= upto):
                break
            if not taken and len(batch.data) > room:
                return batch.data if at_least_one else b""
            taken.append(batch.data[:room])
            room -= len(batch.data)
        return b"".join(taken)

    def damage(self, offset: int) -> None:
        """Change the last byte of the batch that holds an offset."""
        nth = bisect_left(self.batches, offset, key=lambda each: each.last_offset)
        batch = self.batches[nth]
        data = batch.data[:-1] + bytes([batch.data[-1] ^ 0xFF])
        self.batches[nth] = replace(batch, data=data)

    def at_time(self, timestamp: int) -> Found | None:
        """The first record stamped at or after a moment."""
        return next((each for each in self._records() if each.timestamp >= timestamp), None)

    def latest_stamped(self) -> Found | None:
        """The record with the latest timestamp, the first of equals.

        One that was deleted counts while its segment is kept; here there is one segment.
        """
        kept = [self._latest_deleted] if self._latest_deleted else []
        return max([*kept, *self._records()], key=lambda each: each.timestamp, default=None)

    def truncate(self, end: int) -> None:
        """Forget everything from an offset on, as an unclean election does."""
        self.batches = [each for each in self.batches if each.last_offset < end]
        self.end = max(self.start, min(end, self.end))
        self.epochs.truncate(self.end)
        self.open = {each: first for each, first in self.open.items() if first < end}
        reopened = [each for each in self.settled if each.first < end <= each.last]
        self.open |= {each.producer: each.first for each in reopened}
        self.settled = [each for each in self.settled if each.last < end]

    def delete_before(self, offset: int) -> None:
        """Forget everything below an offset, as retention does."""
        start = max(self.start, min(offset, self.end))
        gone = [each for each in self._records() if each.offset < start]
        if self._latest_deleted:
            gone.insert(0, self._latest_deleted)
        self._latest_deleted = max(gone, key=lambda each: each.timestamp, default=None)
        self.start = start
        self.batches = [each for each in self.batches if each.last_offset >= start]
        self.settled = [each for each in self.settled if each.last >= start]
        self.epochs.delete_before(start)

    def _records(self) -> Iterator[Found]:
        for batch in self.batches:
            for offset, timestamp in batch.records():
                if offset >= self.start:
                    yield Found(offset, timestamp, batch.leader_epoch)
