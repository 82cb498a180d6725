"""While its group is shared out, the network thread lets those go first who wait in a poll.

Thread: the network thread alone.

All members of a group have something to compute in the same moments: when they come, and
when they are told their parts. Where many of them share a machine, each thread stands in
line for a processor then, and an application thread whose time in `poll` is over stands
behind network threads, its own among them, that could as well wait: ADR 12.
"""

import math
from collections.abc import Callable
from typing import Final

from prokurist.network_thread.timer import Timer
from prokurist.types import MembershipState

MOVING: Final = frozenset(
    {
        MembershipState.JOINING,
        MembershipState.RECONCILING,
        MembershipState.FENCED,
        MembershipState.STALE,
    }
)
AFTERWARDS: Final = 1.0
"""Seconds in which a member makes something of its part: positions, fetches, first records."""


class GivingWay:
    """See the module.

    Args:
        timer: What time it is.
        give_way: Has others go first, from now on or no more.

    Attributes:
        now: Whether they do.
    """

    def __init__(self, timer: Timer, give_way: Callable[[bool], None]) -> None:
        self._timer = timer
        self._give_way = give_way
        self._until = -math.inf
        self.now: bool = False

    def look(self, standing: MembershipState) -> None:
        """Once a turn. Nobody is woken for the end of it: the next turn will do."""
        if standing in MOVING:
            self._until = self._timer.now + AFTERWARDS
        gives = self._timer.now < self._until
        if gives is not self.now:
            self.now = gives
            self._give_way(gives)

    def __repr__(self) -> str:
        return f"GivingWay({'now' if self.now else 'not now'})"
