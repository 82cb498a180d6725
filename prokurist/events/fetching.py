"""What may be fetched, and how far it has been returned: a part of `Subscription`.

Thread: both, under the subscription's lock, like all of it.

`position` runs ahead: it is where the next fetch begins, and the network thread
moves it with each answer. `returned` follows: it is where the user stands, and the
application thread moves it with what it returns. Both count under one ticket, so a
seek, a reset or a validation ends everything in between at once. `in_hand` stays one
record behind, in an iteration: commits go that far.
"""

from dataclasses import dataclass
from enum import Enum

from prokurist.config import OffsetReset
from prokurist.events.assignment import Assignment
from prokurist.events.partition_state import FetchState, Handed, PartitionState, Position
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Wish:
    """A partition that may be fetched, from which offset on, under which ticket.

    Attributes:
        ticket: What is answered counts only under this one.
        position: Where to fetch from.
        stop: The offset before which its range ends; None where it has no end.
    """

    partition: TopicPartition
    ticket: int
    position: Position
    stop: int | None = None


class Use(Enum):
    """What fetched data may be used for."""

    RETURN = "to be returned"
    KEEP = "kept: its partition is paused, or its position is being validated"
    DROP = "for nothing: reading goes on elsewhere, or the group gets its partition back"


class Fetching(Assignment):
    """The part of `Subscription` that says what may be fetched, and what was returned.

    Args:
        policy: `auto.offset.reset`.
    """

    def __init__(self, policy: OffsetReset) -> None:
        super().__init__(policy)
        self._wishes: dict[TopicPartition, Wish] = {}

    # --- the network thread ----------------------------------------------------------

    def fetchable(self) -> list[Wish]:
        """The partitions that may be fetched, in the order of the assignment.

        A wish that is the same as before is the same object.
        """
        with self._lock:
            if len(self._wishes) > len(self._partitions):
                self._wishes = {
                    tp: wish for tp, wish in self._wishes.items() if tp in self._partitions
                }
            return [
                self._wish(tp, state, state.position)
                for tp, state in self._partitions.items()
                if state.fetchable and state.position is not None
            ]

    def fetched(
        self,
        wish: Wish,
        after: Position | None,
        *,
        end: int | None = None,
        start: int | None = None,
        leader_epoch: int | None = None,
    ) -> bool:
        """Move the position to where an answer ends, and note its log's offsets.

        Args:
            wish: What was asked for.
            after: Where the next fetch begins; None where nothing came.
            end: Where the log ends, as the leader said.
            start: Where it begins.
            leader_epoch: The epoch in which it was asked; the position counts as
                confirmed in it.

        Returns:
            False when its ticket is no longer current.
        """
        with self._lock:
            state = self._awaited(wish)
            if state is None:
                return False
            if end is not None:
                state.end = end
            if start is not None:
                state.start = start
            if after is not None:
                state.position = after
                state.confirmed_in = leader_epoch
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
            for tp, state in self._partitions.items():
                if state.in_hand and state.last is not None:
                    return tp, state.last.offset
        return None

    # --- the application thread ------------------------------------------------------

    def use_of(self, tp: TopicPartition, ticket: int) -> Use:
        """What data fetched under a ticket may be used for."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is None or state.ticket != ticket or state.giving_up:
                return Use.DROP
            if state.paused or state.awaiting or state.standing is not FetchState.VALID:
                return Use.KEEP
            return Use.RETURN

    def advance(
        self, tp: TopicPartition, ticket: int, returned: Position, *, has_it: bool = False
    ) -> bool:
        """Note what is returned to the user; False when it must not be returned.

        Args:
            tp: Of which partition.
            ticket: Under which it was fetched.
            returned: How far it goes.
            has_it: Whether it was returned already, and has been processed.
        """
        with self._lock:
            state = self._partitions.get(tp)
            if state is None or state.ticket != ticket:
                return False
            if state.is_held_back and not has_it:
                return False
            state.returned = returned
            return True

    def take_back(self, tp: TopicPartition, ticket: int, to: Position) -> None:
        """Move the returned position back, since the records were not returned after all."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.ticket == ticket:
                self._renew(state)
                state.settle(to)

    def hand_out(self, tp: TopicPartition, ticket: int, record: Handed) -> bool:
        """Return one record, and count the one before; False when it must not be returned.

        From this moment it counts as returned: a new leader does not bring it again.
        """
        with self._lock:
            state = self._partitions.get(tp)
            if state is None:
                return False
            state.in_hand = False
            if (
                state.ticket != ticket
                or state.paused
                or state.is_held_back
                or state.standing is not FetchState.VALID
            ):
                return False
            state.hand_out(record)
            return True

    def done_with(self, tp: TopicPartition) -> None:
        """Count the record in hand as processed: the user has asked for the next."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None:
                state.in_hand = False

    def unstick(self, tp: TopicPartition, ticket: int) -> None:
        """Allow a partition to be fetched again, after a poll has raised its error."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.ticket == ticket:
                state.stuck = False

    def reset(self, tp: TopicPartition, ticket: int) -> None:
        """Have the policy place a position that is not in the log."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.ticket == ticket:
                self._renew(state)
                state.need_reset(self._policy_of(state))

    # --- inside: the lock is held ----------------------------------------------------

    def _wish(self, tp: TopicPartition, state: PartitionState, position: Position) -> Wish:
        wish = self._wishes.get(tp)
        if (
            wish is None
            or wish.position is not position
            or wish.ticket != state.ticket
            or wish.stop != state.stop
        ):
            wish = self._wishes[tp] = Wish(tp, state.ticket, position, state.stop)
        return wish

    def _awaited(self, wish: Wish) -> PartitionState | None:
        """The state of a wish's partition, if its ticket is current."""
        state = self._partitions.get(wish.partition)
        if state is None or state.ticket != wish.ticket or state.position != wish.position:
            return None
        return state
