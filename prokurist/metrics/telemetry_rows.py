"""Rows of pushed metrics: Java's names, each with its computation from ours.

Thread: any; tables.

KIP-714 and KIP-1068 name pushed metrics as Java's clients do: `org.apache.kafka.`, the group of
the metric without `-metrics`, and its name, with dots for dashes. The metrics that KIP-714
requires stand first: if a push has to be cut, they are the last to go. A quantity that we do
not count (`docs/generate/java_metrics.py`) is not pushed.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final

from prokurist.lazy_dataclasses import dataclass

PREFIX: Final = "org.apache.kafka."
MS: Final = 1000.0
NS: Final = 1e9
HEARTBEATS: Final = ("Heartbeat", "ConsumerGroupHeartbeat")


class Measure(Enum):
    """Computations on one of our counters or histograms."""

    VALUE = "what it is at this moment"
    AVERAGE = "the mean of the values since the last push"
    MAXIMUM = "the largest of them, as far as the buckets tell: never too small"
    RATE = "how often, per second"
    PER_HOUR = "how often, per hour"
    TOTAL = "how often"
    SUM = "the sum of what was measured"
    RATIO = "the sum of what was measured, per second"
    QUOTIENT = "what it has grown by, for each one of what another has grown by"
    CYCLE = "the time since the last push, for each one that was counted"


ENDINGS: Final = {
    Measure.AVERAGE: "-avg",
    Measure.MAXIMUM: "-max",
    Measure.RATE: "-rate",
    Measure.PER_HOUR: "-rate-per-hour",
    Measure.TOTAL: "-total",
    Measure.SUM: "-total",
    Measure.QUOTIENT: "-avg",
    Measure.CYCLE: "-avg",
}
"""Suffix of each measure in Java's metric names."""

SUMS: Final = frozenset({Measure.TOTAL, Measure.SUM})
"""Those that only grow."""


@dataclass(frozen=True, slots=True)
class TelemetryRow:
    """Some of Java's metrics that are made of one of ours.

    Attributes:
        group: The group that they have in Java.
        name: How their names begin.
        ours: Our metric, without the prefix that all have.
        measures: The measures of it; each is a metric of its own.
        only: The values of a label that count; empty for all.
        by: The label that tells its points apart; empty for none.
        scale: From our unit to Java's.
        per: The divisor of a quotient: a metric of ours, with the same labels.
    """

    group: str
    name: str
    ours: str
    measures: tuple[Measure, ...]
    only: tuple[str, ...] = ()
    by: str = ""
    scale: float = 1.0
    per: str = ""

    def full_name(self, measure: Measure) -> str:
        """The pushed name of a measure."""
        group, ending = self.group.removesuffix("-metrics"), ENDINGS.get(measure, "")
        return f"{PREFIX}{group}.{self.name}{ending}".replace("-", ".")


def latency(group: str, name: str, ours: str, *only: str, by: str = "") -> TelemetryRow:
    """A mean and a maximum of a histogram of seconds, in milliseconds."""
    measures = Measure.AVERAGE, Measure.MAXIMUM
    return TelemetryRow(group, name, ours, measures, only, by, MS)


def sizes(group: str, name: str, ours: str) -> TelemetryRow:
    """A mean and a maximum of a histogram of bytes."""
    return TelemetryRow(group, name, ours, (Measure.AVERAGE, Measure.MAXIMUM))


def count(group: str, name: str, ours: str, *only: str, by: str = "") -> TelemetryRow:
    """A rate and a total of a counter, or of how many values a histogram has."""
    return TelemetryRow(group, name, ours, (Measure.RATE, Measure.TOTAL), only, by)


def value(group: str, name: str, ours: str, *only: str) -> TelemetryRow:
    """A gauge."""
    return TelemetryRow(group, name, ours, (Measure.VALUE,), only)


def spent(group: str, name: str, ours: str, *only: str, scale: float = NS) -> TelemetryRow:
    """A sum of seconds, in nanoseconds where nothing else is said."""
    return TelemetryRow(group, name, ours, (Measure.SUM,), only, scale=scale)


def ratio(group: str, name: str, ours: str, *only: str) -> TelemetryRow:
    """The share of the time that seconds make up."""
    return TelemetryRow(group, name, ours, (Measure.RATIO,), only)


def quotient(
    group: str, name: str, ours: str, per: str, *only: str, scale: float = 1.0
) -> TelemetryRow:
    """Growth of one metric divided by the growth of another."""
    return TelemetryRow(group, name, ours, (Measure.QUOTIENT,), only, scale=scale, per=per)


def wanted_first(client: str) -> Iterator[TelemetryRow]:
    """Yield the rows that KIP-714 requires of every client."""
    yield count(f"{client}-metrics", "connection-creation", "connections_opened_total")
    yield latency(
        f"{client}-node-metrics", "request-latency", "node_request_seconds", by="node_id"
    )


