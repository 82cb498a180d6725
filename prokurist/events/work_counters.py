"""Counters of workers: records in hand, and what became of others.

Thread: written under the lock of the schedule; any reads.
"""

from typing import Final

from prokurist.events.counter_types import Count, Family, Histogram

BOUNDS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
"""Upper bounds of durations of work, in seconds."""


class WorkCounters:
    """Counters of the workers of one consumer.

    Attributes:
        running: Records that are being worked on.
        queued: Records that wait for a worker, or for a record before them.
        waiting: Records that wait for their next attempt.
        bytes: Bytes of keys and values of all of these.
        results: Attempts by result: done, retried, dead, failed, given_up.
        seconds: Durations of attempts.
    """

    def __init__(self) -> None:
        self.running: int = 0
        self.queued: int = 0
        self.waiting: int = 0
        self.bytes: int = 0
        self.results: Family[Count] = Family(Count)
        self.seconds: Histogram = Histogram(BOUNDS)

    def __repr__(self) -> str:
        return f"WorkCounters({self.running} running, {self.queued} queued)"
