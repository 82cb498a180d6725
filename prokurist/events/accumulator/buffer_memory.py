"""The bound of `buffer.memory`, and the queue of those who wait for room.

Thread: any, and a signal handler that interrupts one. `_lock` is held for a few assignments;
waiters are opened outside it.
Invariants: room is given in the order in which it was asked for, so a large claim is not
starved by small ones; `free` never exceeds `total`. It falls below 0 while the parts of a batch
that was split hold a little more than that did. Room that was taken is in one claim, or in one
batch: who made the claim leaves it, also when an interrupt comes in between.
"""

import threading
from collections import deque

from prokurist.events.waiter import Waiter


class Claim:
    """Room that is taken, or waited for.

    Attributes:
        size: Bytes.
        waiter: Opens when the room is granted, or the memory is closed.
        granted: Whether the room has been taken for it.
        waits: Whether it stands in the queue.
    """

    __slots__ = ("granted", "size", "waiter", "waits")

    def __init__(self, size: int, waiter: Waiter | None = None) -> None:
        self.size: int = size
        self.waiter: Waiter = waiter or Waiter()
        self.granted: bool = False
        self.waits: bool = False


class BufferMemory:
    """Counts the room of batches against `buffer.memory`.

    Args:
        total: Bytes.

    Attributes:
        total: `buffer.memory`.
        free: How much of it is not taken.
    """

    def __init__(self, total: int) -> None:
        self.total: int = total
        self.free: int = total
        self._lock = threading.RLock()
        self._waiting: deque[Claim] = deque()

    def take(self, claim: Claim) -> bool:
        """Take room, if there is some and no earlier claim waits; `leave` has to follow."""
        with self._lock:
            if self._waiting or claim.size > self.free:
                return False
            claim.granted = True
            self.free -= claim.size
            return True

    def queue(self, claim: Claim) -> None:
        """Queue for room; `leave` has to follow."""
        with self._lock:
            claim.waits = True
            self._waiting.append(claim)
            granted = self._grant()
        self._tell(granted)

    def leave(self, claim: Claim) -> None:
        """Be done with a claim; room that is still in it goes to the next."""
        if not (claim.granted or claim.waits):
            return
        with self._lock:
            if claim.granted:
                claim.granted = False
                self.free += claim.size
            elif claim in self._waiting:
                claim.waits = False
                self._waiting.remove(claim)
            granted = self._grant()
        self._tell(granted)

    def give_back(self, size: int) -> None:
        """Return room; claims that wait are granted in their order."""
        with self._lock:
            self.free += size
            granted = self._grant()
        self._tell(granted)

    def exchange(self, returned: int, taken: int) -> None:
        """Return room and take other, of which there may be more than is free for a while."""
        self.give_back(returned - taken)

    def _grant(self) -> list[Claim]:
        """Grant what can be granted; the lock is held."""
        granted: list[Claim] = []
        while self._waiting and self._waiting[0].size <= self.free:
            claim = self._waiting.popleft()
            claim.granted, claim.waits = True, False
            self.free -= claim.size
            granted.append(claim)
        return granted

    def _tell(self, claims: list[Claim]) -> None:
        for claim in claims:
            claim.waiter.open()

    def close(self) -> None:
        """Let through all that wait, without room: no more records are taken."""
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
        self._tell(list(waiting))

    @property
    def waiting(self) -> int:
        """Number of waiting claims."""
        return len(self._waiting)

    def __repr__(self) -> str:
        return f"BufferMemory({self.free} of {self.total} bytes free, {self.waiting} waiting)"
