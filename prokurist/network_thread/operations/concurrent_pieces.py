"""Pieces of work that go on beside each other, and may begin further ones.

Thread: the network thread alone.
"""

from collections.abc import Coroutine
from typing import Any

from prokurist.network_thread.operations.operation import Promise, begin


class ConcurrentPieces:
    """Concurrent pieces of work; withdrawing the operation that awaits `ended` ends all."""

    __slots__ = ("_running", "_whole")

    def __init__(self) -> None:
        self._running: list[Promise[None]] = []
        self._whole: Promise[None] = Promise()

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start one more piece, which handles its own errors."""
        piece = begin(work, name)
        if not piece.is_kept:
            self._running.append(piece)
            piece.add(self._step)

    def ended(self) -> Promise[None]:
        """Kept when no piece is left."""
        self._whole.on_forsaken = self._leave
        self._step()
        return self._whole

    def _step(self) -> None:
        self._running = [each for each in self._running if not each.is_kept]
        if not self._running:
            self._whole.keep(None)

    def _leave(self) -> None:
        running, self._running = self._running, []
        for each in running:
            each.remove(self._step)

    def __len__(self) -> int:
        return len(self._running)

    def __repr__(self) -> str:
        return f"ConcurrentPieces({len(self._running)} running)"
