"""States of a member by the consumer protocol (KIP-848): a table.

         ┌────────── a poll ───────────┐
         ▼                             │
    OUT ──► JOINING ──► STABLE ◄──► RECONCILING
     ▲         ▲  │        │           │
     │         │  └────────┴─────┬─────┘
     │         ├──── FENCED ◄────┤  fenced: listener is called, then rejoins
     │         └──── STALE  ◄────┤  has not polled: left, and joins with the next poll
     └ unsubscribe   FATAL  ◄────┘  until unsubscribe
       (from any)

Thread: the network thread alone. A move that the table does not hold raises and changes
nothing.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.types import MembershipState


class MemberState(Enum):
    """The states of a member by the consumer protocol."""

    OUT = "out"
    """Not in the group, and not subscribed to anything."""
    JOINING = "joining"
    """The first heartbeat is to be answered."""
    STABLE = "stable"
    """It owns its target assignment."""
    RECONCILING = "reconciling"
    """Partitions are changing hands."""
    FENCED = "fenced"
    """The coordinator does not count it any more; the listener is to hear so."""
    STALE = "stale"
    """It has not polled for too long and has left; the next poll joins again."""
    FATAL = "fatal"
    """The coordinator will have none of it, however often it asks."""


_ENDS: Final = frozenset(
    {MemberState.OUT, MemberState.FENCED, MemberState.STALE, MemberState.FATAL}
)

MOVES: Final[Mapping[MemberState, frozenset[MemberState]]] = MappingProxyType(
    {
        MemberState.OUT: frozenset({MemberState.OUT, MemberState.JOINING}),
        MemberState.JOINING: _ENDS | {MemberState.STABLE},
        MemberState.STABLE: _ENDS | {MemberState.RECONCILING},
        MemberState.RECONCILING: _ENDS | {MemberState.STABLE},
        MemberState.FENCED: frozenset({MemberState.OUT, MemberState.JOINING}),
        MemberState.STALE: frozenset({MemberState.OUT, MemberState.JOINING}),
        MemberState.FATAL: frozenset({MemberState.OUT}),
    }
)

COUNTED: Final = frozenset({MemberState.JOINING, MemberState.STABLE, MemberState.RECONCILING})
"""States in which the coordinator counts the member, or may; it sends heartbeats in them."""


STANDING: Final[Mapping[MemberState, MembershipState]] = MappingProxyType(
    {
        MemberState.OUT: MembershipState.OUT,
        MemberState.JOINING: MembershipState.JOINING,
        MemberState.STABLE: MembershipState.STABLE,
        MemberState.RECONCILING: MembershipState.RECONCILING,
        MemberState.FENCED: MembershipState.FENCED,
        MemberState.STALE: MembershipState.STALE,
        MemberState.FATAL: MembershipState.FAILED,
    }
)
"""The same for users, who know both protocols."""


def moved(now: MemberState, to: MemberState) -> MemberState:
    """Return the new state, or raise if the table does not have the transition.

    Raises:
        AssertionError: The table does not hold it.
    """
    if to not in MOVES[now]:
        raise AssertionError(f"a member does not go from {now.value} to {to.value}")
    return to
