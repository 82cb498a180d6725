"""The one thread on which the calls of a client for asyncio are made, one after the other.

A callback of the client is a coroutine on the event loop. The thread waits for it, and makes
the calls that it awaits meanwhile.

Thread: `call` and `wrap` are the event loop's; the rest is the worker's.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from inspect import isawaitable
from queue import Empty, SimpleQueue
from typing import Any, Final

LOOK: Final = 1.0
"""Seconds between two looks whether the loop of a callback was closed."""

_within: contextvars.ContextVar["Worker | None"] = contextvars.ContextVar(
    "prokurist_callback_of", default=None
)
"""The worker whose callback runs in this task."""


class Job:
    """A call to be made, and the future of the task that awaits it.

    Args:
        call: The call.
        stop: Ends the call's wait; called where the task is cancelled before its end.
        undo: Called on the worker behind a call whose task was cancelled.
    """

    def __init__(
        self,
        call: Callable[[], Any],
        stop: Callable[[], object] | None = None,
        undo: Callable[[], object] | None = None,
    ) -> None:
        self._call = call
        self._stop = stop
        self._undo = undo
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        # No wait is ended behind the call's own end: that would be another call's.
        self._lock = threading.Lock()
        self._has_begun = self._is_cancelled = self._is_ended = False

    def cancel(self) -> Callable[[], object] | None:
        """End the call's wait; return what is to be undone, where it had ended by itself."""
        with self._lock:
            self._is_cancelled = True
            if self._is_ended:
                return self._undo
            if self._has_begun and self._stop is not None:
                self._stop()
            return None

    def do(self) -> None:
        """Make the call, and tell the task."""
        with self._lock:
            if self._is_cancelled:
                return
            self._has_begun = True
        result: Any = None
        error: BaseException | None = None
        try:
            result = self._call()
        except BaseException as raised:  # noqa: BLE001 - it is the task's
            error = raised
        with self._lock:
            self._is_ended = True
        if self._was_cancelled() and self._undo is not None:
            self._undo()
        try:
            self._loop.call_soon_threadsafe(self._tell, result, error)
        except RuntimeError:
            return  # The loop was closed: nobody waits.

    def _was_cancelled(self) -> bool:
        """True once the task was cancelled, which may be at any moment."""
        return self._is_cancelled

    def _tell(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Worker:
    """The thread of a client.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._inner: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def call(
        self,
        call: Callable[[], Any],
        *,
        stop: Callable[[], object] | None = None,
        undo: Callable[[], object] | None = None,
    ) -> Any:
        """Have a call made, and wait for what it returns.

        Args:
            call: The call.
            stop: Ends its wait; called where the task is cancelled.
            undo: Called on the worker then, when the call has ended.
        """
        job = Job(call, stop, undo)
        (self._inner if _within.get() is self else self._jobs).put(job)
        try:
            return await job.future
        except asyncio.CancelledError:
            if (left := job.cancel()) is not None:
                self._jobs.put(Job(left))
            raise

    def wrap(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Make a callback that runs on the running loop, and may be a coroutine function."""
        loop = asyncio.get_running_loop()

        def told(*given: Any) -> Any:
            async def run() -> Any:
                token = _within.set(self)
                try:
                    found = callback(*given)
                    return await found if isawaitable(found) else found
                finally:
                    _within.reset(token)

            ending = asyncio.run_coroutine_threadsafe(run(), loop)
            ending.add_done_callback(lambda _: self._inner.put(None))
            while True:
                try:
                    job = self._inner.get(timeout=LOOK)
                except Empty:
                    if not loop.is_closed():
                        continue
                    text = "the event loop of a callback was closed"
                    raise RuntimeError(text) from None
                if job is None:
                    return ending.result()
                job.do()

        return told

    def end(self) -> None:
        """End the thread, which has nothing to do any more."""
        self._jobs.put(None)
        self._thread.join(LOOK)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()
            del job

    def __repr__(self) -> str:
        return f"Worker({self._thread.name})"


def wrap_all(worker: Worker, config: dict[str, Any], *names: str) -> None:
    """Wrap the callbacks in a configuration."""
    for name in names:
        if config.get(name) is not None:
            config[name] = worker.wrap(config[name])
