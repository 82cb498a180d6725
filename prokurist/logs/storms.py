"""Limits repeated warnings: a line when a problem has lasted, then one a minute, and its end.

The only place that holds lines back. The core emits an event each time it meets the problem;
here all of them are one story for as long as it goes on. An event that has `seconds` says for
how long the problem has lasted; of others it is the time since the first of the story.

Thread: both; `_lock` guards the stories, and nothing is called while it is held.
"""

import threading
from collections.abc import Mapping
from typing import Final

from prokurist.events.trace import EVERY, EventKind
from prokurist.lazy_dataclasses import dataclass

MOST: Final = 500
"""Stories from which on those that have ceased are forgotten."""


@dataclass(slots=True)
class Story:
    """A continuing problem; instants on the client's clock."""

    since: float
    last: float
    said_at: float | None = None


class Storms:
    """The continuing problems of one client."""

    __slots__ = ("_lock", "_stories")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stories: dict[tuple[EventKind, str], Story] = {}

    def lasted(self, kind: EventKind, values: Mapping[str, object], now: float) -> float | None:
        """Return the duration of a problem if a line is due; None to hold the line back.

        Returns:
            For how many seconds its trouble has lasted; None for no line.
        """
        about = str(values.get(kind.story or ""))
        with self._lock:
            if kind.ends is not None:
                over = self._stories.pop((kind.ends, about), None)
                return None if over is None or over.said_at is None else now - over.since
            story = self._stories.get((kind, about))
            known = values.get("seconds")
            since = now - known if isinstance(known, float) else now
            if story is None or (now - story.last > EVERY and since > story.last):
                # After a time without it: another story.
                if len(self._stories) >= MOST:
                    self._forget(now)
                story = self._stories[kind, about] = Story(since, now)
            elif known is not None:
                story.since = since
            story.last = now
            due = (
                story.since + kind.patience if story.said_at is None else story.said_at + EVERY
            )
            if now < due:
                return None
            story.said_at = now
            return now - story.since

    def _forget(self, now: float) -> None:
        self._stories = {
            each: story for each, story in self._stories.items() if now - story.last <= EVERY
        }

    def __repr__(self) -> str:
        return f"Storms({len(self._stories)} stories)"
