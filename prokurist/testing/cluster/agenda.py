"""A cluster's own future actions, by due time.

Thread: the one that drives the model.
"""

import math
from collections.abc import Callable
from heapq import heappop, heappush


class Agenda:
    """Actions by due time; those of one time in the order of planning."""

    __slots__ = ("_entries", "_planned")

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[float], None]]] = []
        self._planned = 0

    def __repr__(self) -> str:
        return f"Agenda({len(self._entries)} entries, next at {self.next_at()})"

    def plan(self, at: float, action: Callable[[float], None]) -> None:
        """Have an action run at a time; it is given that time."""
        self._planned += 1
        heappush(self._entries, (at, self._planned, action))

    def next_at(self) -> float:
        """When the next action is due; `math.inf` for none."""
        return self._entries[0][0] if self._entries else math.inf

    def run_next(self) -> None:
        """Run the next action."""
        at, _, action = heappop(self._entries)
        action(at)
