"""Counters of a member's rebalances.

Thread: the network thread writes, any reads.
"""

from prokurist.events.counter_types import Histogram


class Rebalances:
    """Counts rebalances, and how long they took.

    Attributes:
        seconds: Of those that were finished.
        failed: How many came to nothing: an error, a fence, or a departure came first.
        ended_at: When the last one was finished, on the clock; None before the first.
    """

    __slots__ = ("_began", "ended_at", "failed", "seconds")

    def __init__(self) -> None:
        self.seconds: Histogram = Histogram()
        self.failed: int = 0
        self.ended_at: float | None = None
        self._began: float | None = None

    def begin(self, now: float) -> None:
        """Count a rebalance that begins; no effect if one is under way."""
        if self._began is None:
            self._began = now

    def end(self, now: float) -> None:
        """Count a rebalance that has succeeded; no effect if none is under way."""
        if self._began is not None:
            self.seconds.observe(now - self._began)
            self._began, self.ended_at = None, now

    def fail(self) -> None:
        """Count a rebalance that has failed; no effect if none is under way."""
        if self._began is not None:
            self.failed += 1
            self._began = None

    def __repr__(self) -> str:
        under_way = ", one under way" * (self._began is not None)
        return f"Rebalances({self.seconds.count} finished, {self.failed} failed{under_way})"
