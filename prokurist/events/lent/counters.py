"""Counters of a share consumer.

Thread: the network thread writes, any reads; see `events.counter_types`.
"""

from typing import Final

from prokurist.events.counter_types import Count, Family, Histogram

SECONDS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0)


class RequestSeconds:
    """Durations of requests of one API."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds: Histogram = Histogram(SECONDS)


class ShareCounters:
    """Counters of records and acknowledgements.

    Attributes:
        records: Records acquired, by delivery: `first` or `again`.
        acknowledged: Records whose acknowledgement was taken, by type.
        refused: Records whose acknowledgement was refused, by error.
        lost: Records that were lost, by cause.
        sessions_lost: Sessions that were lost, by cause.
        requests: Durations of requests, by API.
        gaps: Offsets without a record that were acknowledged.
        renewed: Locks that were renewed.
        lock_duration: Seconds that a lock lasts; None before the first answer.
    """

    def __init__(self) -> None:
        self.records: Family[Count] = Family(Count)
        self.acknowledged: Family[Count] = Family(Count)
        self.refused: Family[Count] = Family(Count)
        self.lost: Family[Count] = Family(Count)
        self.sessions_lost: Family[Count] = Family(Count)
        self.requests: Family[RequestSeconds] = Family(RequestSeconds)
        self.gaps: int = 0
        self.renewed: int = 0
        self.lock_duration: float | None = None

    def __repr__(self) -> str:
        return f"ShareCounters({self.records})"
