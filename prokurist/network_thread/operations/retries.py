"""The pauses between one operation's attempts.

Thread: the network thread alone. They are longer with each failure in a row, and
the call's ledger shows them.
"""

from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.network_thread.operations.timer import Timer


class Retries:
    """Backs off between one operation's attempts.

    Attributes:
        next: How many seconds the next pause will take.
    """

    __slots__ = ("_backoff", "_call", "_failures", "_timer", "next")

    def __init__(self, call: Call, timer: Timer, backoff: Backoff) -> None:
        self._call = call
        self._timer = timer
        self._backoff = backoff
        self._failures = 1
        self.next: float = backoff.pause(self._failures)

    @property
    def in_time(self) -> bool:
        """True if the next pause ends before the call's deadline."""
        return self._timer.now + self.next < self._call.deadline.at

    async def pause(self) -> None:
        """Wait after an attempt that has failed."""
        self._call.wait_begins("retry backoff", self._timer.now)
        await self._timer.sleep(self.next, f"retry backoff of {self._call.operation}")
        self._call.wait_ends(self._timer.now)
        self._failures += 1
        self.next = self._backoff.pause(self._failures)

    def __repr__(self) -> str:
        return f"Retries({self._call.operation}, {self.next:.3f} s next)"
