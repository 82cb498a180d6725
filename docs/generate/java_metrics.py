"""Names of Java's consumer and producer metrics, and our counterparts.

Thread: any.

Java shows rates, averages and maxima over its own windows. Here a rate is `rate()` of a
counter, an average the rate of `_sum` over that of `_count`, and a maximum a quantile of
the buckets: so several of Java's names share one of ours.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Answer(NamedTuple):
    """Our counterpart of a Java metric.

    Attributes:
        ours: The names of our metrics; empty where there is none.
        note: The labels that select it, or its computation; without a name, the reason for
            that.
    """

    ours: tuple[str, ...]
    note: str = ""


def ours(*names: str, note: str = "") -> Answer:
    """These of our metrics, without the prefix that all have."""
    return Answer(tuple(f"prokurist_{name}" for name in names), note)


def none(reason: str) -> Answer:
    """A Java metric that has no counterpart, and why."""
    return Answer((), reason)


BY_API: Final = {
    "commit-latency": 'api="OffsetCommit"',
    "heartbeat-response-time": 'api=~"Heartbeat|ConsumerGroupHeartbeat"',
    "join-time": 'api="JoinGroup"',
    "sync-time": 'api="SyncGroup"',
    "fetch-latency": 'api="Fetch"',
}
COUNTED_BY_API: Final = {
    "commit": BY_API["commit-latency"],
    "heartbeat": BY_API["heartbeat-response-time"],
    "join": BY_API["join-time"],
    "sync": BY_API["sync-time"],
    "fetch": BY_API["fetch-latency"],
}

AUTHENTICATIONS: Final[Mapping[str, Answer]] = {
    "failed-authentication": ours("connections_refused_total", note="TLS and SASL"),
    "successful-authentication": ours(
        "connections_authentication_seconds", note="its `_count`: of SASL alone"
    ),
    "failed-reauthentication": ours("connections_reauthentications_refused_total"),
    "successful-reauthentication": ours(
        "connections_reauthentication_seconds", note="its `_count`"
    ),
}

TRANSACTION_CALLS: Final = {
    "abort": "abort_transaction",
    "commit": "commit_transaction",
    "init": "init_transactions",
    "send-offsets": "send_offsets_to_transaction",
}
"""Calls of transactions, by their names in Java's metrics."""
EXHAUSTED: Final = ours("producer_record_errors_total", note='error="BufferExhaustedException"')
COMPRESSED: Final = ours(
    "producer_compressed_bytes_total",
    "producer_uncompressed_bytes_total",
    note="quotient, of all topics together",
)

