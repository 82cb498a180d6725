"""The clock, and a call's deadline as one instant.

This is the only module that reads the time or sleeps; every other line is
handed a `now`, a `Deadline`, or a `Clock`. Seconds are floats on the monotonic
clock; a relative timeout exists only in a public signature and becomes a
`Deadline` on the first line of the call.

Thread: either. Both classes are immutable and hold no lock.
"""

import math
import time
from datetime import timedelta
from typing import ClassVar, Final, Protocol

from prokurist.events.waiter import Waiter
from prokurist.lazy_dataclasses import dataclass


class Clock(Protocol):
    """Tells the time, and sleeps."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let this many seconds pass; none for a value at or below zero."""
        ...


class CallersClock(Clock, Protocol):
    """Clock on which an application thread waits for its own call."""

    def wait(self, waiter: Waiter, until: float) -> bool:
        """Wait on a waiter until it opens or the instant comes; return True if it is open.

        The only place where an application thread waits. Under a virtual clock
        it is where the turns of the network thread are run.
        """
        ...


class MonotonicClock:
    """The clock of production: the system's monotonic one."""

    __slots__ = ()

    now: ClassVar["staticmethod[[], float]"] = staticmethod(time.monotonic)
    """Seconds on the system's monotonic clock: no function around it, since an iteration with
    automatic commits looks at it for each record."""

    def sleep(self, seconds: float) -> None:
        """Give up the processor for this many seconds."""
        if seconds > 0:
            time.sleep(seconds)

    def wait(self, waiter: Waiter, until: float) -> bool:
        """Wait on a waiter until it opens or the instant comes; return True if it is open."""
        while not waiter.wait(until - time.monotonic()):
            # A wait is as long as the system allows at most; an endless one goes on.
            if time.monotonic() >= until:
                return waiter.is_open
        return True

    def __repr__(self) -> str:
        return "MonotonicClock()"


def epoch_milliseconds() -> int:
    """The time of day as brokers stamp records with it: milliseconds since 1970, in UTC.

    For questions to brokers about times, and for the age of files; for nothing else, as it
    may be set back.
    """
    return time.time_ns() // 1_000_000


def epoch_nanoseconds() -> int:
    """The time of day as OpenTelemetry stamps spans with it; see `epoch_milliseconds`."""
    return time.time_ns()


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """One absolute instant on the monotonic clock; nothing re-derives it.

    Attributes:
        at: The instant, in seconds; `math.inf` never comes.
    """

    at: float

    @classmethod
    def after(cls, now: float, timeout: float | timedelta) -> "Deadline":
        """The instant `timeout` after `now`.

        Args:
            now: The reading of the clock that the timeout counts from.
            timeout: Seconds or a timedelta; `math.inf` means never.

        Raises:
            TypeError: The timeout is no int, float or timedelta.
            ValueError: It is negative or NaN.
        """
        return cls(now + as_seconds(timeout))

    def remaining(self, now: float) -> float:
        """Seconds left at `now`, never below zero."""
        return max(0.0, self.at - now)

    def expired(self, now: float) -> bool:
        """True once the instant has come."""
        return now >= self.at

    def earlier(self, other: "Deadline") -> "Deadline":
        """Whichever of the two comes first."""
        return self if self.at <= other.at else other


NEVER: Final = Deadline(math.inf)
"""The deadline of a call that may wait for ever."""


def as_seconds(timeout: float | timedelta) -> float:
    """A public timeout as seconds, checked.

    Raises:
        TypeError: The timeout is no int, float or timedelta.
        ValueError: It is negative or NaN.
    """
    if isinstance(timeout, timedelta):
        seconds = timeout.total_seconds()
    elif isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(
            f"a timeout is a number of seconds or a timedelta, not "
            f"{type(timeout).__name__}: {timeout!r}"
        )
    else:
        try:
            seconds = float(timeout)
        except OverflowError:
            # An int beyond every float: as far away as never, on its own side of zero.
            seconds = math.copysign(math.inf, timeout > 0 or -1)
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"a timeout is not negative and not NaN: {timeout!r}")
    return seconds
