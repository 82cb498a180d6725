"""Rows of every client that its network thread counts: turns, requests, connections.

Thread: any.
"""

from collections.abc import Callable, Iterator

from prokurist.events.counter_types import Histogram
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import ClientReading
from prokurist.network_thread.counters import ApiCounters, NodeCounters


def by_api(
    of: Callable[[ApiCounters], float | Histogram],
) -> Callable[[ClientReading], Iterator[Value]]:
    """A value for each kind of request."""

    def read(at: ClientReading) -> Iterator[Value]:
        for api, counters in at.client.side.client.counters.apis.children.items():
            yield (api,), of(counters)

    return read


def by_node(
    of: Callable[[NodeCounters], float | Histogram],
) -> Callable[[ClientReading], Iterator[Value]]:
    """A value for each broker."""

    def read(at: ClientReading) -> Iterator[Value]:
        for node, counters in at.client.side.client.counters.nodes.children.items():
            yield (node,), of(counters)

    return read


def lateness(at: ClientReading) -> Iterator[Value]:
    """Yield the lateness of the network loop; nothing once its thread has ended."""
    side = at.client.side
    due = side.timer.next_at
    if side.thread.alive:
        yield (), 0.0 if due is None else max(0.0, at.now - due)


def connections(at: ClientReading) -> Iterator[Value]:
    """The number of connections that are open."""
    counters = at.client.side.client.counters
    closed = counters.closed  # First: more may come up until the other is read.
    yield (), counters.opened - closed


ROWS: tuple[Metric[ClientReading], ...] = (
    gauge(
        "prokurist_network_thread_alive",
        "1 while the network thread runs; 0 after it died of a bug.",
        lambda at: one(at.client.side.thread.alive),
    ),
    gauge(
        "prokurist_loop_lateness_seconds",
        "How long the network thread has left undone what is due; 0 where nothing is.",
        lateness,
    ),
    counter(
        "prokurist_loop_turns_total",
        "Turns of the network thread's loop.",
        lambda at: one(at.client.side.thread.turns),
    ),
    counter(
        "prokurist_loop_empty_turns_total",
        "Turns in which nothing was asked, nothing was due, and nothing came.",
        lambda at: one(at.client.side.thread.counters.empty),
    ),
    counter(
        "prokurist_loop_wakeups_total",
        "Turns whose wait for the network was ended by an event of the application.",
        lambda at: one(at.client.side.thread.wakes),
    ),
    histogram(
        "prokurist_loop_busy_seconds",
        "How long each turn worked, from the end of one wait for the network to the next.",
        lambda at: one(at.client.side.thread.counters.busy),
    ),
    counter(
        "prokurist_loop_wait_seconds_total",
        "Time in which the loop waited for the network.",
        lambda at: one(at.client.side.thread.counters.waited),
    ),
    gauge(
        "prokurist_events_waiting",
        "Events of the application that the network thread has not taken yet.",
        lambda at: one(len(at.client.side.thread.mailbox)),
    ),
    histogram(
        "prokurist_event_queue_seconds",
        "How long the oldest event of each drain had waited for the network thread.",
        lambda at: one(at.client.side.thread.counters.queued),
    ),
    histogram(
        "prokurist_event_taking_seconds",
        "How long the network thread took to take up the events of one drain.",
        lambda at: one(at.client.side.thread.counters.taking),
    ),
    counter(
        "prokurist_requests_total",
        "Requests that were written, by the names of Kafka's protocol.",
        by_api(lambda api: api.sent),
        "api",
    ),
    histogram(
        "prokurist_request_seconds",
        "From the writing of a request to its answer; late answers count, lost ones do not.",
        by_api(lambda api: api.seconds),
        "api",
    ),
    counter(
        "prokurist_throttle_seconds_total",
        "Silence that brokers have asked for in their answers (quotas).",
        by_api(lambda api: api.throttled),
        "api",
    ),
    gauge(
        "prokurist_requests_waiting",
        "Requests that could not be written yet, at the end of the last turn's writing.",
        lambda at: one(at.client.side.client.counters.unsent),
    ),
    histogram(
        "prokurist_request_queue_seconds",
        "How long requests waited to be written.",
        lambda at: one(at.client.side.client.counters.queued),
    ),
    counter(
        "prokurist_attempts_abandoned_total",
        "Requests on the wire whose call had ended.",
        lambda at: one(at.client.side.client.counters.abandoned),
    ),
    counter(
        "prokurist_late_answers_total",
        "Answers to those, which were dropped.",
        lambda at: one(at.client.side.client.counters.late_answers),
    ),
    counter(
        "prokurist_node_requests_total",
        "Requests that were written to a broker; bootstrap addresses have negative ids.",
        by_node(lambda node: node.sent),
        "node_id",
    ),
    counter(
        "prokurist_node_requests_lost_total",
        "Requests that failed because their connection went down.",
        by_node(lambda node: node.lost),
        "node_id",
    ),
    histogram(
        "prokurist_node_request_seconds",
        "From the writing of a request to its answer.",
        by_node(lambda node: node.seconds),
        "node_id",
    ),
    counter(
        "prokurist_node_sent_bytes_total",
        "Bytes of the requests written to a broker.",
        by_node(lambda node: node.bytes_sent),
        "node_id",
    ),
    counter(
        "prokurist_node_received_bytes_total",
        "Bytes of a broker's answers.",
        by_node(lambda node: node.bytes_received),
        "node_id",
    ),
    gauge("prokurist_connections", "Connections that are ready.", connections),
    counter(
        "prokurist_connections_opened_total",
        "Connections that became ready.",
        lambda at: one(at.client.side.client.counters.opened),
    ),
    counter(
        "prokurist_connections_closed_total",
        "Connections that were ready and are gone, by our wish or not.",
        lambda at: one(at.client.side.client.counters.closed),
    ),
    counter(
        "prokurist_connections_failed_total",
        "Tries to connect that came to nothing.",
        lambda at: one(at.client.side.client.counters.failed),
    ),
    counter(
        "prokurist_connections_refused_total",
        "Those tries that ended because a certificate or credentials were not accepted.",
        lambda at: one(at.client.side.client.counters.refused),
    ),
    histogram(
        "prokurist_connections_authentication_seconds",
        "How long SASL took on connections that came up.",
        lambda at: one(at.client.side.client.counters.authenticated),
    ),
    histogram(
        "prokurist_connections_reauthentication_seconds",
        "From the moment in which a session's renewal began to its end (KIP-368).",
        lambda at: one(at.client.side.client.counters.reauthenticated),
    ),
    counter(
        "prokurist_connections_reauthentications_refused_total",
        "Sessions that a broker did not renew; their connections were closed.",
        lambda at: one(at.client.side.client.counters.renewals_refused),
    ),
)
