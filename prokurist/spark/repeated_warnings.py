"""Limits repeated warnings: a line when a problem begins, one a minute, and one at its end.

Thread: the committer's; pure but for the log, and handed each moment.
"""

import logging
from typing import Final

from prokurist.lazy_dataclasses import dataclass

EVERY: Final = 60.0
"""Seconds between two lines about one trouble."""

LOG: Final = logging.getLogger("prokurist.spark")


@dataclass(slots=True)
class RepeatedWarning:
    """A continuing problem."""

    since: float
    said_at: float


class RepeatedWarnings:
    """Logs continuing problems, at most once a minute each."""

    def __init__(self) -> None:
        self._lasting: dict[tuple[str, str], RepeatedWarning] = {}

    def met(self, about: str, kind: str, what: str, now: float) -> None:
        """Log a problem that was met, unless it was logged in the last minute.

        Args:
            about: The query.
            kind: The kind of problem, for the report of its end.
            what: A sentence, for the log.
            now: The moment.
        """
        lasting = self._lasting.get((about, kind))
        if lasting is None:
            self._lasting[about, kind] = RepeatedWarning(now, now)
            LOG.warning("%s: %s", about, what)
        elif now >= lasting.said_at + EVERY:
            lasting.said_at = now
            LOG.warning("%s: for %.0f s now: %s", about, now - lasting.since, what)

    def over(self, about: str, kind: str, now: float) -> None:
        """Log that a problem is over; no effect if there was none."""
        lasting = self._lasting.pop((about, kind), None)
        if lasting is not None:
            LOG.warning("%s: %s again after %.0f s", about, kind, now - lasting.since)

    def given_up(self, about: str, kind: str, now: float) -> None:
        """Log that a problem lasts and is no longer retried."""
        lasting = self._lasting.pop((about, kind), None)
        if lasting is not None:
            LOG.warning(
                "%s has ended: given up after %.0f s: %s", about, now - lasting.since, kind
            )

    def forget(self, about: str) -> None:
        """Forget the problems of a query that has ended."""
        self._lasting = {key: each for key, each in self._lasting.items() if key[0] != about}

    def __repr__(self) -> str:
        return f"RepeatedWarnings({len(self._lasting)})"
