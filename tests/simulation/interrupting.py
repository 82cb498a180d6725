"""Does something wherever Python may run a signal handler, one place after the other.

That is where a function begins, and behind each call of a builtin: a profile function
hears of just these. So what a test does there is what Ctrl-C, or a handler that calls
back, does in life; and each place is tried, not those that chance hits.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from prokurist.events.waiter import Waiter
from tests.simulation.world import World

RUN = World.run
PLACES = ("call", "c_return")
UNHEARD = ("<genexpr>", "_remove")
"""Called when something is freed, generators and weak references: what these raise goes
nowhere."""
HEARS_THE_COLLECTOR = "hypothesis."
"""Called when the collector runs, wherever that is; what it raises goes nowhere, either."""
LOCKING = "logging"
"""Interrupted between taking a handler's lock and its own `try`, Python's logging keeps the
lock for good; then any thread that logs next, in any test, stands still."""


def interrupted_at(nth: int, work: Callable[..., object], *given: object) -> bool:
    """Run something, with a KeyboardInterrupt at the nth place: whether it has so many."""
    left = nth

    def interrupt() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt

    try:
        at_each_place(lambda: work(*given), interrupt)
    except KeyboardInterrupt:
        return True
    return False


def at_each_place(work: Callable[[], object], do: Callable[[], object]) -> None:
    """Run something, and do something at each place of the application thread's.

    The network thread, whose turns the world runs on this one, is another in life.
    """

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event in PLACES and frame.f_code is not unheard.__code__ and is_ours(frame):
            sys.setprofile(None)
            do()
            sys.setprofile(look)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "run", unheard)
        sys.setprofile(look)
        try:
            work()
        finally:
            sys.setprofile(None)


def unheard(world: World, until: float, waiter: Waiter | None = None) -> bool:
    """Live as `World.run` does; what the world calls meanwhile costs no look."""
    hears = sys.getprofile()
    sys.setprofile(None)
    try:
        return RUN(world, until, waiter)
    finally:
        sys.setprofile(hears)


def is_ours(frame: FrameType | None) -> bool:
    """Whether a frame is the client's, or of what the client has called."""
    if frame is not None and frame.f_code.co_name in UNHEARD:
        return False
    while frame is not None:
        module = frame.f_globals["__name__"]
        # Of a client of an earlier test, which is collected just now, likewise.
        if module == LOCKING or frame.f_code.co_name == "__del__":
            return False
        if module.startswith(HEARS_THE_COLLECTOR):
            return False
        if module.startswith("prokurist."):
            return True
        frame = frame.f_back
    return False
