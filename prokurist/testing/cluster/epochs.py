"""Leader epochs of one copy of a log, each with its first offset.

Mirrors Kafka's LeaderEpochFileCache. A leader notes its epoch when it is elected, a
follower when it copies the first batch of that epoch. An epoch without records is
dropped as soon as the next one begins at the same offset.

Thread: the one that drives the model.
"""

from collections.abc import Iterable
from typing import NamedTuple

UNDEFINED = -1
"""Kafka's −1 for "no such epoch", "no such offset", "no such timestamp"."""


class EpochEnd(NamedTuple):
    """End offset of a leader epoch."""

    epoch: int
    end_offset: int


class EpochCache:
    """Epochs in rising order, each with its first offset."""

    __slots__ = ("entries",)

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self.entries: list[tuple[int, int]] = list(entries)

    def __repr__(self) -> str:
        return f"EpochCache({self.entries})"

    @property
    def last(self) -> int:
        """The newest epoch; undefined where there is none."""
        return self.entries[-1][0] if self.entries else UNDEFINED

    def assign(self, epoch: int, first: int) -> None:
        """Note the beginning of an epoch at an offset; drop entries that it overrules."""
        if self.entries and self.entries[-1][0] == epoch and self.entries[-1][1] <= first:
            return
        self.entries = [each for each in self.entries if each[0] < epoch and each[1] < first]
        self.entries.append((epoch, first))

    def end_of(self, epoch: int, log_end: int) -> EpochEnd:
        """Return the end of the newest epoch up to the given one; undefined if unknown.

        Args:
            epoch: The epoch asked about.
            log_end: Where this copy of the log ends.
        """
        if epoch < 0 or not self.entries or epoch > self.entries[-1][0]:
            return EpochEnd(UNDEFINED, UNDEFINED)
        if epoch == self.entries[-1][0]:
            return EpochEnd(epoch, log_end)
        first_later = next(first for known, first in self.entries if known > epoch)
        earlier = [known for known, _ in self.entries if known <= epoch]
        return EpochEnd(earlier[-1] if earlier else epoch, first_later)

    def at(self, offset: int) -> int:
        """The epoch that an offset belongs to; 0 below the first one kept."""
        return next((epoch for epoch, first in reversed(self.entries) if first <= offset), 0)

    def truncate(self, end: int) -> None:
        """Drop the epochs that begin at an offset or later."""
        self.entries = [each for each in self.entries if each[1] < end]

    def delete_before(self, start: int) -> None:
        """Have the first epoch kept begin where the log begins now."""
        gone = [each for each in self.entries if each[1] <= start]
        if gone:
            self.entries = [(gone[-1][0], start), *self.entries[len(gone) :]]

    def up_to(self, end: int) -> "EpochCache":
        """A copy with the epochs that begin below an offset."""
        return EpochCache(each for each in self.entries if each[1] < end)
