"""One partition's log: batches in order, and the epochs they were written in.

Invariants: offsets rise; `start <= end`; an epoch begins where the one before it
ended; everything below `end` is committed (the model replicates at once, so high
watermark, last stable offset and log end are one number).

Thread: whoever drives the model; the log itself has no lock.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from prokurist.testing.cluster.batches import Batch

UNDEFINED = -1
"""What Kafka writes for "no such epoch", "no such offset", "no such timestamp"."""


class Found(NamedTuple):
    """A record found by its timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


class EpochEnd(NamedTuple):
    """Where an epoch ended."""

    epoch: int
    end_offset: int


class Log:
    """The log."""

    __slots__ = ("batches", "end", "epochs", "start")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.start: int = 0
        self.end: int = 0
        self.epochs: list[tuple[int, int]] = [(0, 0)]  # epoch, first offset

    def __repr__(self) -> str:
        span = f"{self.start} to {self.end}"
        return f"Log({span}, {len(self.batches)} batches, epoch {self.epochs[-1][0]})"

    def append(self, batch: Batch, epoch: int) -> Batch:
        """Put a batch at the end; it gets its offsets here."""
        kept = batch.appended_at(self.end, epoch)
        self.batches.append(kept)
        self.end = kept.last_offset + 1
        return kept

    def begin_epoch(self, epoch: int) -> None:
        """A leader was elected: what is appended from now on is its."""
        # As in Kafka no trace is left of epochs in which nothing was written, nor of
        # those that an older one, elected by accident, overrules.
        self.epochs = [each for each in self.epochs if each[0] < epoch and each[1] < self.end]
        self.epochs.append((epoch, self.end))

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Whole batches from the one that holds `offset`, up to a size."""
        taken: list[bytes] = []
        room = max_bytes
        first = bisect_left(self.batches, offset, key=lambda each: each.last_offset)
        for batch in islice(self.batches, first, None):
            if len(batch.data) > room and not (at_least_one and not taken):
                break
            taken.append(batch.data)
            room -= len(batch.data)
        return b"".join(taken)

    def at_time(self, timestamp: int) -> Found | None:
        """The first record stamped at or after a moment."""
        return next((each for each in self._records() if each.timestamp >= timestamp), None)

    def latest_stamped(self) -> Found | None:
        """The record with the latest timestamp, the first of equals."""
        return max(self._records(), key=lambda each: each.timestamp, default=None)

    def epoch_at(self, offset: int) -> int:
        """The epoch that an offset was, or will be, written in."""
        return next((epoch for epoch, first in reversed(self.epochs) if first <= offset), 0)

    def epoch_end(self, epoch: int) -> EpochEnd:
        """Where the newest epoch up to the asked one ended, as Kafka answers it."""
        if epoch > self.epochs[-1][0] or epoch < 0:
            return EpochEnd(UNDEFINED, UNDEFINED)
        later = [first for known, first in self.epochs if known > epoch]
        upto = [known for known, _ in self.epochs if known <= epoch]
        return EpochEnd(upto[-1] if upto else epoch, later[0] if later else self.end)

    def truncate(self, end: int) -> None:
        """Forget everything from an offset on, as an unclean election does."""
        self.batches = [each for each in self.batches if each.last_offset < end]
        self.end = max(self.start, min(end, self.end))
        self.epochs = [each for each in self.epochs if each[1] < end] or self.epochs[:1]

    def delete_before(self, offset: int) -> None:
        """Forget everything below an offset, as retention does."""
        self.start = max(self.start, min(offset, self.end))
        self.batches = [each for each in self.batches if each.last_offset >= self.start]

    def _records(self) -> Iterator[Found]:
        for batch in self.batches:
            for offset, timestamp in batch.records():
                if offset >= self.start:
                    yield Found(offset, timestamp, batch.leader_epoch)
