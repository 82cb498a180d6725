"""Rows of every client that its application threads count: calls, and how they ended.

Thread: any.
"""

from collections.abc import Iterator

from prokurist.metrics.metric import Metric, Value, counter, histogram, one
from prokurist.metrics.reading import ClientReading


def call_seconds(at: ClientReading) -> Iterator[Value]:
    """Yield the durations of calls, by the call's name."""
    for name, call in at.client.calls.calls.children.items():
        yield (name,), call.seconds


def timed_out(at: ClientReading) -> Iterator[Value]:
    """Yield the numbers of calls that timed out, by the call's name."""
    for name, call in at.client.calls.calls.children.items():
        yield (name,), call.timed_out


def attempts(at: ClientReading) -> Iterator[Value]:
    """Yield the numbers of requests sent by calls, by the call's name."""
    for name, call in at.client.calls.calls.children.items():
        yield (name,), call.attempts


def closing(at: ClientReading) -> Iterator[Value]:
    """Yield the durations of closing, by phase."""
    for name, seconds in at.client.calls.closing.children.items():
        yield (name,), seconds


CLOSE_PHASES = histogram(
    "prokurist_close_phase_seconds",
    "How long each phase of close took, in all clients that this process has closed.",
    closing,
    "phase",
)
"""The one row that has no client: a client's series are gone when it is closed."""

ROWS: tuple[Metric[ClientReading], ...] = (
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
        lambda at: one(at.client.calls.overshoot),
    ),
    counter(
        "prokurist_application_wakeups_total",
        "Waits of the application thread that ended because something had come.",
        lambda at: one(at.client.calls.wakeups),
    ),
    CLOSE_PHASES,
)
