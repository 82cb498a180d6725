"""Rows of share consumers: deliveries, acknowledgements, locks, and what was lost.

Thread: any.
"""

from collections.abc import Callable, Iterator

from prokurist.events.counter_types import Count, Family
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import ShareReading


def counted(
    of: Callable[[ShareReading], Family[Count]],
) -> Callable[[ShareReading], Iterator[Value]]:
    """A number for each label of a family."""

    def read(at: ShareReading) -> Iterator[Value]:
        for label, count in of(at).children.items():
            yield (label,), count.number

    return read


def lost(at: ShareReading) -> Iterator[Value]:
    """Yield the numbers of lost records by cause, those in the buffer included."""
    causes = {name: each.number for name, each in at.counters.lost.children.items()}
    if expired := at.client.collector.expired:
        causes["buffer"] = expired
    for cause, number in causes.items():
        yield (cause,), number


def lock_left(at: ShareReading) -> Iterator[Value]:
    """Seconds until the first lock ends; no value while nothing is held."""
    oldest = at.client.side.lent.oldest()
    if oldest is not None:
        yield (), max(0.0, oldest - at.now)


def request_seconds(at: ShareReading) -> Iterator[Value]:
    """Yield the durations of requests of share sessions, by API."""
    for api, its in at.counters.requests.children.items():
        yield (api,), its.seconds


ROWS: tuple[Metric[ShareReading], ...] = (
    counter(
        "prokurist_share_records_total",
        "Records that brokers have lent to this consumer, by delivery: first or again.",
        counted(lambda at: at.counters.records),
        "delivery",
    ),
    counter(
        "prokurist_share_records_returned_total",
        "Records that polls have returned.",
        lambda at: one(at.client.collector.returned),
    ),
    counter(
        "prokurist_share_acknowledged_total",
        "Records whose acknowledgement a broker has taken, by type.",
        counted(lambda at: at.counters.acknowledged),
        "type",
    ),
    counter(
        "prokurist_share_refused_total",
        "Records whose acknowledgement was refused or had no answer, by error.",
        counted(lambda at: at.counters.refused),
        "error",
    ),
    counter(
        "prokurist_share_lost_total",
        "Records that this consumer held and does not hold any more, by cause: they are "
        "delivered again.",
        lost,
        "why",
    ),
    counter(
        "prokurist_share_renewed_total",
        "Locks that were renewed.",
        lambda at: one(at.counters.renewed),
    ),
    counter(
        "prokurist_share_gaps_total",
        "Offsets without a record that were acknowledged.",
        lambda at: one(at.counters.gaps),
    ),
    counter(
        "prokurist_share_sessions_lost_total",
        "Share sessions that have ended, by error.",
        counted(lambda at: at.counters.sessions_lost),
        "why",
    ),
    gauge(
        "prokurist_share_held_records",
        "Records that this consumer holds, returned or not.",
        lambda at: one(at.client.side.lent.held()),
    ),
    gauge(
        "prokurist_share_lock_left_seconds",
        "Seconds until the first lock ends.",
        lock_left,
    ),
    histogram(
        "prokurist_share_request_seconds",
        "How long requests of share sessions took, by API; a fetch waits for records.",
        request_seconds,
        "api",
    ),
)
