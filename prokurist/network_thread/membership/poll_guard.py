"""Enforces `max.poll.interval.ms`: a member that does not poll any more leaves the group.

Thread: the network thread alone.

A poll sends no signal: when the interval is over, the guard checks for one. No member is late
while it is inside a poll, however long that takes.

Each step of an iteration counts as well, and costs it nothing: from time to time the guard
compares the record in hand, and a change shows that the application is alive. So an application
that stops amid an iteration is noticed up to a `GRAIN` late, and never early.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from prokurist.events.member_identity import PollActivity
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.types import TopicPartition

REASON: Final = "max.poll.interval.ms"

InHand: TypeAlias = Callable[[], tuple[TopicPartition, int] | None]

GRAIN: Final = 1 / 8
"""Time between two checks, as a part of the interval."""


class PollGuard:
    """Has the member leave when the application has not polled for `max.poll.interval.ms`.

    Args:
        poll_activity: When there was a poll last.
        in_hand: Returns the record that an iteration has in hand; None if there is none.
        timer: The Timer.
        interval: Seconds between two polls at most.
        missed: Called once when it was longer, with how long that was.
    """

    def __init__(
        self,
        poll_activity: PollActivity,
        in_hand: InHand,
        timer: Timer,
        interval: float,
        missed: Callable[[float], None],
    ) -> None:
        self._poll_activity = poll_activity
        self._find_in_hand = in_hand
        self._timer = timer
        self._interval = interval
        self._missed = missed
        self._due: Due | None = None
        self._in_hand: tuple[TopicPartition, int] | None = None
        self._stepped_at = timer.now

    def start(self) -> None:
        """Start watching: the member has joined."""
        self.stop()
        self._wait(self._absent_since())

    def stop(self) -> None:
        """Stop watching."""
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None

    def _wait(self, since: float) -> None:
        until = min(since + self._interval, self._timer.now + self._interval * GRAIN)
        self._due = self._timer.at(until, REASON, self._look)

    def _look(self) -> None:
        self._due = None
        now, since = self._timer.now, self._absent_since()
        # The same sum as that by which it was set: another, rounded, may never be reached.
        if now >= since + self._interval:
            self._missed(now - since)
        else:
            self._wait(since)

    def _absent_since(self) -> float:
        # Inside a poll there is nothing to be late for; it begins when that has ended.
        left, now = self._poll_activity.absent_since(), self._timer.now
        before, self._in_hand = self._in_hand, self._find_in_hand()
        if self._in_hand is not None and self._in_hand != before:
            self._stepped_at = now
        return now if left is None else max(left, self._stepped_at)

    def __repr__(self) -> str:
        return f"PollGuard({self._interval} s, {'on' if self._due is not None else 'off'})"
