"""Counters of a client's calls, and totals of closed clients.

Thread: the application's writes, any reads; see `events.counter_types`.
"""

import threading
from typing import Final

from prokurist.errors import WakeupException
from prokurist.events.call import Call
from prokurist.events.counter_types import Family, Histogram


class CallCounters:
    """The calls of one name.

    Attributes:
        seconds: How long each took, from its first line to its end.
        timed_out: How many ended because their time was over.
        attempts: How many requests were written for them.
    """

    __slots__ = ("attempts", "seconds", "timed_out")

    def __init__(self) -> None:
        self.seconds: Histogram = Histogram()
        self.timed_out: int = 0
        self.attempts: int = 0


class Errors:
    """The errors of one class.

    Attributes:
        count: How many there were.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count: int = 0


class CallerCounters:
    """Counters of one client's application thread.

    Attributes:
        calls: Those that asked the network thread something, by name.
        overshoot: How late calls ended that had time and ended after their deadline.
        wakeups: How often a wait ended because something had come.
        polls: How long each poll took, iterations included.
        poll_interval: From the beginning of one poll to that of the next.
        polled_at: When the last poll ended; None before the first.
        errors: Errors raised by polls, by class name, but for WakeupException.
        callbacks: How long rebalance callbacks took, by name.
        closing: How long the phases of `close` took, by name.
    """

    __slots__ = (
        "_poll_began",
        "callbacks",
        "calls",
        "closing",
        "errors",
        "overshoot",
        "poll_interval",
        "polled_at",
        "polls",
        "wakeups",
    )

    def __init__(self) -> None:
        self.calls: Family[CallCounters] = Family(CallCounters)
        self.overshoot: Histogram = Histogram()
        self.wakeups: int = 0
        self.polls: Histogram = Histogram()
        self.poll_interval: Histogram = Histogram()
        self.polled_at: float | None = None
        self.errors: Family[Errors] = Family(Errors)
        self.callbacks: Family[Histogram] = Family(Histogram)
        self.closing: Family[Histogram] = Family(Histogram)
        self._poll_began: float | None = None

    def ended(self, call: Call, now: float) -> None:
        """Count a call that has ended."""
        counters = self.calls.of(call.operation)
        counters.seconds.observe(now - call.began)
        counters.attempts += call.attempts
        counters.timed_out += call.timed_out
        self._late(call, now)

    def polled(self, call: Call, now: float) -> None:
        """A poll has ended; it has no request of its own, and never times out."""
        if self._poll_began is not None:
            self.poll_interval.observe(call.began - self._poll_began)
        self._poll_began, self.polled_at = call.began, now
        self.polls.observe(now - call.began)
        self._late(call, now)

    def raised(self, error: Exception) -> None:
        """A poll has raised something."""
        if not isinstance(error, WakeupException):
            self.errors.of(type(error).__name__).count += 1

    def _late(self, call: Call, now: float) -> None:
        if now >= call.deadline.at > call.began:
            self.overshoot.observe(now - call.deadline.at)


class ClosedClients:
    """Totals of closed clients; clients are closed in any thread.

    Attributes:
        phases: How long the phases of `close` took, in all of them, by name.
        count: How many there were.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.phases: Family[Histogram] = Family(Histogram)
        self.count: int = 0

    def add(self, counters: CallerCounters) -> None:
        """Add the counters of a client that has been closed."""
        with self._lock:
            self.count += 1
            for phase, seconds in counters.closing.children.items():
                self.phases.of(phase).add(seconds)

    def __repr__(self) -> str:
        return f"ClosedClients({self.count})"


CLOSED: Final = ClosedClients()
"""Those of this process."""
