"""Rows about what is read: partitions, the buffer, the group; and what the client is.

Thread: any.
"""

import platform
from collections.abc import Callable, Iterator
from functools import cache

from prokurist.errors import RecordDeserializationException
from prokurist.events.stored_offsets import Outstanding
from prokurist.events.subscription import Place
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import Reading, committed_of, lag_of, lead_of
from prokurist.records.implementation import CHOICE
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
    """Seconds without a known coordinator; no value without a group."""
    coordinator = at.client.machinery.coordinator
    if coordinator is not None:
        yield (), coordinator.unknown.seconds(at.now)


def heartbeat_age(at: Reading) -> Iterator[Value]:
    """Seconds since the last heartbeat was sent; no value without a membership."""
    machinery = at.client.machinery
    apis = machinery.client.counters.apis.children
    sent = [apis[name].sent_at for name in HEARTBEATS if name in apis]
    known = [moment for moment in sent if moment is not None]
    if known and machinery.member_identity.identity.is_counted:
        yield (), max(0.0, at.now - max(known))


def is_member(at: Reading) -> Iterator[Value]:
    """Whether the client is a member of its group; no value without a group."""
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
    """When the client was built, in seconds since 1970."""
    if at.client.started is not None:
        yield (), at.client.started / 1000


def info(at: Reading) -> Iterator[Value]:
    """What it is made of, and whose it is."""
    config = at.client.config
    group = config.group_id or ""
    protocol = config.group_protocol if group else ""
    yield (*versions(), implementation(), group, protocol, config.client_rack), 1.0


@cache
def versions() -> tuple[str, str]:
    """The versions of the package and of Python, read once."""
    return VERSION, platform.python_version()


@cache
def implementation() -> str:
    """`native`, or `pure` where the records are read by Python."""
    return "native" if CHOICE.name == "native" else "pure"


def committed_offsets(at: Reading) -> Iterator[Value]:
    """What is committed, of each listed partition of which it is known."""
    for place in at.partitions.listed:
        if (offset := committed_of(at.client, place)) is not None:
            yield (place.partition.topic, str(place.partition.partition)), offset


def lag_ages(at: Reading) -> Iterator[Value]:
    """The age of what is not read yet."""
    for tp, age in at.ages.items():
        yield (tp.topic, str(tp.partition)), age


def committed_lag(at: Reading) -> Iterator[Value]:
    """Only of a client with a group, once something is known to be committed."""
    behind = at.partitions.committed_lag
    if behind.most is not None:
        yield (), behind.total


def commit_age(at: Reading) -> Iterator[Value]:
    """Only of a client with a group that has committed something."""
    group = at.client.machinery.group
    if group is not None:
        yield from one(at.since(group.commits.counters.done_at))


def commits(at: Reading) -> Iterator[Value]:
    """By kind and result; each result of a kind from its first commit on."""
    group = at.client.machinery.group
    if group is None:
        return
    for kind, results in group.commits.counters.kinds.children.items():
        yield (kind, "done"), results.done
        yield (kind, "failed"), results.failed
        yield (kind, "timed_out"), results.timed_out


def poll_errors(at: Reading) -> Iterator[Value]:
    """By the name of the exception."""
    for name, errors in at.client.caller.counters.errors.children.items():
        yield (name,), errors.count


def deserialization_errors(at: Reading) -> Iterator[Value]:
    """Of all topics; 0 from the beginning, so that the first one is an increase."""
    errors = at.client.caller.counters.errors.children.get(
        RecordDeserializationException.__name__
    )
    yield (), 0 if errors is None else errors.count


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
        "1, with what the client is made of and its group: joined by client_id, it tells any "
        "other series by group.",
        info,
        "version",
        "python",
        "implementation",
        "group_id",
        "protocol",
        "rack",
    ),
)
