"""One heap of everything that is due: the only source of the loop's wake time.

Attempt limits, backoffs, heartbeats, connection setup, metadata age, the network
side of call deadlines: each is an entry with its reason, so that one line can
say why the loop woke.

Thread: the network thread alone.

- The Timer also carries the time of the turn: the loop reads the clock when it
  wakes and sets `now`; all code that runs in that turn reads it here.
- An entry is cancelled by marking it; the heap drops it when it comes up (lazy
  deletion) or when the dead outnumber the living by far.
- An entry never fires in the turn that set it, even if its time has come. So an
  action that sets an entry for now cannot spin inside one turn, and a call with
  no time at all still gets the turn in which it was taken up.
"""

import heapq
import math
from collections.abc import Callable
from typing import Final

from prokurist.network_thread.operations.operation import Promise

REBUILD_AT: Final = 64
"""Fewer dead entries than this are never worth a rebuild."""


class Due:
    """An entry of the timer: its time, its reason, and its action."""

    __slots__ = ("action", "at", "live", "reason")

    def __init__(self, at: float, reason: str, action: Callable[[], None]) -> None:
        self.at: float = at
        self.reason: str = reason
        self.action: Callable[[], None] = action
        self.live: bool = True

    def over(self) -> Callable[[], None]:
        """Mark it as done or cancelled, and drop its action."""
        self.live = False
        # A dead entry may lie in the heap for long, and its action leads to a whole call.
        action, self.action = self.action, nothing
        return action

    def __repr__(self) -> str:
        return f"Due({self.reason}, at {self.at:.3f}{'' if self.live else ', over'})"


class Timer:
    """A heap of due entries, and the time of the present turn.

    Attributes:
        now: The clock, as the loop read it last.
        fired: How many entries have fired.
    """

    __slots__ = ("_dead", "_heap", "_serial", "fired", "now")

    def __init__(self, now: float) -> None:
        self.now: float = now
        self._heap: list[tuple[float, int, Due]] = []
        self._serial = 0
        self._dead = 0
        self.fired: int = 0

    def at(self, moment: float, reason: str, action: Callable[[], None]) -> Due:
        """Add an entry for an instant; `inf` costs nothing."""
        due = Due(moment, reason, action)
        if moment < math.inf:
            self._serial += 1
            heapq.heappush(self._heap, (moment, self._serial, due))
        return due

    def after(self, seconds: float, reason: str, action: Callable[[], None]) -> Due:
        """Add an entry for so many seconds from now."""
        return self.at(self.now + seconds, reason, action)

    def sleep(self, seconds: float, reason: str) -> Promise[None]:
        """A pause for an operation to await; its entry ends with the wait."""
        pause = Promise[None]()
        due = self.after(seconds, reason, lambda: pause.keep(None))
        pause.on_forsaken = lambda: self.cancel(due)
        return pause

    def cancel(self, due: Due) -> None:
        """Cancel an entry; no effect if it was done or cancelled before."""
        if not due.live:
            return
        due.over()
        if due.at < math.inf:
            self._dead += 1
            if self._dead > REBUILD_AT and self._dead > 2 * len(self):
                self._heap = [entry for entry in self._heap if entry[2].live]
                heapq.heapify(self._heap)
                self._dead = 0

    def mark(self) -> int:
        """The present end of the order, for `fire`: later entries wait a turn."""
        return self._serial

    def fire(self, mark: int) -> None:
        """Run all due entries that were set before the mark, the earliest first."""
        later: list[tuple[float, int, Due]] = []
        while self._heap and self._heap[0][0] <= self.now:
            entry = heapq.heappop(self._heap)
            due = entry[2]
            if not due.live:
                self._dead -= 1
            elif entry[1] > mark:
                later.append(entry)
            else:
                self.fired += 1
                due.over()()
        for entry in later:
            heapq.heappush(self._heap, entry)

    @property
    def next_at(self) -> float | None:
        """When the first entry is due, cancelled or not; for other threads.

        The network thread may be changing the heap meanwhile; a list is never
        seen half changed, and a stale answer is as good as an early one.
        """
        try:
            return self._heap[0][0]
        except IndexError:
            return None

    def top(self) -> Due | None:
        """The next entry; None when there is none."""
        while self._heap and not self._heap[0][2].live:
            heapq.heappop(self._heap)
            self._dead -= 1
        return self._heap[0][2] if self._heap else None

    def __len__(self) -> int:
        """The number of entries that are not cancelled."""
        return len(self._heap) - self._dead

    def __repr__(self) -> str:
        return f"Timer({len(self)} due, next: {self.top()})"


def nothing() -> None:
    """The action of an entry that is over."""
