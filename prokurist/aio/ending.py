"""The `close` of a client, in a task of its own.

A task that is cancelled in `close` leaves, and the client is closed by its deadline all the
same. Called once more and cancelled again, the rest gets no time. Several tasks that await one
`close` and are cancelled together all leave, and it goes on.

Thread: the event loop's.
"""

from asyncio import CancelledError, Task, create_task, shield
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ending(Generic[T]):
    """The one `close` of a client, for all tasks that await it."""

    def __init__(self) -> None:
        self._task: Task[T] | None = None
        self._is_cancelled = False

    async def run(self, close: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        """Close, or wait for the `close` that goes on."""
        task = self._task
        if task is None:
            task = self._task = create_task(close(), name=name)
            task.add_done_callback(self._ended)
        hurries = self._is_cancelled
        try:
            return await shield(task)
        except CancelledError:
            if hurries:
                task.cancel()
            self._is_cancelled = True
            raise

    def _ended(self, task: Task[T]) -> None:
        """Let another `close` begin where this one has failed; its error is not lost."""
        self._task = None
        if not task.cancelled():
            task.exception()

    def __repr__(self) -> str:
        return f"Ending({self._task})"
