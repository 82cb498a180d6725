"""Reader of the trace that queues log events at INFO and above for `on_event`.

It has storms of its own, with the same input as the log's: an event is kept where the log
writes a line, at any levels and handlers of the application.

Thread: both, whichever tells; it waits for nothing but a lock that is held for an assignment.
"""

from collections.abc import Mapping

from prokurist.events.log_event_queue import LogEventQueue
from prokurist.events.trace import EventKind, Level, Trace
from prokurist.logs.log import sentence
from prokurist.logs.storms import Storms
from prokurist.types import LogEvent


class EventReader:
    """Keeps a client's loud log events for its callback."""

    __slots__ = ("_queue", "_storms")

    def __init__(self, queue: LogEventQueue) -> None:
        self._queue = queue
        self._storms = Storms()

    def __call__(self, trace: Trace, kind: EventKind, values: Mapping[str, object], /) -> None:
        """Keep an event that the log has a line for."""
        if kind.level < Level.INFO:
            return
        now = trace.now()
        if kind.story is not None:
            seconds = self._storms.lasted(kind, values, now)
            if seconds is None:
                return
            values = {**values, "seconds": seconds}
        self._queue.put(made(trace, kind, values), now)

    def __repr__(self) -> str:
        return f"EventReader({self._queue})"


def made(trace: Trace, kind: EventKind, values: Mapping[str, object]) -> LogEvent:
    """A log event as the user sees it."""
    return LogEvent(
        kind.name,
        int(kind.level),
        sentence(kind, values),
        dict(values),
        client_id=trace.client_id,
        group=trace.group,
    )
