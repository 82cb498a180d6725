"""Rows of consumers: polls, what is read and returned, partitions, the buffer, the group.

Thread: any.
"""

from collections.abc import Callable, Iterator

from prokurist.events.subscription import Place
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import ConsumerReading, lag_of, lead_of

HEARTBEATS = ("Heartbeat", "ConsumerGroupHeartbeat")
"""By which a member tells that it lives: in the classic protocol, and in KIP-848's."""


def by_partition(
    of: Callable[[Place], int | None],
) -> Callable[[ConsumerReading], Iterator[Value]]:
    """A value for each partition that has series of its own, where it is known."""

    def read(at: ConsumerReading) -> Iterator[Value]:
        for place in at.partitions.listed:
            value = of(place)
            if value is not None:
                yield (place.partition.topic, str(place.partition.partition)), value

    return read


def coordinator_unknown(at: ConsumerReading) -> Iterator[Value]:
    """Seconds without a known coordinator; no value without a group."""
    coordinator = at.client.machinery.coordinator
    if coordinator is not None:
        yield (), coordinator.unknown.seconds(at.now)


def heartbeat_age(at: ConsumerReading) -> Iterator[Value]:
    """Seconds since the last heartbeat was sent; no value without a membership."""
    machinery = at.client.machinery
    apis = machinery.client.counters.apis.children
    sent = [apis[name].sent_at for name in HEARTBEATS if name in apis]
    known = [moment for moment in sent if moment is not None]
    if known and machinery.member_identity.identity.is_counted:
        yield (), max(0.0, at.now - max(known))


def is_member(at: ConsumerReading) -> Iterator[Value]:
    """Whether the client is a member of its group; no value without a group."""
    if at.client.config.group_id is not None:
        yield (), at.client.machinery.member_identity.identity.is_counted


def callbacks(at: ConsumerReading) -> Iterator[Value]:
    """How long callbacks took, by the listener's method."""
    for name, seconds in at.client.calls.callbacks.children.items():
        yield (name,), seconds


def records(at: ConsumerReading) -> Iterator[Value]:
    """How many records were returned, by topic."""
    for topic, consumed in at.client.topics.children.items():
        yield (topic,), consumed.records


def consumed_bytes(at: ConsumerReading) -> Iterator[Value]:
    """How many bytes of records were returned, by topic."""
    for topic, consumed in at.client.topics.children.items():
        yield (topic,), consumed.bytes


def poll_limit(at: ConsumerReading) -> Iterator[Value]:
    """`max.poll.interval.ms` in seconds; no value without a group."""
    config = at.client.config
    if config.group_id is not None:
        yield (), config.max_poll_interval_ms / 1000


ROWS: tuple[Metric[ConsumerReading], ...] = (
    histogram(
        "prokurist_consumer_poll_seconds",
        "How long each poll took, those of an iteration included; the rest of the time is "
        "the application's own.",
        lambda at: one(at.client.calls.polls),
    ),
    histogram(
        "prokurist_consumer_poll_interval_seconds",
        "From the beginning of one poll to that of the next.",
        lambda at: one(at.client.calls.poll_interval),
    ),
    gauge(
        "prokurist_consumer_poll_age_seconds",
        "Since the last poll ended; it is what max.poll.interval.ms bounds.",
        lambda at: one(at.since(at.client.calls.polled_at)),
    ),
    gauge(
        "prokurist_consumer_poll_interval_limit_seconds",
        "max.poll.interval.ms, of a client with a group.",
        poll_limit,
    ),
    histogram(
        "prokurist_consumer_callback_seconds",
        "How long the methods of the rebalance listener took.",
        callbacks,
        "callback",
    ),
    counter(
        "prokurist_consumer_records_total",
        "Records that were returned.",
        records,
        "topic",
    ),
    counter(
        "prokurist_consumer_bytes_total",
        "What those records' batches took on the wire, compressed as they were; counted when "
        "the last record of an answer's part is returned.",
        consumed_bytes,
        "topic",
    ),
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
        "prokurist_background_events_waiting",
        "Errors and rebalance steps that wait for the next poll.",
        lambda at: one(at.client.machinery.background.waiting),
    ),
)
