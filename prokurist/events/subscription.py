"""What the consumer reads, and how far it has come: shared by both threads.

Thread: both, under `_lock`, which is held for a few assignments and never while
anything is called. Every method is one such step; what it returns is a copy.

The application thread assigns, seeks, pauses and takes note of what it returned;
the network thread asks what is missing and settles it. A settled answer is bound
to the ticket under which it was asked: if the user has sought elsewhere or
assigned anew in the meantime, it is dropped, and `settle` says so.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.assignment import AssignedPartition, PositionRequest, SubscribedTopic
from prokurist.events.fetching import Fetching
from prokurist.events.group_assignment import GroupAssignment
from prokurist.events.partition_state import FetchState, PartitionState, Position
from prokurist.events.position_validation import PositionValidation
from prokurist.events.stored_offsets import StoredOffsets
from prokurist.types import TopicPartition


class Place(NamedTuple):
    """Where an assigned partition stands; None is what is not known.

    Attributes:
        partition: Which.
        position: The next offset after what the user has done with.
        start: Where its log begins.
        end: Where its log ends.
        paused: Whether the user wants nothing of it for now.
    """

    partition: TopicPartition
    position: int | None
    start: int | None
    end: int | None
    paused: bool


class Survey(NamedTuple):
    """What is read, and what is known of its positions.

    Attributes:
        subscribed: Whether topics are subscribed to.
        topics: The topics of what is assigned, and those that are subscribed to.
        assigned: What is assigned.
        read: What of it is neither paused nor about to be given back.
        unplaced: What of that has no position that can be read from.
        behind: What of that has records that have not been returned, as far as is known.
    """

    subscribed: bool
    topics: frozenset[str]
    assigned: frozenset[TopicPartition]
    read: frozenset[TopicPartition]
    unplaced: frozenset[TopicPartition]
    behind: frozenset[TopicPartition]


class Subscription(PositionValidation, Fetching, GroupAssignment, StoredOffsets):
    """See the module.

    Args:
        policy: `auto.offset.reset`.
        stores: Whether commits commit what is stored, and not what is returned.
    """

    def __init__(self, policy: OffsetReset, *, stores: bool = False) -> None:
        super().__init__(policy)
        self.stores = stores

    # --- the application thread ------------------------------------------------------

    def assign(self, partitions: Collection[TopicPartition]) -> bool:
        """Read these and no others; those that stay keep their place.

        Returns:
            Whether that changes anything.

        Raises:
            IllegalStateException: Topics are subscribed to.
        """
        with self._lock:
            if self._subscribed is not None:
                raise IllegalStateException(
                    "assign while topics are subscribed to: one consumer does one or the "
                    "other; call unsubscribe() before"
                )
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

    def begin_range(self, tp: TopicPartition, start: int, stop: int) -> int:
        """Read a range of one partition, and nothing else.

        Returns:
            The ticket of its assignment.

        Raises:
            IllegalStateException: Something is read already.
        """
        with self._lock:
            if self._subscribed is not None or self._partitions:
                raise IllegalStateException(
                    f"read_range of {tp} with a consumer that reads something else: call "
                    f"unsubscribe() before, or read the range with a consumer of its own"
                )
            state = PartitionState(self._ticket())
            state.stop = stop
            state.settle(Position(start))
            self._partitions = {tp: state}
            self._generation += 1
            return state.born

    def end_range(self, tp: TopicPartition, born: int) -> None:
        """Read it no more, if it is read yet."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.born == born:
                self._partitions = {}
                self._generation += 1

    def place_in_range(self, tp: TopicPartition, born: int) -> int | None:
        """Up to where a range was returned; None when it is not read any more."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is None or state.born != born or state.returned is None:
                return None
            return state.returned.offset

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
            state.forget_done()
            state.settle(position)
            if position.epoch is not None:
                state.need_validation()

    def seek_by(self, partitions: Iterable[TopicPartition], reset: OffsetReset) -> None:
        """Read on from where a policy says; it is looked up when it is needed.

        Raises:
            IllegalStateException: A partition is not assigned; none has moved then.
        """
        with self._lock:
            states = [self._assigned(tp, "seek") for tp in partitions]
            for state in states:
                self._renew(state)
                state.forget_done()
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
        """The next offset after what the user has done with; None while it is not known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self._assigned(tp, "position")
            if state.done is None or state.standing is not FetchState.VALID:
                return None
            return state.done.offset

    def ask_missing(self) -> bool:
        """Take note that `poll` asks for all positions that are missing or unconfirmed.

        Returns:
            Whether it has to: False while each of them has been asked for, and
            nobody has given up.
        """
        with self._lock:
            unasked = [
                state
                for state in self._partitions.values()
                if state.missing and not state.asked and not state.is_held_back
            ]
            for state in unasked:
                state.asked = True
            return bool(unasked)

    def ask_again(self) -> None:
        """Perhaps nobody has asked for what is noted as asked for: whoever is next does."""
        with self._lock:
            for state in self._partitions.values():
                # What was asked for all the same is dropped with the assignment.
                self._stale = self._stale or (state.missing and state.asked)
                state.asked = state.end_asked = False

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
            if state.done is None:
                return None, None
            return max(0, state.end - state.done.offset), None

    def at_end(self, partitions: Collection[TopicPartition]) -> bool:
        """Whether all that logs held when they were last heard of was returned.

        Args:
            partitions: Which; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        with self._lock:
            states = [
                self._assigned(tp, "at_end") for tp in partitions or tuple(self._partitions)
            ]
            return bool(states) and all(
                state.end is not None
                and (place := state.returned) is not None
                and state.standing is FetchState.VALID
                and place.offset >= state.end
                for state in states
            )

    # --- the network thread ----------------------------------------------------------

    def wanted(self) -> list[PositionRequest]:
        """Which positions have to be looked up, or confirmed."""
        with self._lock:
            return [
                PositionRequest(tp, state.ticket, state.reset, state.unconfirmed)
                for tp, state in self._partitions.items()
                if state.missing
            ]

    def still_wanted(
        self, wanted: PositionRequest | AssignedPartition | SubscribedTopic
    ) -> bool:
        """Whether an answer would be of use; or whether what is held is held yet."""
        with self._lock:
            if isinstance(wanted, SubscribedTopic):
                asked = self._subscribed
                return (
                    asked is not None
                    and asked.term == wanted.term
                    and wanted.topic in asked.topics
                )
            if isinstance(wanted, AssignedPartition):
                state = self._partitions.get(wanted.partition)
                return state is not None and state.born == wanted.born
            state = self._current(wanted.partition, wanted.ticket)
            return state is not None and state.missing

    def topics(self) -> frozenset[str]:
        """The topics of what is assigned, and those that are subscribed to."""
        with self._lock:
            asked = self._subscribed
            topics = frozenset(tp.topic for tp in self._partitions)
            return topics if asked is None else topics | asked.topics

    def held(self, topics: Collection[str]) -> frozenset[AssignedPartition | SubscribedTopic]:
        """What is assigned of some topics, and which of them are subscribed to."""
        with self._lock:
            asked = self._subscribed
            held: set[AssignedPartition | SubscribedTopic] = {
                AssignedPartition(tp, state.born)
                for tp, state in self._partitions.items()
                if tp.topic in topics
            }
            if asked is not None:
                held.update(
                    SubscribedTopic(each, asked.term) for each in asked.topics & set(topics)
                )
            return frozenset(held)

    def given_up(self, wanted: Iterable[PositionRequest]) -> bool:
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

    def settle(
        self, wanted: PositionRequest, position: Position, confirmed_in: int | None = None
    ) -> bool:
        """The leader has said where reading goes on; False when nobody wants it any more.

        Args:
            wanted: What was asked for.
            position: The answer.
            confirmed_in: The leader epoch in which it was given, where it is known.
        """
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.settle(position, confirmed_in)
            self._settled += 1
            return True

    def need_reset(self, wanted: PositionRequest, reset: OffsetReset) -> bool:
        """Nothing was found; the policy has to say. False when nobody wants it any more."""
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.need_reset(reset)
            return True

    # --- readers on any thread ---------------------------------------------------------

    def survey(self) -> Survey:
        """What is read, and what is known of its positions."""
        with self._lock:
            asked = self._subscribed
            states = self._partitions
            read = {
                tp: state
                for tp, state in states.items()
                if not (state.paused or state.giving_up)
            }
            topics = frozenset(tp.topic for tp in states)
            return Survey(
                asked is not None,
                topics if asked is None else topics | asked.topics,
                frozenset(states),
                frozenset(read),
                frozenset(tp for tp, state in read.items() if state.missing or state.awaiting),
                frozenset(
                    tp
                    for tp, state in read.items()
                    if (at := state.returned) is not None
                    and state.end is not None
                    and at.offset < state.end
                ),
            )

    def places(self, partitions: Iterable[TopicPartition]) -> list[Place]:
        """Where some partitions stand; those that are assigned no more are left out.

        The lock is held for all of them: whoever asks for many asks for some at a time.
        """
        with self._lock:
            return [
                Place(
                    tp,
                    None if done is None else done.offset,
                    state.start,
                    state.end,
                    state.paused,
                )
                for tp in partitions
                if (state := self._partitions.get(tp)) is not None
                for done in (state.done,)
            ]

    @property
    def generation(self) -> int:
        """Grows with each new assignment."""
        return self._generation

    def __repr__(self) -> str:
        with self._lock:
            valid = sum(
                state.standing is FetchState.VALID for state in self._partitions.values()
            )
            return f"Subscription({len(self._partitions)} assigned, {valid} with a position)"