def of_network(client: str) -> Iterator[TelemetryRow]:
    """Yield the further rows of every client."""
    group, nodes = f"{client}-metrics", f"{client}-node-metrics"
    yield value(group, "connection-count", "connections")
    yield count(group, "connection-close", "connections_closed_total")
    authenticated = "connections_authentication_seconds"
    yield count(group, "successful-authentication", authenticated)
    yield count(group, "failed-authentication", "connections_refused_total")
    again = "connections_reauthentication_seconds"
    yield count(group, "successful-reauthentication", again)
    yield latency(group, "reauthentication-latency", again)
    yield count(group, "failed-reauthentication", "connections_reauthentications_refused_total")
    yield count(group, "request", "node_requests_total")
    yield count(group, "response", "node_request_seconds")
    yield count(group, "outgoing-byte", "node_sent_bytes_total")
    yield count(group, "incoming-byte", "node_received_bytes_total")
    yield count(nodes, "request", "node_requests_total", by="node_id")
    yield count(nodes, "response", "node_request_seconds", by="node_id")
    yield count(nodes, "outgoing-byte", "node_sent_bytes_total", by="node_id")
    yield count(nodes, "incoming-byte", "node_received_bytes_total", by="node_id")
    yield quotient(group, "request-size", "node_sent_bytes_total", "node_requests_total")
    yield count(group, "select", "loop_turns_total")
    yield ratio(group, "io-ratio", "loop_busy_seconds")
    yield spent(group, "io-time-ns", "loop_busy_seconds")
    yield ratio(group, "io-wait-ratio", "loop_wait_seconds_total")
    yield spent(group, "io-wait-time-ns", "loop_wait_seconds_total")


def of_group() -> Iterator[TelemetryRow]:
    """Yield the rows of a group member."""
    group = "consumer-coordinator-metrics"
    yield count(group, "commit", "requests_total", "OffsetCommit")
    yield TelemetryRow(
        group,
        "heartbeat-response-time",
        "request_seconds",
        (Measure.MAXIMUM,),  # Java has no mean.
        HEARTBEATS,
        scale=MS,
    )
    yield count(group, "heartbeat", "requests_total", *HEARTBEATS)
    yield value(group, "last-heartbeat-seconds-ago", "consumer_heartbeat_age_seconds")
    for what, api in (("join", "JoinGroup"), ("sync", "SyncGroup")):
        yield latency(group, f"{what}-time", "request_seconds", api)
        yield count(group, what, "requests_total", api)
    finished = (Measure.PER_HOUR, Measure.TOTAL)
    yield TelemetryRow(group, "rebalance", "consumer_rebalance_seconds", finished)
    yield TelemetryRow(group, "failed-rebalance", "consumer_rebalances_failed_total", finished)
    yield value(group, "last-rebalance-seconds-ago", "consumer_rebalance_age_seconds")
    for what in ("assigned", "revoked", "lost"):
        callback = f"on_partitions_{what}"
        name = f"partition-{what}-latency"
        yield latency(group, name, "consumer_callback_seconds", callback)


def of_fetches() -> Iterator[TelemetryRow]:
    """Yield the rows of records and fetches."""
    group = "consumer-fetch-manager-metrics"
    yield value(group, "records-lag-max", "consumer_records_lag_max")
    yield value(group, "records-lead-min", "consumer_records_lead_min")
    for by in ("", "topic"):
        yield count(group, "records-consumed", "consumer_records_total", by=by)
        yield count(group, "bytes-consumed", "consumer_bytes_total", by=by)
    yield count(group, "fetch", "requests_total", "Fetch")
    yield sizes(group, "fetch-size", "consumer_fetch_bytes")
    yield quotient(
        group, "records-per-request", "consumer_records_total", "consumer_fetch_bytes"
    )
    yield quotient(
        group,
        "fetch-throttle-time",
        "throttle_seconds_total",
        "request_seconds",
        "Fetch",
        scale=MS,
    )


def of_threads() -> Iterator[TelemetryRow]:
    """Yield the rows of the queues between a consumer's two threads (KIP-1068)."""
    yield from of_queues("consumer-metrics")
    name = "background-event-queue"
    yield value("consumer-metrics", f"{name}-size", "background_events_waiting")
    yield latency("consumer-metrics", f"{name}-processing-time", "consumer_callback_seconds")


def of_queues(group: str) -> Iterator[TelemetryRow]:
    """Yield those of them that share consumers have, too."""
    cycle = "time-between-network-thread-poll"
    yield TelemetryRow(group, cycle, "loop_turns_total", (Measure.CYCLE,), scale=MS)
    yield value(group, "application-event-queue-size", "events_waiting")
    yield latency(group, "application-event-queue-time", "event_queue_seconds")
    yield latency(group, "application-event-queue-processing-time", "event_taking_seconds")
    yield value(group, "application-events-expired-count", "calls_timed_out_total")
    yield value(group, "unsent-requests-queue-size", "requests_waiting")
    yield latency(group, "unsent-requests-queue-time", "request_queue_seconds")


