"""A cache of bounded size whose entries may expire.

Thread: any.
Invariants: the entry that was used longest ago makes room; the lock is held for a few
assignments.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from prokurist.registry.forks import renew_in_children

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by their keys.

    Args:
        most: How many.
        now: Reads the clock.
        per_process: True to begin empty in the child of a fork.
    """

    def __init__(
        self, most: int, now: Callable[[], float], *, per_process: bool = False
    ) -> None:
        self._most = most
        self._now = now
        self._per_process = per_process
        self._held: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._lock = threading.Lock()
        renew_in_children(self)

    def renew(self) -> None:
        """Make the lock; see `forks.Forked`."""
        self._lock = threading.Lock()
        if self._per_process:
            self._held = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key; None if there is none, or none any more."""
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            value, until = found
            if until != math.inf and self._now() >= until:
                del self._held[key]
                return None
            self._held.move_to_end(key)
            return value

    def put(self, key: K, value: V, seconds: float = math.inf) -> None:
        """Keep a value for some seconds."""
        with self._lock:
            self._held[key] = value, self._now() + seconds
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def drop(self, key: K) -> None:
        """Forget a key."""
        with self._lock:
            self._held.pop(key, None)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"BoundedCache({len(self._held)} of {self._most})"
