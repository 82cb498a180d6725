"""The pauses between one operation's attempts.

Thread: the network thread alone. They are longer with each failure in a row, and
the call's ledger shows them.
"""

from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.network_thread.operations.timer import Timer


class Retries:
    """Backs off between one operation's attempts.

    Args:
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        call: The call, for entries in its ledger; None for work in the background.
        reason: The name of a pause in the Timer; None to name it after the call.

    Attributes:
        count: The failures in a row so far.
    """

    __slots__ = ("_backoff", "_call", "_next", "_reason", "_timer", "count")

    def __init__(
        self,
        timer: Timer,
        backoff: Backoff,
        call: Call | None = None,
        reason: str | None = None,
    ) -> None:
        self._timer = timer
        self._backoff = backoff
        self._call = call
        self._reason = reason
        self._next: float | None = None
        self.count: int = 0

    @property
    def next(self) -> float:
        """The seconds that the next pause will take."""
        if self._next is None:
            self._next = self._backoff.pause(self.count + 1)
        return self._next

    @property
    def in_time(self) -> bool:
        """True if the next pause ends before the call's deadline."""
        return self._call is None or self._timer.now + self.next < self._call.deadline.at

    async def pause(self) -> None:
        """Wait after an attempt that has failed."""
        call, reason = self._call, self._reason
        if call is not None:
            reason = reason or f"retry backoff of {call.operation}"
            call.wait_begins("retry backoff", self._timer.now)
        await self._timer.sleep(self.next, reason or "retry backoff")
        if call is not None:
            call.wait_ends(self._timer.now)
        self.skip()

    def skip(self) -> float:
        """Count a failure without a wait; returns the pause that is left out."""
        left_out = self.next
        self.count, self._next = self.count + 1, None
        return left_out

    def shorten(self, seconds: float) -> None:
        """Make the next pause no longer than this."""
        self._next = min(self.next, seconds)

    def reset(self) -> None:
        """Begin again with the shortest pause: an attempt has succeeded."""
        self.count, self._next = 0, None

    def __repr__(self) -> str:
        return f"Retries({self._reason or self._call}, {self.count} failures)"
