"""How long something took, and how much of that the machine kept from this process.

An upper bound on a call's time is about the call. On a machine that is shared a process
may have no processor for a second, or stand still altogether, and no client can end a call
while it does. Such time is measured and taken off; the bound itself stays as it is. What the
process does to itself is not taken off: a thread that computes, or holds the GIL while it
sleeps, is late by its own fault.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import pytest

from tests.soak.lateness import grown, starved, thread_waits

BEAT: Final = 0.01
LITTLE: Final = 0.05
"""A beat that is late by less is not worth a word."""
SLACK: Final = 0.05
"""By what share a wait for the GIL outlasts the switch interval: timers are a little late."""
MUCH: Final = 0.2
"""Seconds kept that may have been the ones that counted."""
MOST_PLAYED: Final = 5


@dataclass(frozen=True)
class Reading:
    """What the clocks say, as the thread sees it that beats.

    Attributes:
        at: The moment.
        others: Seconds that each other thread of ours was ready to run and did not.
        own: The same of this thread, which no other thread waits for.
        switches: How often it has gone to sleep: once a beat, and once each switch interval
            for as long as another thread has the GIL.
    """

    at: float
    others: Mapping[int, float]
    own: float
    switches: int

    @classmethod
    def now(cls) -> Self:
        """Look."""
        me = threading.current_thread()
        others = {each: kept for each, kept in thread_waits().items() if each != me.native_id}
        return cls(time.monotonic(), others, starved(me), _switches())


def _switches() -> int:
    if sys.platform != "linux":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def stood_still(one: Reading, other: Reading) -> float:
    """How much of a beat nothing accounts for but that the whole process was stopped."""
    had_the_gil = (other.switches - one.switches) * sys.getswitchinterval()
    late = other.at - one.at - BEAT - (other.own - one.own) - had_the_gil
    return late if late > LITTLE + SLACK * had_the_gil else 0.0


class Stopwatch:
    """Goes while its `with` lasts.

    Attributes:
        seconds: From before to after; right for a lower bound.
        kept: How many of them the machine had for others; where no Linux counts it, none.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.kept = 0.0
        self._began = 0.0
        self._beats = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="a stopwatch")

    @property
    def own(self) -> float:
        """What is left for an upper bound."""
        return self.seconds - self.kept

    def __enter__(self) -> Self:
        self._thread.start()
        self._beats.wait()
        self._began = time.monotonic()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.seconds = time.monotonic() - self._began
        self._over.set()
        self._thread.join()
        self.kept = min(self.kept, self.seconds)

    def _beat(self) -> None:
        last = Reading.now()
        self._beats.set()
        over = False
        while not over:
            over = self._over.wait(BEAT)
            this = Reading.now()
            if sys.platform == "linux":
                self.kept += grown(last.others, this.others) + stood_still(last, this)
            last = this


def undisturbed(scene: Callable[[], None]) -> None:
    """Play a scene until all in it is as it should be, or the machine is not to blame.

    For one with a time so short that a machine which stands still leaves nothing of it: for
    an answer that comes at once, in a call with half a second. What fails while the machine
    kept hardly anything has failed, and so has what fails each time.
    """
    for others in reversed(range(MOST_PLAYED)):
        watch = Stopwatch()
        try:
            with watch:
                scene()
        except (AssertionError, pytest.fail.Exception):
            if watch.kept < MUCH or not others:
                raise
        else:
            return
