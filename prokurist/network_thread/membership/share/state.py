"""States of a member of a share group: a table.

         ┌──────── a poll ────────┐
         ▼                        │
    OUT ──► JOINING ──► STABLE    │
     ▲         ▲ ▲        │       │
     │         │ └────────┤  fenced: joins again with the same id
     │         └── STALE ◄┤  has not polled: left, and joins with the next poll
     └ unsubscribe FATAL ◄┘  until unsubscribe
       (from any)

Thread: the network thread alone. A move that the table does not hold raises and changes
nothing.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.types import MembershipState


class ShareMemberState(Enum):
    """The states of a member of a share group."""

    OUT = "out"
    """Not in the group, and not subscribed to anything."""
    JOINING = "joining"
    """The first heartbeat is to be answered."""
    STABLE = "stable"
    """It is in the group."""
    STALE = "stale"
    """It has not polled for too long and has left; the next poll joins again."""
    FATAL = "fatal"
    """The coordinator will have none of it, however often it asks."""


_ENDS: Final = frozenset({ShareMemberState.OUT, ShareMemberState.STALE, ShareMemberState.FATAL})

MOVES: Final[Mapping[ShareMemberState, frozenset[ShareMemberState]]] = MappingProxyType(
    {
        ShareMemberState.OUT: frozenset({ShareMemberState.OUT, ShareMemberState.JOINING}),
        ShareMemberState.JOINING: _ENDS | {ShareMemberState.STABLE},
        ShareMemberState.STABLE: _ENDS | {ShareMemberState.JOINING},
        ShareMemberState.STALE: frozenset({ShareMemberState.OUT, ShareMemberState.JOINING}),
        ShareMemberState.FATAL: frozenset({ShareMemberState.OUT}),
    }
)

COUNTED: Final = frozenset({ShareMemberState.JOINING, ShareMemberState.STABLE})
"""States in which the coordinator counts the member, or may; it sends heartbeats in them."""

STANDING: Final[Mapping[ShareMemberState, MembershipState]] = MappingProxyType(
    {
        ShareMemberState.OUT: MembershipState.OUT,
        ShareMemberState.JOINING: MembershipState.JOINING,
        ShareMemberState.STABLE: MembershipState.STABLE,
        ShareMemberState.STALE: MembershipState.STALE,
        ShareMemberState.FATAL: MembershipState.FAILED,
    }
)
"""The same for users, who know all protocols."""


def moved(now: ShareMemberState, to: ShareMemberState) -> ShareMemberState:
    """Return the new state, or raise if the table does not have the transition.

    Raises:
        AssertionError: The table does not hold it.
    """
    if to not in MOVES[now]:
        raise AssertionError(f"a share member does not go from {now.value} to {to.value}")
    return to
