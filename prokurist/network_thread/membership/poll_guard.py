"""`max.poll.interval.ms`: a member who does not poll any more gives its place up.

Thread: the network thread alone.

Who polls tells nobody: when the time has come, it is looked whether he has. Nobody is
late while he is inside a poll, however long that takes.
"""

from collections.abc import Callable

from prokurist.events.membership import Presence
from prokurist.network_thread.timer import Due, Timer

REASON = "max.poll.interval.ms"


class PollGuard:
    """See the module.

    Args:
        presence: When there was a poll last.
        timer: The Timer.
        interval: Seconds between two polls at most.
        missed: Called once when it was longer, with how long that was.
    """

    def __init__(
        self,
        presence: Presence,
        timer: Timer,
        interval: float,
        missed: Callable[[float], None],
    ) -> None:
        self._presence = presence
        self._timer = timer
        self._interval = interval
        self._missed = missed
        self._due: Due | None = None

    def start(self) -> None:
        """There is a place to be given up."""
        self.stop()
        self._wait(self._absent_since())

    def stop(self) -> None:
        """There is none any more."""
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None

    def _wait(self, since: float) -> None:
        self._due = self._timer.at(since + self._interval, REASON, self._look)

    def _look(self) -> None:
        self._due = None
        now, since = self._timer.now, self._absent_since()
        if now - since >= self._interval:
            self._missed(now - since)
        else:
            self._wait(since)

    def _absent_since(self) -> float:
        # Inside a poll there is nothing to be late for; it begins when that has ended.
        left = self._presence.absent_since()
        return self._timer.now if left is None else left

    def __repr__(self) -> str:
        return f"PollGuard({self._interval} s, {'on' if self._due is not None else 'off'})"
