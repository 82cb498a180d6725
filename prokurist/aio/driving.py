"""Takes the steps of a call in a task, and waits on the event loop.

Thread: the event loop's.
"""

from asyncio import get_running_loop, sleep
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Final, Protocol

from prokurist.application.driving import Steps, T, Until
from prokurist.events.loop_wakes import LoopWaiter, wakes_of
from prokurist.events.waiter import Waiter

LONGEST: Final = 3600.0
"""Seconds that one timer of the loop lasts at most; a longer wait is made of several."""

TURN: Final = 0.005
"""Seconds that a client without a wait may keep the loop."""


async def drive(steps: Steps[T], now: Callable[[], float]) -> T:
    """Take steps to their end in this task, and return their result.

    A cancellation is thrown in where they wait.

    Args:
        steps: Those of one call.
        now: Reads the client's clock.
    """
    answer: object = None
    error: BaseException | None = None
    try:
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as ended:
                result: T = ended.value
                return result
            error = answer = None
            try:
                if isinstance(step, Until):
                    answer = await wait(step.waiter, step.at, now)
                else:
                    answer = step.callback(*step.arguments)
                    if isawaitable(answer):
                        answer = await answer
            except BaseException as raised:  # noqa: BLE001 - thrown in where they wait
                error = raised
    finally:
        # It leads to this frame, and this frame would lead to it.
        error = None
        steps.close()


async def wait(waiter: Waiter, until: float, now: Callable[[], float]) -> bool:
    """Wait on a waiter until it opens or an instant has come; return True if it is open."""
    while not waiter.is_open:
        # By the client's clock: a loop may tell a time that is some time ago.
        left = until - now()
        if left <= 0:
            return waiter.is_open
        if not isinstance(waiter, LoopWaiter):
            raise TypeError(f"{waiter!r} was made where no event loop runs")
        future = wakes_of(get_running_loop()).wait(waiter, min(left, LONGEST))
        try:
            await future
        except BaseException:
            waiter.futures.pop(future, None)
            if waiter.timer is not None:
                waiter.timer.cancel()
            raise
    return True


def running_loop() -> object | None:
    """The event loop that runs in this thread; None without one."""
    try:
        return get_running_loop()
    except RuntimeError:
        return None


def new_waiter() -> Waiter:
    """A waiter for this task; without a loop, as at the interpreter's exit, for this thread."""
    try:
        return LoopWaiter(wakes_of(get_running_loop()), None)
    except RuntimeError:
        return Waiter()


class Turns:
    """Lets the loop turn where a client always finds something to do.

    Args:
        now: Reads the client's clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = now()

    @property
    def is_due(self) -> bool:
        """True if other tasks had no turn for a moment."""
        return self._now() - self._since >= TURN

    async def give_way(self) -> None:
        """Let other tasks run, unless they did a moment ago."""
        if self.is_due:
            await sleep(0)
            self._since = self._now()

    def __repr__(self) -> str:
        return f"Turns(since {self._since})"


class Joinable(Protocol):
    """Interface of the network thread."""

    def join(self, seconds: float) -> bool:
        """Wait for its end; False when it has not come in time."""
        ...

    def abandon(self) -> None:
        """Have everything closed, and wait for nothing."""
        ...


class JoinedInLoop:
    """A network thread, and the wait for its end without blocking the loop.

    Args:
        thread: The thread.
        now: Reads the client's clock.
    """

    def __init__(self, thread: Joinable, now: Callable[[], float]) -> None:
        self._thread = thread
        self._now = now

    def join(self, seconds: float) -> "bool | Awaitable[bool]":
        """Wait for its end; without a loop, on this thread."""
        if running_loop() is None:
            return self._thread.join(seconds)
        return self._ended_by(self._now() + seconds)

    async def _ended_by(self, until: float) -> bool:
        while not self._thread.join(0):
            if self._now() >= until:
                return False
            await sleep(LOOK)
        return True

    def abandon(self) -> None:
        """Have everything closed, and wait for nothing."""
        self._thread.abandon()


LOOK: Final = 0.002
"""Seconds between two looks at a thread that is about to end."""