JAVA: Final[Mapping[str, Answer]] = {
    **{
        f"{name}-{how}": ours("request_seconds", note=labels)
        for name, labels in BY_API.items()
        for how in ("avg", "max")
        if (name, how) != ("heartbeat-response-time", "avg")  # Java has none.
    },
    **{
        f"{name}-{how}": ours("requests_total", note=labels)
        for name, labels in COUNTED_BY_API.items()
        for how in ("rate", "total")
    },
    **{
        f"partition-{what}-latency-{how}": ours(
            "consumer_callback_seconds", note=f'callback="on_partitions_{what}"'
        )
        for what in ("assigned", "revoked", "lost")
        for how in ("avg", "max")
    },
    **{
        f"{what}-{how}": answer
        for what, answer in AUTHENTICATIONS.items()
        for how in ("rate", "total")
    },
    "successful-authentication-no-reauth-total": none(
        "of clients too old to authenticate again, which only a broker has"
    ),
    "reauthentication-latency-avg": ours("connections_reauthentication_seconds"),
    "reauthentication-latency-max": ours("connections_reauthentication_seconds"),
    # What the client is.
    "version": ours("client_info", note="label version"),
    "commit-id": none("the version says it: a release is one commit"),
    "start-time-ms": ours("client_start_time_seconds"),
    "count": none("count({__name__=~'prokurist_.*', client_id='…'}) in Prometheus tells"),
    # The group.
    "assigned-partitions": ours("consumer_partitions"),
    "rebalance-latency-avg": ours("consumer_rebalance_seconds"),
    "rebalance-latency-max": ours("consumer_rebalance_seconds"),
    "rebalance-latency-total": ours("consumer_rebalance_seconds", note="its `_sum`"),
    "rebalance-rate-per-hour": ours("consumer_rebalance_seconds", note="its `_count`"),
    "rebalance-total": ours("consumer_rebalance_seconds", note="its `_count`"),
    "failed-rebalance-rate-per-hour": ours("consumer_rebalances_failed_total"),
    "failed-rebalance-total": ours("consumer_rebalances_failed_total"),
    "last-heartbeat-seconds-ago": ours("consumer_heartbeat_age_seconds"),
    "last-rebalance-seconds-ago": ours("consumer_rebalance_age_seconds"),
    # Fetching.
    "bytes-consumed-rate": ours("consumer_bytes_total"),
    "bytes-consumed-total": ours("consumer_bytes_total"),
    "records-consumed-rate": ours("consumer_records_total"),
    "records-consumed-total": ours("consumer_records_total"),
    "fetch-size-avg": ours("consumer_fetch_bytes"),
    "fetch-size-max": ours("consumer_fetch_bytes", note="of all topics together"),
    "fetch-throttle-time-avg": ours("throttle_seconds_total", note='api="Fetch"'),
    "fetch-throttle-time-max": ours("throttle_seconds_total", note='api="Fetch"'),
    "records-per-request-avg": ours(
        "consumer_records_total",
        "consumer_fetch_bytes",
        "producer_records_sent_total",
        "requests_total",
        note='by the fetches\' `_count`; of a producer by the requests, api="Produce"',
    ),
    "records-lag": ours("consumer_records_lag"),
    "records-lag-avg": ours("consumer_records_lag", note="avg_over_time"),
    "records-lag-max": ours("consumer_records_lag_max", "consumer_records_lag"),
    "records-lead": ours("consumer_records_lead"),
    "records-lead-avg": ours("consumer_records_lead", note="avg_over_time"),
    "records-lead-min": ours("consumer_records_lead_min", "consumer_records_lead"),
    "preferred-read-replica": none(
        "a broker's id is no number to compute with; prokurist_node_received_bytes_total "
        "shows from which broker the bytes come"
    ),
    # KIP-1068: what goes between the two threads.
    "application-event-queue-size": ours("events_waiting"),
    "application-event-queue-time-avg": ours("event_queue_seconds", note="oldest of a drain"),
    "application-event-queue-time-max": ours("event_queue_seconds"),
    "application-event-queue-processing-time-avg": ours("event_taking_seconds"),
    "application-event-queue-processing-time-max": ours("event_taking_seconds"),
    "application-events-expired-count": ours("calls_timed_out_total"),
    "background-event-queue-size": ours("background_events_waiting"),
    "background-event-queue-time-avg": none(
        "such an event waits for the next poll and for nothing else: "
        "prokurist_consumer_poll_interval_seconds bounds it"
    ),
    "background-event-queue-time-max": none(
        "as for the average: prokurist_consumer_poll_interval_seconds bounds it"
    ),
    "background-event-queue-processing-time-avg": ours("consumer_callback_seconds"),
    "background-event-queue-processing-time-max": ours("consumer_callback_seconds"),
    "time-between-network-thread-poll-avg": ours(
        "loop_busy_seconds", "loop_wait_seconds_total", note="their sums by the turns"
    ),
    "time-between-network-thread-poll-max": ours("loop_busy_seconds", note="without the wait"),
    "unsent-requests-queue-size": ours("requests_waiting"),
    "unsent-requests-queue-time-avg": ours("request_queue_seconds"),
    "unsent-requests-queue-time-max": ours("request_queue_seconds"),
    # Calls and polls.
    "commit-sync-time-ns-total": ours("call_seconds", note='`_sum`, call="commit_sync"'),
    "committed-time-ns-total": ours("call_seconds", note='`_sum`, call="committed"'),
    "last-poll-seconds-ago": ours("consumer_poll_age_seconds", note="since it ended"),
    "poll-idle-ratio-avg": ours("consumer_poll_seconds", note="rate of its `_sum`"),
    "time-between-poll-avg": ours("consumer_poll_interval_seconds"),
    "time-between-poll-max": ours("consumer_poll_interval_seconds"),
    # Sending.
    "batch-size-avg": ours("producer_batch_bytes"),
    "batch-size-max": ours("producer_batch_bytes"),
    "batch-split-rate": ours("producer_batches_split_total"),
    "batch-split-total": ours("producer_batches_split_total"),
    "buffer-available-bytes": ours("producer_buffer_available_bytes"),
    "buffer-total-bytes": ours("producer_buffer_limit_bytes"),
    "buffer-exhausted-rate": EXHAUSTED,
    "buffer-exhausted-total": EXHAUSTED,
    "bufferpool-wait-ratio": ours("producer_wait_seconds", note='rate of `_sum`, for="memory"'),
    "bufferpool-wait-time-ns-total": ours("producer_wait_seconds", note='`_sum`, for="memory"'),
    "metadata-wait-time-ns-total": ours("producer_wait_seconds", note='`_sum`, for="metadata"'),
    "metadata-age": ours("requests_total", note='api="Metadata" shows that it is renewed'),
    "waiting-threads": ours("producer_waiting_threads"),
    "compression-rate": COMPRESSED,
    "compression-rate-avg": COMPRESSED,
    "byte-rate": ours("producer_bytes_total"),
    "byte-total": ours("producer_bytes_total"),
    "record-send-rate": ours("producer_records_sent_total"),
    "record-send-total": ours("producer_records_sent_total"),
    "record-error-rate": ours("producer_record_errors_total", note="by error, not by topic"),
    "record-error-total": ours("producer_record_errors_total", note="by error, not by topic"),
    "record-retry-rate": ours("producer_batch_retries_total", note="batches, not records"),
    "record-retry-total": ours("producer_batch_retries_total", note="batches, not records"),
    "record-queue-time-avg": ours("producer_queue_seconds"),
    "record-queue-time-max": ours("producer_queue_seconds"),
    "record-size-avg": ours(
        "producer_bytes_total", "producer_records_sent_total", note="quotient"
    ),
    "record-size-max": none(
        "records are not measured one by one; prokurist_producer_batch_bytes and "
        "prokurist_producer_batch_records show their batches"
    ),
    "produce-throttle-time-avg": ours("throttle_seconds_total", note='api="Produce"'),
    "produce-throttle-time-max": ours("throttle_seconds_total", note='api="Produce"'),
    "requests-in-flight": ours("producer_requests_in_flight"),
    "flush-time-ns-total": ours("call_seconds", note='`_sum`, call="flush"'),
    **{
        f"txn-{name}-time-ns-total": ours("call_seconds", note=f'`_sum`, call="{call}"')
        for name, call in TRANSACTION_CALLS.items()
    },
    "txn-begin-time-ns-total": none("begin_transaction waits for nothing"),
    "txn-prepare-time-ns-total": none("there are no two-phase commits"),
    # The network.
    "connection-close-rate": ours("connections_closed_total"),
    "connection-close-total": ours("connections_closed_total"),
    "connection-count": ours("connections"),
    "connection-creation-rate": ours("connections_opened_total"),
    "connection-creation-total": ours("connections_opened_total"),
    "incoming-byte-rate": ours("node_received_bytes_total"),
    "incoming-byte-total": ours("node_received_bytes_total"),
    "outgoing-byte-rate": ours("node_sent_bytes_total"),
    "outgoing-byte-total": ours("node_sent_bytes_total"),
    "io-ratio": ours("loop_busy_seconds", note="rate of its `_sum`"),
    "io-time-ns-avg": ours("loop_busy_seconds"),
    "io-time-ns-total": ours("loop_busy_seconds", note="its `_sum`"),
    "io-wait-ratio": ours("loop_wait_seconds_total"),
    "io-wait-time-ns-avg": ours("loop_wait_seconds_total", "loop_turns_total"),
    "io-wait-time-ns-total": ours("loop_wait_seconds_total"),
    "network-io-rate": ours("node_requests_total", "node_request_seconds", note="their sum"),
    "network-io-total": ours("node_requests_total", "node_request_seconds", note="their sum"),
    "select-rate": ours("loop_turns_total"),
    "select-total": ours("loop_turns_total"),
    "request-latency-avg": ours("node_request_seconds"),
    "request-latency-max": ours("node_request_seconds"),
    "request-rate": ours("node_requests_total"),
    "request-total": ours("node_requests_total"),
    "request-size-avg": ours("node_sent_bytes_total", "node_requests_total", note="quotient"),
    "request-size-max": none(
        "max.request.size bounds those of a producer; the average is a quotient of "
        "prokurist_node_sent_bytes_total and prokurist_node_requests_total"
    ),
    "response-rate": ours("node_request_seconds", note="its `_count`"),
    "response-total": ours("node_request_seconds", note="its `_count`"),
}
"""By the metric's name alone: Java uses each with one meaning in every group, with any tags."""
