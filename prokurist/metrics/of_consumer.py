"""Rows of consumers: polls, returned records, partitions, the buffer, the group.

Thread: any.
"""

from collections.abc import Callable, Iterator

from prokurist.errors import RecordDeserializationException
from prokurist.events.committable import Outstanding, PartitionOffsets
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import ConsumerReading, lag_of, lead_of

HEARTBEATS = ("Heartbeat", "ConsumerGroupHeartbeat")
"""APIs of heartbeats: the classic protocol's, and KIP-848's."""


def by_partition(
    of: Callable[[PartitionOffsets], int | None],
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
    coordinator = at.client.side.coordinator
    if coordinator is not None:
        yield (), coordinator.unknown.seconds(at.now)


def heartbeat_age(at: ConsumerReading) -> Iterator[Value]:
    """Seconds since the last heartbeat was sent; no value without a membership."""
    side = at.client.side
    apis = side.client.counters.apis.children
    sent = [apis[name].sent_at for name in HEARTBEATS if name in apis]
    known = [moment for moment in sent if moment is not None]
    if known and side.member_identity.identity.is_counted:
        yield (), max(0.0, at.now - max(known))


def is_member(at: ConsumerReading) -> Iterator[Value]:
    """Yield 1 while the client is a member of its group; nothing without a group."""
    if at.client.config.group_id is not None:
        yield (), at.client.side.member_identity.identity.is_counted


def outstanding(
    of: Callable[[Outstanding], int],
) -> Callable[[ConsumerReading], Iterator[Value]]:
    """Yield a value of a client that tracks records."""

    def read(at: ConsumerReading) -> Iterator[Value]:
        committable = at.client.side.committable
        if committable.tracking is not None:
            yield (), of(committable.outstanding())

    return read


def done(at: ConsumerReading) -> Iterator[Value]:
    """Yield the numbers of records reported to a tracker as done, by result."""
    tracking = at.client.side.committable.tracking
    if tracking is not None:
        yield ("counted",), tracking.counted
        yield ("twice",), tracking.twice
        yield ("given_up",), tracking.given_up


def callbacks(at: ConsumerReading) -> Iterator[Value]:
    """Yield the durations of callbacks, by the listener's method."""
    for name, seconds in at.client.calls.callbacks.children.items():
        yield (name,), seconds


def records(at: ConsumerReading) -> Iterator[Value]:
    """Yield the numbers of records returned, by topic."""
    for topic, consumed in at.client.topics.children.items():
        yield (topic,), consumed.records


def consumed_bytes(at: ConsumerReading) -> Iterator[Value]:
    """Yield the bytes of records returned, by topic."""
    for topic, consumed in at.client.topics.children.items():
        yield (topic,), consumed.bytes


def committed_offsets(at: ConsumerReading) -> Iterator[Value]:
    """Yield the committed offset of each listed partition, where known."""
    for place in at.partitions.listed:
        if (offset := place.committed) is not None:
            yield (place.partition.topic, str(place.partition.partition)), offset


def lag_ages(at: ConsumerReading) -> Iterator[Value]:
    """Yield the ages of the oldest unread records."""
    for tp, age in at.ages.items():
        yield (tp.topic, str(tp.partition)), age


def committed_lag(at: ConsumerReading) -> Iterator[Value]:
    """Only of a client with a group, once something is known to be committed."""
    behind = at.partitions.committed_lag
    if behind.most is not None:
        yield (), behind.total


def commit_age(at: ConsumerReading) -> Iterator[Value]:
    """Only of a client with a group that has committed something."""
    group = at.client.side.commits
    if group is not None:
        yield from one(at.since(group.commits.counters.done_at))


def events_dropped(at: ConsumerReading) -> Iterator[Value]:
    """Only of a client with `on_event`."""
    queue = at.client.side.log_events
    if queue is not None:
        yield (), queue.dropped


def commits(at: ConsumerReading) -> Iterator[Value]:
    """By kind and result; each result of a kind from its first commit on."""
    group = at.client.side.commits
    if group is None:
        return
    for kind, results in group.commits.counters.kinds.children.items():
        yield (kind, "done"), results.done
        yield (kind, "failed"), results.failed
        yield (kind, "timed_out"), results.timed_out


def poll_errors(at: ConsumerReading) -> Iterator[Value]:
    """By the name of the exception."""
    for name, errors in at.client.calls.errors.children.items():
        yield (name,), errors.count


def deserialization_errors(at: ConsumerReading) -> Iterator[Value]:
    """Of all topics; 0 from the beginning, so that the first one is an increase."""
    errors = at.client.calls.errors.children.get(RecordDeserializationException.__name__)
    yield (), 0 if errors is None else errors.count


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
        "prokurist_consumer_lag_seconds",
        "How old the oldest record is that has not been read; 0 where all were. To within the "
        "time between two readings of the metrics, which note where the log ends.",
        lag_ages,
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_consumer_lag_seconds_max",
        "The largest age of a record that has not been read, of the partitions with series of "
        "their own.",
        lambda at: one(max(at.ages.values(), default=None)),
    ),
    gauge(
        "prokurist_consumer_committed_offset",
        "What the group has committed, as far as this client has committed or asked it.",
        committed_offsets,
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_consumer_committed_lag_sum",
        "Offsets between what is committed and the ends of the logs, of all partitions with a "
        "committed offset: what would be read again after a crash, and what is not read yet.",
        committed_lag,
    ),
    gauge(
        "prokurist_consumer_commit_age_seconds",
        "Since the coordinator has taken a commit of this client.",
        commit_age,
    ),
    counter(
        "prokurist_consumer_commits_total",
        "Commits that have ended, by kind (sync, async, auto) and result (done, failed, "
        "timed_out).",
        commits,
        "kind",
        "result",
    ),
    counter(
        "prokurist_consumer_poll_errors_total",
        "Exceptions that polls and iterations have raised, by class; wakeup is none.",
        poll_errors,
        "error",
    ),
    counter(
        "prokurist_consumer_deserialization_errors_total",
        "Polls that a deserializer has made fail; the position stays, so that each poll at the "
        "same record counts.",
        deserialization_errors,
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
        lambda at: one(at.client.side.buffer.held),
    ),
    gauge(
        "prokurist_consumer_buffer_limit_bytes",
        "fetch.buffer.max.bytes.",
        lambda at: one(at.client.config.fetch_buffer_max_bytes),
    ),
    histogram(
        "prokurist_consumer_fetch_bytes",
        "Bytes of records in each answer to a fetch; 0 for one without any.",
        lambda at: one(at.client.side.fetches.counters.sizes),
    ),
    gauge(
        "prokurist_consumer_member",
        "1 while the group counts this client among its members.",
        is_member,
    ),
    histogram(
        "prokurist_consumer_rebalance_seconds",
        "How long rebalances of this member took that were finished.",
        lambda at: one(at.client.side.member_identity.rebalances.seconds),
    ),
    counter(
        "prokurist_consumer_rebalances_failed_total",
        "Rebalances that came to nothing: an error, a fence or a departure came first.",
        lambda at: one(at.client.side.member_identity.rebalances.failed),
    ),
    gauge(
        "prokurist_consumer_rebalance_age_seconds",
        "Since the last rebalance was finished.",
        lambda at: one(at.since(at.client.side.member_identity.rebalances.ended_at)),
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
        lambda at: one(at.client.side.background.waiting),
    ),
    counter(
        "prokurist_consumer_log_events_dropped_total",
        "Events for on_event that were dropped for newer ones: no poll came that told them.",
        events_dropped,
    ),
)
