"""Rows that the application thread counts: calls, polls, callbacks, and what was returned.

Thread: any.
"""

from collections.abc import Iterator

from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import Reading


def call_seconds(at: Reading) -> Iterator[Value]:
    """How long calls took, by the call's name."""
    for name, call in at.client.caller.counters.calls.children.items():
        yield (name,), call.seconds


def timed_out(at: Reading) -> Iterator[Value]:
    """How many calls timed out, by the call's name."""
    for name, call in at.client.caller.counters.calls.children.items():
        yield (name,), call.timed_out


def attempts(at: Reading) -> Iterator[Value]:
    """How many requests calls sent, by the call's name."""
    for name, call in at.client.caller.counters.calls.children.items():
        yield (name,), call.attempts


def callbacks(at: Reading) -> Iterator[Value]:
    """How long callbacks took, by the listener's method."""
    for name, seconds in at.client.caller.counters.callbacks.children.items():
        yield (name,), seconds


def closing(at: Reading) -> Iterator[Value]:
    """How long closing took, by the phase."""
    for name, seconds in at.client.caller.counters.closing.children.items():
        yield (name,), seconds


def records(at: Reading) -> Iterator[Value]:
    """How many records were returned, by topic."""
    for topic, consumed in at.client.topics.children.items():
        yield (topic,), consumed.records


def consumed_bytes(at: Reading) -> Iterator[Value]:
    """How many bytes of records were returned, by topic."""
    for topic, consumed in at.client.topics.children.items():
        yield (topic,), consumed.bytes


def poll_limit(at: Reading) -> Iterator[Value]:
    """`max.poll.interval.ms` in seconds; no value without a group."""
    config = at.client.config
    if config.group_id is not None:
        yield (), config.max_poll_interval_ms / 1000


CLOSE_PHASES = histogram(
    "prokurist_close_phase_seconds",
    "How long each phase of close took, in all clients that this process has closed.",
    closing,
    "phase",
)
"""The one row that has no client: a client's series are gone when it is closed."""

ROWS: tuple[Metric[Reading], ...] = (
    histogram(
        "prokurist_call_seconds",
        "How long calls took that asked the network thread something, from the first line "
        "to the end.",
        call_seconds,
        "call",
    ),
    counter(
        "prokurist_calls_timed_out_total",
        "Calls that ended because their time was over.",
        timed_out,
        "call",
    ),
    counter(
        "prokurist_call_attempts_total",
        "Requests that were written for calls.",
        attempts,
        "call",
    ),
    histogram(
        "prokurist_deadline_overshoot_seconds",
        "How late calls and polls ended that ended at or after their deadline; those with "
        "timeout 0 are not counted.",
        lambda at: one(at.client.caller.counters.overshoot),
    ),
    counter(
        "prokurist_application_wakeups_total",
        "Waits of the application thread that ended because something had come.",
        lambda at: one(at.client.caller.counters.wakeups),
    ),
    histogram(
        "prokurist_consumer_poll_seconds",
        "How long each poll took, those of an iteration included; the rest of the time is "
        "the application's own.",
        lambda at: one(at.client.caller.counters.polls),
    ),
    histogram(
        "prokurist_consumer_poll_interval_seconds",
        "From the beginning of one poll to that of the next.",
        lambda at: one(at.client.caller.counters.poll_interval),
    ),
    gauge(
        "prokurist_consumer_poll_age_seconds",
        "Since the last poll ended; it is what max.poll.interval.ms bounds.",
        lambda at: one(at.since(at.client.caller.counters.polled_at)),
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
    CLOSE_PHASES,
)
