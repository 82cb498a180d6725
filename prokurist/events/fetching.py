"""Fetch positions and returned positions of the assigned partitions.

Thread: both, under the lock of the `Assigned` with these rows; see `positions`.

`position` runs ahead: the next fetch begins there, and the network thread moves it with each
answer. `returned` follows: it is the user's place, and the application thread moves it with the
records it returns. Both count under one ticket, so a seek, a reset or a validation ends
everything in between at once. `in_hand` stays one record behind, in an iteration: commits go
that far.
"""

from enum import Enum

from prokurist.events.hand import Hand, Handed
from prokurist.events.position_state import FetchState, Position, PositionState, ReturnedRuns
from prokurist.events.positions import Positions
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Wish:
    """A fetchable partition, with its offset and ticket.

    Attributes:
        ticket: Answers count only under this ticket.
        position: Where to fetch from.
        stop: End of its range, exclusive; None without one.
    """

    partition: TopicPartition
    ticket: int
    position: Position
    stop: int | None = None


class Use(Enum):
    """Permitted uses of fetched data."""

    RETURN = "to be returned"
    KEEP = "kept: its partition is paused, or its position is being validated"
    DROP = "for nothing: reading goes on elsewhere, or the group gets its partition back"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A position of the user's to go back to.

    Attributes:
        place: Where reading went on; see `PartitionState`.
        position: The end of what was returned.
    """

    place: object
    position: Position


class Fetching:
    """Moves the positions past fetched records, and past returned ones.

    Args:
        positions: The positions.

    Attributes:
        positions: See above.
    """

    def __init__(self, positions: Positions) -> None:
        self.positions: Positions = positions
        self._assigned = positions.assigned
        self._lock = positions.assigned.lock
        self._wishes: dict[TopicPartition, Wish] = {}

    # --- the network thread ----------------------------------------------------------

    def fetchable(self) -> list[Wish]:
        """The partitions that may be fetched, in the order of the assignment.

        A wish that is the same as before is the same object.
        """
        with self._lock:
            if len(self._wishes) > len(self._assigned.rows):
                self._wishes = {
                    tp: wish for tp, wish in self._wishes.items() if tp in self._assigned.rows
                }
            return [
                self._wish(tp, state, state.position)
                for tp, state in self._assigned.rows.items()
                if state.fetchable and state.position is not None
            ]

    def fetched(
        self,
        wish: Wish,
        after: Position | None,
        *,
        end: int | None = None,
        written: int | None = None,
        start: int | None = None,
        leader_epoch: int | None = None,
    ) -> bool:
        """Move the position to where an answer ends, and note its log's offsets.

        Args:
            wish: The request.
            after: Where the next fetch begins; None where nothing came.
            end: Where the log ends, as the leader said.
            written: Where it ends regardless of transactions that are open; None where
                these are not waited for.
            start: Where it begins.
            leader_epoch: The leader epoch of the request; the position counts as confirmed in
                it.

        Returns:
            False when its ticket is no longer current.
        """
        with self._lock:
            state = self._awaited(wish)
            if state is None:
                return False
            state.unread = False
            if end is not None:
                if end != state.end:
                    state.held_by = None
                state.end, state.written = end, written
            if start is not None:
                state.start = start
            if after is not None:
                state.position = after
                state.confirmed_in = leader_epoch
            elif state.end == wish.position.offset:
                state.end_met = state.end
            return True

    def stick(self, wish: Wish) -> bool:
        """Fetch no more of it until a poll has raised the error; False if its ticket is old."""
        with self._lock:
            state = self._awaited(wish)
            if state is None:
                return False
            state.stuck = True
            return True

    def in_hand(self) -> tuple[TopicPartition, int] | None:
        """The offset of the record that an iteration has in hand; None if there is none."""
        with self._lock:
            for tp, state in self._assigned.rows.items():
                if (record := state.in_hand) is not None:
                    return tp, record.offset
        return None

    # --- the application thread ------------------------------------------------------

    def use_of(self, tp: TopicPartition, ticket: int) -> Use:
        """Return the permitted use of data fetched under a ticket."""
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is None or state.ticket != ticket or state.giving_up:
                return Use.DROP
            if state.paused or state.awaiting or state.standing is not FetchState.VALID:
                return Use.KEEP
            return Use.RETURN

    def advance(
        self,
        tp: TopicPartition,
        ticket: int,
        returned: Position,
        *,
        has_it: bool = False,
        handed: ReturnedRuns = (),
    ) -> bool:
        """Count records as returned; False if they must not be.

        Args:
            tp: The partition.
            ticket: The ticket of the fetch.
            returned: How far it goes.
            has_it: True if the user has it already, and is done with it.
            handed: The records in it, where they are tracked.
        """
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is None or state.ticket != ticket:
                return False
            if state.is_held_back and not has_it:
                return False
            if handed and state.stop is None:
                state.track(handed)
            state.returned = returned
            return True

    def bookmark(self, tp: TopicPartition, ticket: int) -> Bookmark | None:
        """The end of what was returned, to go back to; None if a ticket is not current."""
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is None or state.ticket != ticket or state.returned is None:
                return None
            return Bookmark(state.place, state.returned)

    def take_back(self, tp: TopicPartition, bookmark: Bookmark) -> None:
        """Move the returned position back, since the records were not returned after all.

        Nothing happens where reading has gone on elsewhere, or a log that was cut back has it
        go on before. Another leader meanwhile changes nothing: it is asked about the position
        that reading goes back to.
        """
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is None or state.place is not bookmark.place or state.returned is None:
                return
            if bookmark.position.offset < state.returned.offset:
                self.positions.renew(state)
                state.go_back(bookmark.position)

    def hand_out(self, tp: TopicPartition, ticket: int, record: Handed, hand: Hand) -> bool:
        """Give the user one record, and count the one before; False when he must not have it.

        The user has it from this moment: a new leader of the partition does not bring it again.
        Further records in the same hand may follow without a look here, until `steady` is
        cleared.
        """
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is None:
                return False
            state.put_down()
            if (
                state.ticket != ticket
                or state.paused
                or state.is_held_back
                or state.standing is not FetchState.VALID
            ):
                return False
            if self.positions.is_tracked:
                state.track((((record.offset,), record.leader_epoch),))
            state.hand_out(record, hand)
            if not self.positions.is_tracked:
                # Last: an interrupt before it leaves no quick step to make.
                self._assigned.steady.on()
            return True

    def done_with(self, tp: TopicPartition) -> None:
        """Count the record in hand as processed: the user has asked for the next."""
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is not None:
                state.put_down()

    def unstick(self, tp: TopicPartition, ticket: int) -> None:
        """Allow a partition to be fetched again, after a poll has raised its error."""
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is not None and state.ticket == ticket:
                state.stuck = False

    def reset(self, tp: TopicPartition, ticket: int) -> None:
        """Have the policy place a position that is not in the log."""
        with self._lock:
            state = self._assigned.rows.get(tp)
            if state is not None and state.ticket == ticket:
                self.positions.renew(state)
                state.need_reset(self.positions.policy_by(state))

    # --- inside: the lock is held ----------------------------------------------------

    def _wish(self, tp: TopicPartition, state: PositionState, position: Position) -> Wish:
        wish = self._wishes.get(tp)
        if (
            wish is None
            or wish.position is not position
            or wish.ticket != state.ticket
            or wish.stop != state.stop
        ):
            wish = self._wishes[tp] = Wish(tp, state.ticket, position, state.stop)
        return wish

    def _awaited(self, wish: Wish) -> PositionState | None:
        """The state of a wish's partition, if its ticket is current."""
        state = self._assigned.rows.get(wish.partition)
        if state is None or state.ticket != wish.ticket or state.position != wish.position:
            return None
        return state

    def __repr__(self) -> str:
        return f"Fetching({self.positions})"
