"""The life of a member of a classic group, as a table.

    OUT ──► WAITING ──► PREPARING ──► JOINING ──► SYNCING ──► TAKING ──► STABLE
             ▲ ▲             ▲           ▲ └─┘       │           │          │
             │ │             └───────────┼───────────┼───────────┴──────────┤ (a round)
             │ │                         └───────────┘                      │
             │ └────────────── a poll came too late ────────────────────────┘
             └─ from everywhere by way of OUT; FAILED too is left by OUT alone

Thread: the network thread alone. A move that the table does not hold raises and
changes nothing.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.types import MembershipState


class ClassicState(Enum):
    """The states of a member of a classic group."""

    OUT = "out"
    """Nothing is subscribed to."""
    WAITING = "waiting"
    """Not in the group; the next poll begins a round."""
    PREPARING = "preparing"
    """A round has begun: give up partitions that must not be kept during it."""
    JOINING = "joining"
    """JoinGroup is on its way, or the coordinator is being looked for."""
    SYNCING = "syncing"
    """In the new generation; SyncGroup is on its way, or its leader assigns."""
    TAKING = "taking"
    """The assignment has come: revoke missing partitions, announce new ones."""
    STABLE = "stable"
    """A member with its part."""
    FAILED = "failed"
    """The group has refused this member for good."""


_ENDS: Final = frozenset({ClassicState.OUT, ClassicState.FAILED})

MOVES: Final[Mapping[ClassicState, frozenset[ClassicState]]] = MappingProxyType(
    {
        ClassicState.OUT: frozenset({ClassicState.WAITING}),
        ClassicState.WAITING: _ENDS | {ClassicState.PREPARING},
        ClassicState.PREPARING: _ENDS | {ClassicState.JOINING, ClassicState.WAITING},
        ClassicState.JOINING: _ENDS
        | {ClassicState.JOINING, ClassicState.SYNCING, ClassicState.WAITING},
        ClassicState.SYNCING: _ENDS
        | {ClassicState.TAKING, ClassicState.JOINING, ClassicState.WAITING},
        ClassicState.TAKING: _ENDS
        | {ClassicState.STABLE, ClassicState.PREPARING, ClassicState.WAITING},
        ClassicState.STABLE: _ENDS | {ClassicState.PREPARING, ClassicState.WAITING},
        ClassicState.FAILED: frozenset({ClassicState.OUT}),
    }
)

IN_A_ROUND: Final = frozenset(
    {
        ClassicState.PREPARING,
        ClassicState.JOINING,
        ClassicState.SYNCING,
        ClassicState.TAKING,
    }
)
"""States with a round in progress."""


STANDING: Final[Mapping[ClassicState, MembershipState]] = MappingProxyType(
    {
        ClassicState.OUT: MembershipState.OUT,
        ClassicState.WAITING: MembershipState.STALE,
        ClassicState.STABLE: MembershipState.STABLE,
        ClassicState.FAILED: MembershipState.FAILED,
    }
)
"""The same for users, who know both protocols: all but those in a round."""


def transition(old: ClassicState, new: ClassicState) -> ClassicState:
    """Return the new state, or raise if the table does not have the transition.

    Raises:
        AssertionError: It does not: a bug of ours.
    """
    if new not in MOVES[old]:
        raise AssertionError(f"a member does not go from {old.value} to {new.value}")
    return new
