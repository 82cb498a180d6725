"""Row of one assigned partition with its position, and the obstacles to reading it.

    NEW ──────► RESETTING ──► VALID ◄──► VALIDATING
     │ (committed, or sought)   ▲  │         │
     └──────────────────────────┘  └► RESETTING ◄┘

Thread: either, holding the lock of the `Assigned` that owns it. A transition that the
table does not have raises and changes nothing.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from prokurist.config import OffsetReset
from prokurist.events.assigned import AssignedState
from prokurist.events.hand import Hand, Handed
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.why_empty import OpenTransaction

ReturnedRuns: TypeAlias = Sequence[tuple[Sequence[int], int | None]]
"""Records that are returned: the offsets of each run, and the leader epoch of the run."""


class FetchState(Enum):
    """The states of a partition's position."""

    NEW = "new"
    """Nothing: the group's committed offset is to be looked up."""
    RESETTING = "resetting"
    """There is none: the log's beginning, end or a moment in it is to be looked up."""
    VALIDATING = "validating"
    """There is one, and a new leader has to confirm that its log goes that far."""
    VALID = "valid"
    """There is one, and it can be read from."""


MOVES: Final[Mapping[FetchState, frozenset[FetchState]]] = MappingProxyType(
    {
        FetchState.NEW: frozenset(
            {FetchState.RESETTING, FetchState.VALIDATING, FetchState.VALID}
        ),
        FetchState.RESETTING: frozenset(
            {FetchState.RESETTING, FetchState.VALIDATING, FetchState.VALID}
        ),
        FetchState.VALIDATING: frozenset(
            {FetchState.VALIDATING, FetchState.VALID, FetchState.RESETTING}
        ),
        FetchState.VALID: frozenset(
            {FetchState.VALID, FetchState.VALIDATING, FetchState.RESETTING}
        ),
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


def after(record: Handed) -> Position:
    """The position after a record."""
    return Position(record.offset + 1, record.leader_epoch)


class PositionState(AssignedState):
    """Row of one assigned partition, with its position.

    Methods about done records and committed offsets are for a row that keeps these
    (`CommittableState`).

    Attributes:
        ticket: Grows with everything that makes an answer under way worthless: a
            seek, a reset, a validation. Who asks notes it, and an answer with an
            older one is dropped.
        place: Replaced by everything after which reading goes on elsewhere: an assignment, a
            seek, a reset. It stays when another leader has to confirm the position.
        position: The next offset to fetch; None while it is not known.
        hand: The records lent to an iteration; the last one handed out gives `returned`, so
            that no position is made for each record.
        reset: Where to, while it is RESETTING.
        unread: True until a fetch from the position, as placed, is answered: only a fetch goes
            by the topic's id, and so proves the topic of the position.
        sought: The last place set by the user or a policy; None for the group's committed
            offset.
        paused: True if the user has paused it.
        stuck: True if a poll has to raise an error of fetching first.
        confirmed_in: The leader epoch that confirmed the position; None without one.
        asked: True if `poll` has asked for the position under this ticket, and the search has
            not given up.
        end: Where the log ends, as far as we have heard; for the lag.
        end_asked: True while that is being looked up.
        written: Where it ends regardless of transactions that are open, as far as we have
            heard; None for who does not wait for these.
        held_by: The first of these transactions, as its leader described it last.
        start: Where the log begins, as far as we have heard.
        stop: The offset before which reading ends, of a range; None for no such end.
        began: Where reading began, by the group, by a policy or by the user; None while that is
            not known.
        end_met: The offset from which a broker was asked and had nothing more; None before.
    """

    __slots__ = (
        "_returned",
        "asked",
        "began",
        "confirmed_in",
        "end",
        "end_asked",
        "end_met",
        "hand",
        "held_by",
        "paused",
        "place",
        "position",
        "reset",
        "sought",
        "standing",
        "start",
        "stop",
        "stuck",
        "ticket",
        "unread",
        "written",
    )

    def __init__(self, ticket: int) -> None:
        super().__init__(ticket)
        self.ticket: int = ticket
        self.asked: bool = False
        self.end_asked: bool = False
        self.end: int | None = None
        self.written: int | None = None
        self.held_by: OpenTransaction | None = None
        self.start: int | None = None
        self.stop: int | None = None
        self.standing: FetchState = FetchState.NEW
        self.place: object = object()
        self.position: Position | None = None
        self._returned: Position | None = None
        self.hand: Hand | None = None
        self.confirmed_in: int | None = None
        self.reset: OffsetReset | None = None
        self.unread: bool = True
        self.sought: Position | OffsetReset | None = None
        self.paused: bool = False
        self.stuck: bool = False
        self.began: int | None = None
        self.end_met: int | None = None

    def recreated(self, topic: UUID) -> "PositionState":
        """The row for another topic of the same name, from the beginning.

        Args:
            topic: The other topic's id.
        """
        fresh = type(self)(self.ticket)
        fresh.topic = topic
        fresh.giving_up, fresh.awaiting = self.giving_up, self.awaiting
        fresh.told, fresh.paused = self.told, self.paused
        if self.stop is not None:
            # Nothing more comes of a range; its reader is told so, and has to find it.
            fresh.stop, fresh.born = self.stop, self.born
        return fresh

    @property
    def is_behind(self) -> bool:
        """True if the log is known to have records that have not been returned."""
        at = self.returned
        return at is not None and self.end is not None and at.offset < self.end

    @property
    def held_back(self) -> int:
        """Number of offsets known to be held back by open transactions."""
        if self.written is None or self.end is None:
            return 0
        return max(0, self.written - self.end)

    @property
    def returned(self) -> Position | None:
        """Return the next offset after the last record given to the user."""
        last = None if self.hand is None else self.hand.last
        return self._returned if last is None else after(last)

    @returned.setter
    def returned(self, position: Position | None) -> None:
        self._returned = position
        self.hand = None

    @property
    def in_hand(self) -> Handed | None:
        """The record that the user works on, in an iteration."""
        hand = self.hand
        return None if hand is None or not hand.in_hand else hand.last

    def put_down(self) -> None:
        """Mark the record in hand as done."""
        if self.hand is not None:
            self.hand.in_hand = False

    def hand_out(self, record: Handed, hand: Hand) -> None:
        """The user is given one more record."""
        if self.hand is not hand:
            self.returned = self.returned
            self.hand = hand
        hand.give(record)

    @property
    def missing(self) -> bool:
        """True if reading needs an answer of a broker first."""
        return self.standing is not FetchState.VALID

    @property
    def done(self) -> Position | None:
        """The offset to commit: one past the last record that is done."""
        hand = self.hand
        if hand is None or not hand.in_hand:
            return self.returned
        before = hand.before
        return self._returned if before is None else after(before)

    @property
    def awaits_answer(self) -> bool:
        """True while `poll` awaits its position."""
        return self.missing and self.asked

    def lose(self) -> None:
        """Give it up at once, and leave nothing of it to be committed."""
        super().lose()
        self.forget_done()

    # --- for rows with commits ---------------------------------------------------------

    def forget_done(self) -> None:
        """Forget done records: reading goes on elsewhere."""

    def set_committed(self, offset: int | None) -> None:
        """Note the committed offset; None where reading may go back behind it."""

    def cut_back(self, offset: int) -> None:
        """Forget done and committed offsets beyond an offset: it is read again."""

    def track(self, handed: ReturnedRuns) -> None:
        """Track further records given to the user."""

    def untrack(self, offset: int) -> None:
        """Track records from an offset on no longer: the user has not got them."""

    # --- reading -----------------------------------------------------------------------

    @property
    def fetchable(self) -> bool:
        """True if more may be fetched."""
        return (
            self.standing is FetchState.VALID
            and not self.paused
            and not self.stuck
            and not self.is_held_back
            and not self._ends_here
        )

    @property
    def _ends_here(self) -> bool:
        """True if the whole range has been fetched."""
        position, stop = self.position, self.stop
        return position is not None and stop is not None and position.offset >= stop

    @property
    def unconfirmed(self) -> Position | None:
        """The position that a leader has to validate; None if there is none."""
        return self.position if self.standing is FetchState.VALIDATING else None

    def settle(self, position: Position, confirmed_in: int | None = None) -> None:
        """Set the position, valid from now on."""
        self._move(FetchState.VALID)
        self.position = self.returned = position
        self.confirmed_in = confirmed_in
        self.reset = self.end_met = None
        # A log that was cut back may end before the place where reading began.
        if self.began is None or position.offset < self.began:
            self.began = position.offset

    def seek(self, position: Position) -> None:
        """Set the position where the user wants it."""
        self.place = object()
        self.began = None
        self.set_committed(None)
        self.settle(position)
        self.unread, self.sought = True, position
        if position.epoch is not None:
            self.need_validation()

    def need_reset(self, reset: OffsetReset) -> None:
        """The position is to be looked up by a policy; the old one counts no more."""
        if self.standing is not FetchState.NEW:
            self.forget_done()
        self.place = object()
        self._move(FetchState.RESETTING)
        self.position = self.returned = None
        self.began = self.end_met = None
        self.set_committed(None)
        self.unread, self.sought = True, reset
        self.reset = reset

    def go_back(self, position: Position) -> None:
        """Go back to an earlier position of the same place, which a leader may doubt now."""
        is_doubted = self.standing is FetchState.VALIDATING
        self.settle(position, self.confirmed_in)
        if is_doubted and position.epoch is not None:
            self.need_validation()
        self.untrack(position.offset)

    def need_validation(self) -> None:
        """Have a leader validate the position.

        Reading goes on after the last record given to the user, not after the last one fetched:
        that may be of a log that has been cut back since.
        """
        self._move(FetchState.VALIDATING)
        self.position = self.returned

    def fall_back(self, confirmed_in: int | None) -> None:
        """Go on after the last returned record, unvalidated: it has no epoch to compare."""
        self._move(FetchState.VALID)
        self.position = self.returned
        self.confirmed_in = confirmed_in

    def validated(self, confirmed_in: int | None) -> None:
        """Mark the position as validated in a leader epoch."""
        self._move(FetchState.VALID)
        self.confirmed_in = confirmed_in

    def _move(self, standing: FetchState) -> None:
        if standing not in MOVES[self.standing]:
            raise AssertionError(
                f"a partition does not go from {self.standing.value} to {standing.value}"
            )
        self.standing = standing

    def __repr__(self) -> str:
        where = "nowhere" if self.position is None else f"at {self.position.offset}"
        return f"PositionState({self.standing.value}, {where}{', paused' * self.paused})"
