"""Wakes an event loop for what the network thread has ended.

Thread: the network thread of any client opens waiters; all else happens on the loop's thread.

Each loop has one `LoopWakes`, and each batch one `LoopWaiter` in it, however many tasks await
its records: the network thread does as much for a hundred thousand awaited records as for one.

The hand-over, N the network thread, L the loop's:

1. N queues a waiter, then looks at the flag. Where it is clear, N sets it and wakes the loop.
2. L clears the flag, then takes what is queued.

Where N finds the flag set, L has not cleared it yet, and takes afterwards what N had queued
before. Two network threads that both find it clear wake the loop twice, which costs a turn and
loses nothing.

A network thread that stands still, in a user's callback, opens nothing. So each waiter has a
timer of the loop, at the instant at which it is waited for no longer.
"""

from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from prokurist.events.waiter import Waiter

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, TimerHandle
    from collections.abc import Callable, Hashable


class LoopWaiter(Waiter):
    """A waiter at which tasks of one event loop wait.

    Each task has a future of its own: to cancel one task ends the wait of no other.

    Args:
        wakes: Wakes the loop.
        what: The awaited object.

    Attributes:
        what: The awaited object.
        futures: One of each task, in their order.
        timer: Ends the wait of all, when the end has not come by then.
    """

    __slots__ = ("_wakes", "futures", "timer", "what")

    def __init__(self, wakes: "LoopWakes", what: "Hashable") -> None:
        super().__init__()
        self._wakes = wakes
        self.what: Hashable = what
        # In the order of the tasks; a cancelled one takes its own out, whatever their number.
        self.futures: dict[Future[None], None] = {}
        self.timer: TimerHandle | None = None

    def open(self) -> None:
        """Let the tasks go on, in the loop's next turn."""
        super().open()
        self._wakes.put(self)


class LoopWakes:
    """What one event loop is woken for.

    Args:
        loop: The loop, to which this keeps no strong reference.
    """

    def __init__(self, loop: "AbstractEventLoop") -> None:
        self._loop = ref(loop)
        self._opened: deque[Any] = deque()
        self._woken = False
        self._closed = False
        self._waiting: dict[Hashable, LoopWaiter] = {}

    def future_of(
        self, what: "Hashable", watch: "Callable[[Waiter], object]", seconds: float
    ) -> "Future[None]":
        """Make a future of the calling task for the end of something.

        Args:
            what: The awaited object.
            watch: Registers a waiter with it, and opens it at once if the end has come.
            seconds: The time after which the future is done all the same.
        """
        loop = self._loop()
        if loop is None:
            raise AssertionError("the running loop is gone")
        future: Future[None] = loop.create_future()
        waiter = self._waiting.get(what)
        if waiter is None:
            waiter = self._waiting[what] = LoopWaiter(self, what)
            waiter.timer = loop.call_later(seconds, self._go_on, waiter)
            watch(waiter)
        waiter.futures[future] = None
        return future

    def forget(self, what: "Hashable", future: "Future[None]") -> Waiter | None:
        """Drop the future of a task that was cancelled, so that none is kept for the rest.

        Returns:
            The waiter, where no other task waits at it; None where one does.
        """
        waiter = self._waiting.get(what)
        if waiter is None:
            return None
        waiter.futures.pop(future, None)
        if waiter.futures:
            return None
        self._go_on(waiter)
        return waiter

    def wait(self, waiter: LoopWaiter, seconds: float) -> "Future[None]":
        """Make a future of the calling task for a waiter of its own, or for the time."""
        loop = self._loop()
        if loop is None:
            raise AssertionError("the running loop is gone")
        future: Future[None] = loop.create_future()
        waiter.futures[future] = None
        waiter.timer = loop.call_later(seconds, self._go_on, waiter)
        if waiter.is_open:
            # Opened before it was shown: what was put for it may have been taken already.
            self._go_on(waiter)
        return future

    def put(self, waiter: "LoopWaiter | Callable[[], object]") -> None:
        """Have the loop take a waiter that was opened, or call something; for any thread."""
        if self._closed:
            return
        self._opened.append(waiter)
        if self._woken:
            return
        self._woken = True
        loop = self._loop()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._take)
        except Exception:  # noqa: BLE001 - the loop is not ours: closed, or wrong in itself
            # The loop was closed with tasks that wait. They go on no more, and the network
            # thread, which is here, does.
            self._closed = True
            self._opened.clear()
            self._waiting.clear()

    def _take(self) -> None:
        """Let the tasks go on whose waiters were opened."""
        self._woken = False
        while self._opened:
            opened = self._opened.popleft()
            if isinstance(opened, LoopWaiter):
                self._go_on(opened)
            else:
                opened()

    def _go_on(self, waiter: LoopWaiter) -> None:
        """Let the tasks go on that wait at a waiter, which no further task will find."""
        if self._waiting.get(waiter.what) is waiter:
            del self._waiting[waiter.what]
        if waiter.timer is not None:
            waiter.timer.cancel()
        futures, waiter.futures = waiter.futures, {}
        for future in futures:
            if not future.done():
                future.set_result(None)

    def __repr__(self) -> str:
        return f"LoopWakes({len(self._waiting)} waiters)"


_WAKES: "WeakKeyDictionary[AbstractEventLoop, LoopWakes]" = WeakKeyDictionary()


def wakes_of(loop: "AbstractEventLoop") -> LoopWakes:
    """The `LoopWakes` of a loop; for its own thread."""
    found = _WAKES.get(loop)
    if found is None:
        found = _WAKES[loop] = LoopWakes(loop)
    return found
