"""Lets several tasks read with one consumer: one at a time, by turns.

Thread: the event loop's.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final

TURN: Final = 0.05
"""Seconds that a task waits for records while others want to read as well."""


class OneReads:
    """The turn of the task that reads; an asynchronous context manager.

    Args:
        wake: Ends the wait of the one that reads.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = asyncio.Lock()
        self._waiting = 0

    def wait_at_most(self, seconds: float) -> float:
        """Seconds that the one that reads may wait."""
        return min(seconds, TURN) if self._waiting else seconds

    async def __aenter__(self) -> None:
        if self._lock.locked():
            self._wake()
        # Not locked, it may still be another task's turn.
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def __repr__(self) -> str:
        return f"OneReads({self._waiting} waiting)"
