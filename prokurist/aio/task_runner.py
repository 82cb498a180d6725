"""The way in for tasks: one reads at a time, and any number of other calls go on beside it.

Code between two awaits is one step for all tasks of a loop, so no frames and no locks are
needed here. Of the calls that read (`ALONE`) one is inside; commits, look-ups and seeks go on
while it waits. A call that changes what is read has the waiting one look again.

A consumer belongs to the loop of its first await.

Thread: the event loop's.
"""

from asyncio import AbstractEventLoop, Task, current_task, get_running_loop
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final
from weakref import ref

from prokurist.aio.call_report import ReportingRunner
from prokurist.aio.driving import new_waiter, running_loop, wait
from prokurist.application.driving import Steps
from prokurist.errors import (
    ConcurrentModificationException,
    IllegalStateException,
    WakeupException,
)
from prokurist.events.call import Call
from prokurist.events.waiter import Waiter

ALONE: Final = frozenset(
    {
        "next",
        "poll",
        "poll_more",
        "read_range",
        "records",
        "unsubscribe",
        "wait_until_ready",
    }
)
"""Calls that exclude each other."""

CHANGES: Final = frozenset(
    {"assign", "pause", "resume", "seek", "seek_to_beginning", "seek_to_end", "subscribe"}
)
"""Calls that have one that waits for records look again."""


class TaskCall:
    """One call that is inside; a context manager.

    Args:
        runner: The consumer's.
        operation: The name of the call.
        awaits: True for a coroutine.
    """

    __slots__ = ("_awaits", "_left", "_runner", "operation", "task")

    def __init__(self, runner: "TaskRunner", operation: str, *, awaits: bool) -> None:
        self._runner = runner
        self.operation: str = operation
        self._awaits = awaits
        self.task: Task[Any] | None = None
        self._left: Waiter | None = None

    def __enter__(self) -> None:
        runner = self._runner
        runner.steady.off()
        runner.check_usable(self.operation)
        runner.check_loop(self.operation, binds=self._awaits)
        if self.operation in ALONE:
            if runner.alone is not None:
                raise refusal(self, runner.alone)
            if running_loop() is not None:
                self.task = current_task()
            runner.alone = self

    def __exit__(self, *_: object) -> None:
        runner = self._runner
        if runner.alone is self:
            runner.alone = None
            if self._left is not None:
                self._left.open()
        elif runner.alone is not None and self.operation in CHANGES:
            runner.look_again()

    @property
    def left(self) -> Waiter:
        """Opens when the call is over."""
        self._left = self._left or new_waiter()
        return self._left

    def __repr__(self) -> str:
        return f"TaskCall({self.operation})"


class TaskRunner(ReportingRunner):
    """The runner of a consumer that tasks use.

    Attributes:
        alone: The call that reads; None while there is none.
        look_again: Has a call that waits for records look again.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.new_waiter = new_waiter
        self.alone: TaskCall | None = None
        self.look_again: Callable[[], object] = bool
        self._loop: ref[AbstractEventLoop] | None = None
        self._is_ending = False

    def inside(self, operation: str) -> TaskCall:  # type: ignore[override]
        """Hold the consumer for a call that waits for nothing."""
        return TaskCall(self, operation, awaits=False)

    def awaiting(self, operation: str) -> TaskCall:
        """Hold the consumer for a call that is awaited."""
        return TaskCall(self, operation, awaits=True)

    def callback(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Let a callback make calls of its own, as any task may."""
        return nullcontext()

    def check_loop(self, operation: str, *, binds: bool) -> None:
        """Refuse a call from another loop than that of the first await.

        Raises:
            IllegalStateException: It is another one.
        """
        loop = running_loop()
        if loop is None:
            return
        if self._loop is None:
            if binds:
                self._loop = ref(get_running_loop())
        elif self._loop() is not loop:
            raise IllegalStateException(
                f"{operation} in another event loop than that in which this consumer was first "
                f"awaited: build a consumer for each loop"
            )

    def forget_ended_loop(self) -> None:
        """Let `close` come from another loop once that of the first await is closed.

        What it left under way never goes on, so it reads no more either.
        """
        if self._loop is None:
            return
        loop = self._loop()
        if loop is None or loop.is_closed():
            self._loop = self.alone = None

    @property
    def is_reading(self) -> bool:
        """True in the task of the call that reads, callbacks included."""
        alone = self.alone
        return alone is not None and alone.task is not None and alone.task is current_task()

    def raise_if_woken(self) -> None:
        """Raise if `wakeup` was called before this wait of the call that reads."""
        if self.is_reading:
            super().raise_if_woken()

    def _wait_until(self, call: Call, until: float) -> Steps[bool]:
        if self.is_reading:
            try:
                return (yield from super()._wait_until(call, until))
            except WakeupException:
                if self._is_ending:
                    raise IllegalStateException(
                        f"close() ended {call.operation} of another task"
                    ) from None
                raise
        while True:
            waiter = call.watch(self.new_waiter())
            if not call.is_open:
                return True
            if not (yield from self._wait_at(waiter, call, until)):
                return False
            self.counters.wakeups += 1

    async def end_reading(self, seconds: float) -> bool:
        """End the call that reads, for `close`; False when it has not ended in time."""
        alone = self.alone
        if alone is None:
            return True
        left = alone.left
        self._is_ending = True
        try:
            self.wakeup()
            return await wait(left, self.now() + seconds, self.now)
        finally:
            self._is_ending = self.woken = False


def refusal(call: TaskCall, inside: TaskCall) -> IllegalStateException:
    """The error for a call that reads while another one does."""
    task = None if running_loop() is None else current_task()
    if inside.task is task:
        return IllegalStateException(
            f"{call.operation} inside {inside.operation} of the same task: a callback may "
            f"commit, seek and look up, and {call.operation} is called when it has returned"
        )
    first = "another task" if inside.task is None else f"task {inside.task.get_name()!r}"
    second = "" if task is None else f" in task {task.get_name()!r}"
    return ConcurrentModificationException(
        f"{call.operation}{second} while {inside.operation} of {first} waits: one task reads "
        f"at a time; others may commit, seek and look up meanwhile"
    )
