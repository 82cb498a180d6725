"""Samples of a log's end offsets, for the age of the oldest unprocessed record.

Thread: one writes, any may read: a reader takes one tuple, which is replaced and never changed.
Invariants: the number of samples is bounded; at the bound every second one between the first
and the last goes, so that the history reaches back as far as needed and becomes coarser with
its age. Samples before the reader's place go as well.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

MOST_SAMPLES: Final = 64
"""For one partition."""

Sample = tuple[int, float]
"""Log end offset, and its time."""


class LogEnds:
    """Samples of one log's end offsets.

    Attributes:
        end: Where the log ended last; None before it was seen.
    """

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: tuple[Sample, ...] = ()

    @property
    def end(self) -> int | None:
        """The log's last known end offset; None before it was seen."""
        samples = self._samples
        return samples[-1][0] if samples else None

    def seen(self, end: int, now: float, done: int) -> None:
        """Add a sample of the log's end.

        Args:
            end: Its end.
            now: The moment.
            done: The reader's place: samples before it are of no further use.
        """
        samples = self._samples
        if samples and end < samples[-1][0]:
            samples = ()  # It was cut back, or is another topic of the same name.
        if [each for each, _ in samples[-2:]] == [end, end]:
            samples = samples[:-1]  # Of a time in which nothing came, both ends are enough.
        samples = since(done, (*samples, (end, now)))
        if len(samples) > MOST_SAMPLES:
            samples = (*samples[:-1:2], samples[-1])
        self._samples = samples

    def age(self, done: int, now: float) -> float | None:
        """Seconds since the oldest unprocessed record was written, as far as samples tell.

        Between two samples records are taken to have come evenly. A record older than all
        samples is at least as old as the first one.

        Args:
            done: How far the reader has come.
            now: The moment.

        Returns:
            Seconds; 0 where all is done; None while the end is not known.
        """
        samples = self._samples
        if not samples:
            return None
        if done >= samples[-1][0]:
            return 0.0
        after = bisect_right(samples, done, key=lambda sample: sample[0])
        end, at = samples[after]
        if after:
            before, earlier = samples[after - 1]
            at = earlier + (at - earlier) * (done - before) / (end - before)
        return max(0.0, now - at)

    def __repr__(self) -> str:
        return f"LogEnds({len(self._samples)} samples, end {self.end})"


def since(done: int, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples that are still of use at this position."""
    for nth, (_, following) in enumerate(pairwise(samples)):
        if following[0] > done:
            return tuple(samples[nth:])
    return tuple(samples[-1:])
