"""How far one assigned partition has come, and what has to happen before it is read.

    NEW ──────► RESETTING ──► VALID ◄──► VALIDATING
     │ (committed, or sought)   ▲  │         │
     └──────────────────────────┘  └► RESETTING ◄┘

Thread: whoever holds the lock of the `Subscription` that owns it. A move that the
table does not hold raises and changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.config import OffsetReset


class Standing(Enum):
    """What is known of a partition's position."""

    NEW = "new"
    """Nothing: the group's committed offset is to be looked up."""
    RESETTING = "resetting"
    """There is none: the log's beginning, end or a moment in it is to be looked up."""
    VALIDATING = "validating"
    """There is one, and a new leader has to confirm that its log goes that far."""
    VALID = "valid"
    """There is one, and it can be read from."""


MOVES: Final[Mapping[Standing, frozenset[Standing]]] = MappingProxyType(
    {
        Standing.NEW: frozenset({Standing.RESETTING, Standing.VALIDATING, Standing.VALID}),
        Standing.RESETTING: frozenset(
            {Standing.RESETTING, Standing.VALIDATING, Standing.VALID}
        ),
        Standing.VALIDATING: frozenset(
            {Standing.VALIDATING, Standing.VALID, Standing.RESETTING}
        ),
        Standing.VALID: frozenset({Standing.VALID, Standing.VALIDATING, Standing.RESETTING}),
    }
)


@dataclass(frozen=True, slots=True)
class Position:
    """The next offset to read.

    Attributes:
        offset: The offset.
        epoch: The leader epoch of the record before it, where it is known.
    """

    offset: int
    epoch: int | None = None


class PartitionState:
    """One assigned partition.

    Attributes:
        ticket: Grows with everything that makes an answer under way worthless: a
            seek, a reset, a validation. Who asks notes it, and an answer with an
            older one is dropped.
        position: The next offset to fetch; None while it is not known.
        returned: The next offset after what the user was given; what a commit
            without offsets commits.
        reset: Where to, while it is RESETTING.
        paused: Whether the user wants no records of it for now.
        asked: Whether `poll` has asked for the position, under this ticket, and
            nobody has given up looking for it.
        born: The ticket of its assignment, which answers about its log are bound to.
        end: Where the log ends, as far as we have heard; for the lag.
        end_asked: Whether that is being looked up.
    """

    __slots__ = (
        "asked",
        "born",
        "end",
        "end_asked",
        "paused",
        "position",
        "reset",
        "returned",
        "standing",
        "ticket",
    )

    def __init__(self, ticket: int) -> None:
        self.ticket: int = ticket
        self.born: int = ticket
        self.asked: bool = False
        self.end_asked: bool = False
        self.end: int | None = None
        self.standing: Standing = Standing.NEW
        self.position: Position | None = None
        self.returned: Position | None = None
        self.reset: OffsetReset | None = None
        self.paused: bool = False

    @property
    def missing(self) -> bool:
        """Whether the position has to be looked up."""
        return self.standing in (Standing.NEW, Standing.RESETTING)

    def settle(self, position: Position) -> None:
        """The position is known."""
        self._move(Standing.VALID)
        self.position = self.returned = position
        self.reset = None

    def need_reset(self, reset: OffsetReset) -> None:
        """The position is to be looked up by a policy; the old one counts no more."""
        self._move(Standing.RESETTING)
        self.position = self.returned = None
        self.reset = reset

    def need_validation(self) -> None:
        """A new leader has to confirm the position, which stays."""
        self._move(Standing.VALIDATING)

    def validated(self) -> None:
        """It has."""
        self._move(Standing.VALID)

    def _move(self, standing: Standing) -> None:
        if standing not in MOVES[self.standing]:
            raise AssertionError(
                f"a partition does not go from {self.standing.value} to {standing.value}"
            )
        self.standing = standing

    def __repr__(self) -> str:
        where = "nowhere" if self.position is None else f"at {self.position.offset}"
        return f"PartitionState({self.standing.value}, {where}{', paused' * self.paused})"
