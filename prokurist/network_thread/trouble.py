"""When the log tells of something that goes wrong again and again: once a minute.

Thread: the network thread alone.
"""

import math
from typing import Final

TELL_EVERY: Final = 60.0
"""Trouble that goes on is told of again whenever so long has passed, in seconds."""


class Trouble:
    """Something that goes wrong, and goes on to.

    Args:
        patience: How long it has lasted when it is told of for the first time, in seconds.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since = self._last = -math.inf
        self._told_at: float | None = None

    def met(self, now: float) -> float | None:
        """It has gone wrong: since how many seconds, if that is to be told now."""
        if now - self._last > TELL_EVERY:
            # After a success, or after a time in which nobody tried: another story.
            self._since, self._told_at = now, None
        self._last = now
        if self._told_at is None:
            due = now - self._since >= self._patience
        else:
            due = now - self._told_at >= TELL_EVERY
        if not due:
            return None
        self._told_at = now
        return now - self._since

    def over(self, now: float) -> float | None:
        """It is well: how many seconds it was not, if that was told of."""
        told, self._told_at, self._last = self._told_at, None, -math.inf
        return None if told is None else now - self._since

    def __repr__(self) -> str:
        return f"Trouble(since {self._since}, last {self._last}, told at {self._told_at})"
