"""While its group is shared out, the network thread keeps still when a poll is to end.

Thread: the network thread alone.

All members of a group have something to compute in the same moments: when they come, and
when they are told their parts. Where many of them share a machine, each thread stands in
line for a processor then, and an application thread whose time in `poll` is over stands
behind network threads; its own may hold the interpreter meanwhile, and stand in line
itself. So near the end of a poll nothing is begun any more, until it is well over or the
application asks for something: ADR 13.
"""

import math
from collections.abc import Callable
from typing import Final

from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.network_thread.timer import Due, Timer, nothing
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

NEAR: Final = 0.02
"""Seconds before the end of a poll from which on nothing is begun: what was begun before may
well take so long where a dozen others want the processor, too. And for how long after it: the
polls of others, who came in the same moment, end about then."""

SHORTEST: Final = 4 * NEAR
"""Seconds; in shorter polls too little time would be left."""


class GivingWay:
    """See the module.

    Args:
        timer: What time it is.
        background: Where polls wait.
        rest: Waits for the application, for so many seconds at most.

    Attributes:
        now: Whether the group is being shared out.
        rests: How often the end of a poll was waited for.
    """

    def __init__(
        self, timer: Timer, background: BackgroundEvents, rest: Callable[[float], None]
    ) -> None:
        self._timer = timer
        self._background = background
        self._rest = rest
        self._until = -math.inf
        self._begin = Due(math.inf, "", nothing)
        self.now: bool = False
        self.rests: int = 0

    def look(self, standing: MembershipState) -> None:
        """Once a turn, so that its wait ends where that for the end of a poll begins."""
        if standing in MOVING:
            self._until = self._timer.now + AFTERWARDS
        self.now = self._timer.now < self._until
        poll = self._given_way(self._background.awaiting)
        at = math.inf if poll is None else poll.deadline.at - NEAR
        if at != self._begin.at:
            self._timer.cancel(self._begin)
            self._begin = self._timer.at(at, "a poll is about to end", nothing)

    def rest(self) -> bool:
        """Before what has come is taken in: wait until a poll that is near its end is over.

        Returns:
            Whether there is one.
        """
        poll = self._given_way(self._background.idle_in)
        if poll is None or self._timer.now < poll.deadline.at - NEAR:
            return False
        self.rests += 1
        self._rest(poll.deadline.at + NEAR - self._timer.now)
        return True

    def _given_way(self, poll: Call | None) -> Call | None:
        """The same, if it is given way to."""
        if poll is None or not self.now:
            return None
        end = poll.deadline.at
        lasts = SHORTEST <= end - poll.began < math.inf
        return poll if lasts and self._timer.now < end + NEAR else None

    def __repr__(self) -> str:
        return f"GivingWay({'now' if self.now else 'not now'}, {self.rests} rests)"
