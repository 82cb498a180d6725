"""Steps of an application's call, and the driver that takes them on the calling thread.

Steps are a generator. It yields its waits, is sent their outcomes, and returns the call's
result; an error of a wait, an interrupt included, is thrown in at the yield. So one text
serves calls that block a thread and calls that suspend a coroutine (`aio/driving.py`).

There are two kinds of wait: `Until` a waiter opens, and to `Run` code of the user's; a
coroutine that drives awaits its result if need be.

Thread: the application's.
"""

from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

from prokurist.events.waiter import Waiter

T = TypeVar("T")


class Until:
    """Wait until a waiter opens or an instant has come; answered with True if it is open.

    Args:
        waiter: The waiter.
        at: The instant, on the client's clock.
    """

    __slots__ = ("at", "waiter")

    def __init__(self, waiter: Waiter, at: float) -> None:
        self.waiter: Final = waiter
        self.at: Final = at

    def __repr__(self) -> str:
        return f"Until({self.waiter}, {self.at})"


class Run:
    """Run code of the user's; answered with its result.

    Args:
        callback: The code.
        arguments: Its arguments.
    """

    __slots__ = ("arguments", "callback")

    def __init__(self, callback: Callable[..., object], *arguments: object) -> None:
        self.callback: Final = callback
        self.arguments: Final = arguments

    def __repr__(self) -> str:
        return f"Run({self.callback})"


Wait: TypeAlias = Until | Run
Steps: TypeAlias = Generator[Wait, Any, T]


def drive(steps: Steps[T], wait: Callable[[Waiter, float], bool]) -> T:
    """Take steps to their end on this thread, and return their result.

    Args:
        steps: Those of one call.
        wait: Waits on a waiter until an instant.
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
            except BaseException as raised:
                # Where they go on, it is an interrupt that came when they had yielded.
                if steps.gi_frame is None:  # type: ignore[attr-defined]
                    raise
                error = raised
                continue
            error = answer = None
            try:
                if isinstance(step, Until):
                    answer = wait(step.waiter, step.at)
                else:
                    answer = step.callback(*step.arguments)
            except BaseException as raised:  # noqa: BLE001 - thrown in where they wait
                error = raised
    finally:
        # It leads to this frame, and this frame would lead to it.
        error = None
        steps.close()
