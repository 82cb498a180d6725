"""Log events of `on_event` itself, and those for it alone.

Rows of the table in `events/log_events.py`. Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EventKind, Level, Side

_client = partial(EventKind, area="client", side=Side.APPLICATION)

EVENTS_DROPPED: Final = _client(
    "events_dropped",
    Level.WARNING,
    "dropped {count} events for on_event before a poll came that could have told them",
    "More has happened between two polls than is kept for `on_event`; the oldest are dropped. "
    "The log has them all.",
)
STATISTICS: Final = _client(
    "statistics",
    Level.RECORDED,
    "what this client has counted",
    "`metrics` is what `metrics()` returns: figures by series. Each `statistics.interval.ms`.",
    also=("metrics",),
)

CALLBACKS: Final = (EVENTS_DROPPED, STATISTICS)
"""All of them, in the order of the table."""