def of_polls() -> Iterator[TelemetryRow]:
    """Yield the rows of a consumer's calls."""
    group = "consumer-metrics"
    yield value(group, "last-poll-seconds-ago", "consumer_poll_age_seconds")
    yield latency(group, "time-between-poll", "consumer_poll_interval_seconds")
    yield spent(group, "commit-sync-time-ns", "call_seconds", "commit_sync")
    yield spent(group, "committed-time-ns", "call_seconds", "committed")


CONSUMER: Final[tuple[TelemetryRow, ...]] = (
    *wanted_first("consumer"),
    ratio("consumer-metrics", "poll-idle-ratio-avg", "consumer_poll_seconds"),
    latency(
        "consumer-coordinator-metrics", "commit-latency", "request_seconds", "OffsetCommit"
    ),
    value("consumer-coordinator-metrics", "assigned-partitions", "consumer_partitions"),
    latency("consumer-coordinator-metrics", "rebalance-latency", "consumer_rebalance_seconds"),
    spent(
        "consumer-coordinator-metrics",
        "rebalance-latency",
        "consumer_rebalance_seconds",
        scale=MS,
    ),
    latency("consumer-fetch-manager-metrics", "fetch-latency", "request_seconds", "Fetch"),
    *of_threads(),
    *of_polls(),
    *of_group(),
    *of_fetches(),
    *of_network("consumer"),
)


def of_share() -> Iterator[TelemetryRow]:
    """Yield the rows of a member of a share group (KIP-932)."""
    group = "consumer-share-coordinator-metrics"
    yield TelemetryRow(
        group,
        "heartbeat-response-time",
        "request_seconds",
        (Measure.MAXIMUM,),
        ("ShareGroupHeartbeat",),
        scale=MS,
    )
    yield count(group, "heartbeat", "requests_total", "ShareGroupHeartbeat")
    group = "consumer-share-fetch-manager-metrics"
    yield latency(group, "fetch-latency", "share_request_seconds", "ShareFetch")
    yield count(group, "fetch", "requests_total", "ShareFetch")
    yield count(group, "records-consumed", "share_records_returned_total")
    yield count(group, "acknowledgements-send", "share_acknowledged_total")
    yield count(group, "acknowledgements-error", "share_refused_total")
    yield quotient(
        group,
        "fetch-throttle-time",
        "throttle_seconds_total",
        "request_seconds",
        "ShareFetch",
        scale=MS,
    )
    yield from of_queues("consumer-share-metrics")


SHARE: Final[tuple[TelemetryRow, ...]] = (
    *wanted_first("consumer"),
    *of_share(),
    *of_network("consumer"),
)

ADMIN: Final[tuple[TelemetryRow, ...]] = (
    *wanted_first("admin-client"),
    *of_network("admin-client"),
)

GROUP: Final = "producer-metrics"
TOPIC: Final = "producer-topic-metrics"

PRODUCER: Final[tuple[TelemetryRow, ...]] = (
    *wanted_first("producer"),
    quotient(
        GROUP,
        "produce-throttle-time",
        "throttle_seconds_total",
        "request_seconds",
        "Produce",
        scale=MS,
    ),
    latency(GROUP, "record-queue-time", "producer_queue_seconds"),
    count(GROUP, "record-send", "producer_records_sent_total"),
    count(GROUP, "record-error", "producer_record_errors_total"),
    value(GROUP, "requests-in-flight", "producer_requests_in_flight"),
    latency(GROUP, "request-latency", "node_request_seconds"),
    sizes(GROUP, "batch-size", "producer_batch_bytes"),
    count(GROUP, "batch-split", "producer_batches_split_total"),
    quotient(
        GROUP,
        "compression-rate",
        "producer_compressed_bytes_total",
        "producer_uncompressed_bytes_total",
    ),
    quotient(GROUP, "record-size", "producer_bytes_total", "producer_records_sent_total"),
    value(GROUP, "buffer-available-bytes", "producer_buffer_available_bytes"),
    value(GROUP, "buffer-total-bytes", "producer_buffer_limit_bytes"),
    count(
        GROUP, "buffer-exhausted", "producer_record_errors_total", "BufferExhaustedException"
    ),
    spent(GROUP, "bufferpool-wait-time-ns", "producer_wait_seconds", "memory"),
    ratio(GROUP, "bufferpool-wait-ratio", "producer_wait_seconds", "memory"),
    spent(GROUP, "metadata-wait-time-ns", "producer_wait_seconds", "metadata"),
    spent(GROUP, "flush-time-ns", "call_seconds", "flush"),
    value(GROUP, "waiting-threads", "producer_waiting_threads"),
    count(TOPIC, "record-send", "producer_records_sent_total", by="topic"),
    count(TOPIC, "byte", "producer_bytes_total", by="topic"),
    *of_network("producer"),
)
