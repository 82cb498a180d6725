"""Rows about what is read: partitions, the buffer, the group; and what the client is.

Thread: any.
"""

import platform
from collections.abc import Callable, Iterator
from functools import cache

from prokurist.events.stored_offsets import Outstanding
from prokurist.events.subscription import Place
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import Reading, lag_of, lead_of
from prokurist.version import VERSION

HEARTBEATS = ("Heartbeat", "ConsumerGroupHeartbeat")
"""By which a member tells that it lives: in the classic protocol, and in KIP-848's."""


def by_partition(of: Callable[[Place], int | None]) -> Callable[[Reading], Iterator[Value]]:
    """A value for each partition that has series of its own, where it is known."""

    def read(at: Reading) -> Iterator[Value]:
        for place in at.partitions.listed:
            value = of(place)
            if value is not None:
                yield (place.partition.topic, str(place.partition.partition)), value

    return read


def coordinator_unknown(at: Reading) -> Iterator[Value]:
    """Only of a client with a group."""
    coordinator = at.client.machinery.coordinator
    if coordinator is not None:
        yield (), coordinator.unknown.seconds(at.now)


def heartbeat_age(at: Reading) -> Iterator[Value]:
    """Only of a member; whoever is none sends none."""
    machinery = at.client.machinery
    apis = machinery.client.counters.apis.children
    sent = [apis[name].sent_at for name in HEARTBEATS if name in apis]
    known = [moment for moment in sent if moment is not None]
    if known and machinery.member_identity.identity.is_counted:
        yield (), max(0.0, at.now - max(known))


def is_member(at: Reading) -> Iterator[Value]:
    """Only of a client with a group."""
    if at.client.config.group_id is not None:
        yield (), at.client.machinery.member_identity.identity.is_counted


def outstanding(of: Callable[[Outstanding], int]) -> Callable[[Reading], Iterator[Value]]:
    """A value of a client that tracks what is done."""

    def read(at: Reading) -> Iterator[Value]:
        subscription = at.client.machinery.subscription
        if subscription.is_tracked:
            yield (), of(subscription.outstanding())

    return read


def done(at: Reading) -> Iterator[Value]:
    """What a tracker was told, by what came of it."""
    tracking = at.client.machinery.subscription.tracking
    if tracking is not None:
        yield ("counted",), tracking.counted
        yield ("twice",), tracking.twice
        yield ("given_up",), tracking.given_up


def started(at: Reading) -> Iterator[Value]:
    """Of a client of the present time."""
    if at.client.started is not None:
        yield (), at.client.started / 1000


def info(_at: Reading) -> Iterator[Value]:
    """The version of the package, and of what runs it."""
    yield versions(), 1.0


@cache
def versions() -> tuple[str, str]:
    """Read once."""
    return VERSION, platform.python_version()


ROWS: tuple[Metric[Reading], ...] = (
    gauge(
        "prokurist_consumer_records_lag",
        "Offsets between a partition's position and the end of its log.",
        by_partition(lag_of),
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_consumer_records_lead",
        "Offsets between the beginning of a partition's log and its position; near 0, "
        "retention is about to overtake the reader.",
        by_partition(lead_of),
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_consumer_records_lag_max",
        "The largest lag of all partitions, those without series of their own included.",
        lambda at: one(at.partitions.lag.most),
    ),
    gauge(
        "prokurist_consumer_records_lag_sum",
        "The lags of all partitions together.",
        lambda at: one(at.partitions.lag.total),
    ),
    gauge(
        "prokurist_consumer_records_lead_min",
        "The smallest lead of all partitions.",
        lambda at: one(at.partitions.lead.least),
    ),
    gauge(
        "prokurist_consumer_partitions",
        "Partitions that are assigned.",
        lambda at: one(at.partitions.count),
    ),
    gauge(
        "prokurist_consumer_partitions_paused",
        "Partitions that are paused.",
        lambda at: one(at.partitions.paused),
    ),
    gauge(
        "prokurist_consumer_partitions_unlisted",
        "Partitions that are assigned and have no series of their own, because there are too "
        "many.",
        lambda at: one(at.partitions.count - len(at.partitions.listed)),
    ),
    gauge(
        "prokurist_consumer_records_outstanding",
        "Records that were returned and are not done, with track_offsets.",
        outstanding(lambda found: found.records),
    ),
    gauge(
        "prokurist_consumer_records_held_back",
        "Records that are done and cannot be committed yet, as one before them is outstanding.",
        outstanding(lambda found: found.held_back),
    ),
    counter(
        "prokurist_consumer_records_done_total",
        "What an OffsetTracker was told, by result: counted; twice, of a record that was done "
        "already; given_up, of a partition that was given up or sought elsewhere. The last two "
        "change nothing.",
        done,
        "result",
    ),
    gauge(
        "prokurist_consumer_buffer_bytes",
        "What was fetched and has not been returned, in memory.",
        lambda at: one(at.client.machinery.buffer.held),
    ),
    gauge(
        "prokurist_consumer_buffer_limit_bytes",
        "fetch.buffer.max.bytes.",
        lambda at: one(at.client.config.fetch_buffer_max_bytes),
    ),
    histogram(
        "prokurist_consumer_fetch_bytes",
        "Bytes of records in each answer to a fetch; 0 for one without any.",
        lambda at: one(at.client.machinery.fetches.counters.sizes),
    ),
    gauge(
        "prokurist_consumer_member",
        "1 while the group counts this client among its members.",
        is_member,
    ),
    histogram(
        "prokurist_consumer_rebalance_seconds",
        "How long rebalances of this member took that were finished.",
        lambda at: one(at.client.machinery.member_identity.rebalances.seconds),
    ),
    counter(
        "prokurist_consumer_rebalances_failed_total",
        "Rebalances that came to nothing: an error, a fence or a departure came first.",
        lambda at: one(at.client.machinery.member_identity.rebalances.failed),
    ),
    gauge(
        "prokurist_consumer_rebalance_age_seconds",
        "Since the last rebalance was finished.",
        lambda at: one(at.since(at.client.machinery.member_identity.rebalances.ended_at)),
    ),
    gauge(
        "prokurist_consumer_heartbeat_age_seconds",
        "Since this member has sent a heartbeat.",
        heartbeat_age,
    ),
    counter(
        "prokurist_consumer_coordinator_unknown_seconds_total",
        "Time in which something had to wait because the group's coordinator was not known.",
        coordinator_unknown,
    ),
    gauge(
        "prokurist_client_start_time_seconds",
        "When the client was built, in seconds since 1970.",
        started,
    ),
    gauge(
        "prokurist_client_info",
        "1, with what the client is made of.",
        info,
        "version",
        "python",
    ),
)
