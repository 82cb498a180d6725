"""Queue of log events for `on_event`, passed on by the next poll.

Thread: either puts, outside of every lock; the application's takes. `_lock` guards the queue
and the counts; the poll that waits is woken outside it.

Invariants: it is bounded. The oldest event is dropped for a new one, and counted: a callback
that is told late wants the newest.
"""

import threading
from collections import deque
from dataclasses import replace
from typing import Final

from prokurist.events.background_events import BackgroundEvents
from prokurist.events.member_identity import PollActivity
from prokurist.types import LogEvent

MOST: Final = 256
"""Events that are kept between two polls."""


class LogEventQueue:
    """Log events that no poll has passed to `on_event` yet.

    Args:
        poll_activity: Has an iteration's next step be a poll.
        background: The background events, to wake a waiting poll.
        most: How many are kept.

    Attributes:
        wakes: True if a new event wakes the poll; not while the callback runs.
        dropped: How many were dropped so far.
    """

    def __init__(
        self, poll_activity: PollActivity, background: BackgroundEvents, most: int = MOST
    ) -> None:
        self._poll_activity = poll_activity
        self._background = background
        self._most = most
        self._lock = threading.RLock()
        self._events: deque[tuple[LogEvent, float]] = deque()
        self._untold = 0
        self.wakes: bool = True
        self.dropped: int = 0

    def put(self, event: LogEvent, now: float) -> None:
        """Keep an event until the next poll, and wake one that waits."""
        with self._lock:
            if len(self._events) == self._most:
                self._events.popleft()
                self.dropped += 1
                self._untold += 1
            self._events.append((event, now))
        # Read behind the event: who sets it looks then whether there are any.
        if self.wakes:
            self._poll_activity.summon()
            self._background.nudge()

    def take(self, now: float) -> LogEvent | None:
        """The oldest event, with its age; None where there is none."""
        with self._lock:
            if not self._events:
                return None
            event, at = self._events.popleft()
        return replace(event, age=max(0.0, now - at))

    def take_dropped(self) -> int:
        """Return the number of events dropped since the last look."""
        with self._lock:
            dropped, self._untold = self._untold, 0
            return dropped

    def __len__(self) -> int:
        return len(self._events)

    def __repr__(self) -> str:
        return f"LogEventQueue({len(self)} of {self._most}, {self.dropped} dropped)"
