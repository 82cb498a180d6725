"""What the consumer reads, and how far it has come: shared by both threads.

Thread: both, under `_lock`, which is held for a few assignments and never while
anything is called. Every method is one such step; what it returns is a copy.

The application thread assigns, seeks, pauses and takes note of what it returned;
the network thread asks what is missing and settles it. A settled answer is bound
to the ticket under which it was asked: if the user has sought elsewhere or
assigned anew in the meantime, it is dropped, and `settle` says so.
"""

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.partition_state import PartitionState, Position, Standing
from prokurist.types import OffsetAndMetadata, TopicPartition


@dataclass(frozen=True, slots=True)
class Wanted:
    """A position that has to be looked up.

    Attributes:
        ticket: To give back with the answer.
        reset: Where to; None for what the group has committed.
    """

    partition: TopicPartition
    ticket: int
    reset: OffsetReset | None


class Subscription:
    """See the module.

    Args:
        policy: `auto.offset.reset`.
    """

    def __init__(self, policy: OffsetReset) -> None:
        self.policy = policy
        self._lock = threading.Lock()
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self._tickets = 0
        self._generation = 0
        self._stale = False

    # --- the application thread ------------------------------------------------------

    def assign(self, partitions: Collection[TopicPartition]) -> bool:
        """Read these and no others; those that stay keep their place.

        Returns:
            Whether that changes anything.
        """
        with self._lock:
            if partitions and set(partitions) == set(self._partitions):
                return False
            changed = bool(partitions) or bool(self._partitions)
            self._stale = self._stale or any(
                state.asked
                for tp, state in self._partitions.items()
                if state.missing and tp not in partitions
            )
            self._partitions = {
                tp: self._partitions.get(tp) or PartitionState(self._ticket())
                for tp in partitions
            }
            self._generation += 1
            return changed

    def assigned(self) -> frozenset[TopicPartition]:
        """What is read."""
        with self._lock:
            return frozenset(self._partitions)

    def seek(self, tp: TopicPartition, position: Position) -> None:
        """Read on from here.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self._assigned(tp, "seek")
            self._renew(state)
            state.settle(position)

    def seek_by(self, partitions: Iterable[TopicPartition], reset: OffsetReset) -> None:
        """Read on from where a policy says; it is looked up when it is needed.

        Raises:
            IllegalStateException: A partition is not assigned; none has moved then.
        """
        with self._lock:
            states = [self._assigned(tp, "seek") for tp in partitions]
            for state in states:
                self._renew(state)
                state.need_reset(reset)

    def pause(self, partitions: Iterable[TopicPartition], *, paused: bool) -> None:
        """Want no records of these for now, or want them again.

        Raises:
            IllegalStateException: A partition is not assigned; nothing has changed then.
        """
        with self._lock:
            states = [self._assigned(tp, "pause" if paused else "resume") for tp in partitions]
            for state in states:
                state.paused = paused

    def paused(self) -> frozenset[TopicPartition]:
        """What is paused."""
        with self._lock:
            return frozenset(tp for tp, state in self._partitions.items() if state.paused)

    def position(self, tp: TopicPartition) -> int | None:
        """The next offset to be returned; None while it is not known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self._assigned(tp, "position")
            if state.returned is None or state.standing is not Standing.VALID:
                return None
            return state.returned.offset

    def returned(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit without offsets commits: one past what the user was given."""
        with self._lock:
            return {
                tp: OffsetAndMetadata(state.returned.offset, "", state.returned.epoch)
                for tp, state in self._partitions.items()
                if state.returned is not None
            }

    def ask_missing(self) -> bool:
        """Take note that `poll` asks for all positions that are missing.

        Returns:
            Whether it has to: False while each of them has been asked for, and
            nobody has given up.
        """
        with self._lock:
            unasked = [
                state
                for state in self._partitions.values()
                if state.missing and not state.asked
            ]
            for state in unasked:
                state.asked = True
            return bool(unasked)

    def take_stale(self) -> bool:
        """Whether something that `poll` asked for has become worthless; asked once."""
        with self._lock:
            stale, self._stale = self._stale, False
            return stale

    def lag(self, tp: TopicPartition) -> tuple[int | None, int | None]:
        """How many offsets lie before the log's end; and if it has to be asked for, a ticket.

        Whoever gets the ticket asks: nobody gets another until there is an answer.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self._assigned(tp, "current_lag")
            if state.end is None:
                ticket = None if state.end_asked else state.born
                state.end_asked = True
                return None, ticket
            if state.returned is None:
                return None, None
            return max(0, state.end - state.returned.offset), None

    # --- the network thread ----------------------------------------------------------

    def wanted(self) -> list[Wanted]:
        """Which positions have to be looked up."""
        with self._lock:
            return [
                Wanted(tp, state.ticket, state.reset)
                for tp, state in self._partitions.items()
                if state.missing
            ]

    def still_wanted(self, wanted: Wanted) -> bool:
        """Whether an answer would be of use."""
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            return state is not None and state.missing

    def given_up(self, wanted: Iterable[Wanted]) -> bool:
        """Nobody looks for these any more: the next `poll` may ask again.

        Returns:
            Whether one of them is still missing.
        """
        with self._lock:
            states = [self._current(each.partition, each.ticket) for each in wanted]
            left = [state for state in states if state is not None and state.missing]
            for state in left:
                state.asked = False
            return bool(left)

    def end_wanted(self, tp: TopicPartition, born: int) -> bool:
        """Whether an answer for this assignment would be of use."""
        with self._lock:
            state = self._partitions.get(tp)
            return state is not None and state.born == born

    def end_found(self, tp: TopicPartition, born: int, end: int | None) -> None:
        """Where a log ends; None when that could not be found out."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.born == born:
                state.end_asked = False
                if end is not None:
                    state.end = end

    def settle(self, wanted: Wanted, position: Position) -> bool:
        """A position was found; False when nobody wants it any more."""
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.settle(position)
            return True

    def need_reset(self, wanted: Wanted, reset: OffsetReset) -> bool:
        """Nothing was found; the policy has to say. False when nobody wants it any more."""
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.need_reset(reset)
            return True

    @property
    def generation(self) -> int:
        """Grows with each new assignment."""
        return self._generation

    # --- inside: the lock is held ----------------------------------------------------

    def _ticket(self) -> int:
        self._tickets += 1
        return self._tickets

    def _renew(self, state: PartitionState) -> None:
        """What was asked about its position is worthless from now on."""
        self._stale = self._stale or (state.missing and state.asked)
        state.ticket = self._ticket()
        state.asked = False

    def _assigned(self, tp: TopicPartition, what: str) -> PartitionState:
        state = self._partitions.get(tp)
        if state is None:
            raise IllegalStateException(
                f"{what} of {tp}, which is not assigned to this consumer: assign it first"
            )
        return state

    def _current(self, tp: TopicPartition, ticket: int) -> PartitionState | None:
        state = self._partitions.get(tp)
        return state if state is not None and state.ticket == ticket else None

    def __repr__(self) -> str:
        with self._lock:
            valid = sum(state.standing is Standing.VALID for state in self._partitions.values())
            return f"Subscription({len(self._partitions)} assigned, {valid} with a position)"
