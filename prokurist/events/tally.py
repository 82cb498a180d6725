"""Counts of values by upper bound: the part of a histogram that each recording changes.

Thread: one writes, any reads.
Invariants: no number ever falls.
"""

from bisect import bisect_left
from typing import Final

SECONDS: Final = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
"""Upper bounds for spans, from a turn of the loop to a poll interval."""


class Tally:
    """Counts of values by upper bound, and their sum.

    Attributes:
        bounds: The upper bounds, each inclusive, in order.
        total: The sum of the values.
    """

    __slots__ = ("_counts", "bounds", "total")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds: tuple[float, ...] = bounds
        self.total: float = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally with the same bounds."""
        for place, count in enumerate(other.counts):
            self._counts[place] += count
        self.total += other.total

    @property
    def counts(self) -> list[int]:
        """Return the count for each bound, and for values above all of them."""
        return list(self._counts)
