"""Closing a connection that is not used: `connections.max.idle.ms`.

Thread: the network thread alone.
"""

from collections.abc import Callable
from typing import Final

from prokurist.network_thread.connections.pipeline import Pipeline
from prokurist.network_thread.operations.timer import Due, Timer

LOOK_AGAIN: Final = 1.0
"""Least seconds between two checks of a busy connection for idleness."""


class Idleness:
    """Closes a connection that is idle for too long.

    Args:
        pipeline: The connection's.
        timer: The Timer.
        longest: Seconds without use after which it is closed.
        close: Closes it.
    """

    def __init__(
        self, pipeline: Pipeline, timer: Timer, longest: float, close: Callable[[], None]
    ) -> None:
        self._pipeline = pipeline
        self._timer = timer
        self._longest = longest
        self._close = close
        self._due: Due | None = None

    def begin(self) -> None:
        """Begin to count idle time: the connection is ready."""
        self._pipeline.used_at = self._timer.now
        self._look_in(self._longest)

    def end(self) -> None:
        """Stop counting: the connection has ended."""
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None

    def _look_in(self, seconds: float) -> None:
        self._due = self._timer.after(
            seconds, f"connections.max.idle.ms of {self._pipeline.node}", self._look
        )

    def _look(self) -> None:
        # A use is not worth a move of the entry: it looks when it comes up.
        if self._pipeline.in_flight or self._pipeline.waiting:
            self._pipeline.used_at = self._timer.now
            self._look_in(max(self._longest, LOOK_AGAIN))
            return
        left = self._pipeline.used_at + self._longest - self._timer.now
        if left > 0:
            self._look_in(left)
        else:
            self._close()
