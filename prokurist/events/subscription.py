"""Subscription of a consumer, with the positions of its partitions: shared by both threads.

Thread: both, under `_lock`, held for a few assignments and never while anything is called.
Every method is one such step, and returns copies.

The application thread assigns, seeks, pauses and counts returned records; the network thread
takes missing positions and settles them. A settled answer is bound to the ticket of its
request: after a seek or another assignment in the meantime it is dropped, and `settle` returns
False.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.assignment import AssignedPartition, PositionRequest, SubscribedTopic
from prokurist.events.fetching import Fetching
from prokurist.events.group_assignment import GroupAssignment
from prokurist.events.partition_state import FetchState, PartitionState, Position
from prokurist.events.position_validation import PositionValidation
from prokurist.events.stored_offsets import StoredOffsets
from prokurist.types import PartitionProgress, TopicPartition


class Place(NamedTuple):
    """Offsets of an assigned partition; None for unknown ones.

    Attributes:
        partition: The partition.
        position: The offset after the last record that is done.
        start: Where its log begins.
        end: Where its log ends.
        committed: What the group has committed.
        topic: The id of its topic.
        paused: Whether the user wants nothing of it for now.
    """

    partition: TopicPartition
    position: int | None
    start: int | None
    end: int | None
    committed: int | None
    topic: UUID | None
    paused: bool


class Survey(NamedTuple):
    """Assigned partitions, sorted by obstacles to reading them.

    Attributes:
        subscribed: True with a subscription to topics.
        topics: The topics of assigned partitions, and those of the subscription.
        assigned: The assigned partitions.
        read: Those neither paused nor about to be revoked.
        unplaced: Of these, those without a valid position.
        unanswered: Of these, those without an answered fetch or a known end.
        behind: Of these, those known to have records not yet returned.
        held_back: Offsets of these held back by open transactions.
    """

    subscribed: bool
    topics: frozenset[str]
    assigned: frozenset[TopicPartition]
    read: frozenset[TopicPartition]
    unplaced: frozenset[TopicPartition]
    unanswered: frozenset[TopicPartition]
    behind: frozenset[TopicPartition]
    held_back: Mapping[TopicPartition, int]


class Subscription(PositionValidation, Fetching, GroupAssignment, StoredOffsets):
    """Subscription of a consumer: assigned partitions, with their positions and states.

    Args:
        policy: `auto.offset.reset`.
        stores: True if commits take stored offsets, not returned positions.
    """

    def __init__(self, policy: OffsetReset, *, stores: bool = False) -> None:
        super().__init__(policy)
        self.stores = stores

    # --- the application thread ------------------------------------------------------

    def assign(self, partitions: Collection[TopicPartition]) -> bool:
        """Assign these partitions and no others; those that stay keep their positions.

        Returns:
            True if that changes anything.

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
        """Unassign a range, if it is still assigned."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.born == born:
                self._partitions = {}
                self._generation += 1

    def place_in_range(self, tp: TopicPartition, born: int) -> int | None:
        """The offset up to which a range was returned; None if it is no longer read."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is None or state.born != born or state.returned is None:
                return None
            return state.returned.offset

    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that are assigned now."""
        with self._lock:
            return frozenset(self._partitions)

    def seek(self, tp: TopicPartition, position: Position) -> None:
        """Set the position of a partition.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self._assigned(tp, "seek")
            self._renew(state)
            state.forget_done()
            state.seek(position)

    def seek_by(self, partitions: Iterable[TopicPartition], reset: OffsetReset) -> None:
        """Have a policy place the position, looked up when it is needed.

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
        """Pause partitions, or resume them.

        Raises:
            IllegalStateException: A partition is not assigned; nothing has changed then.
        """
        with self._lock:
            states = [self._assigned(tp, "pause" if paused else "resume") for tp in partitions]
            for state in states:
                state.paused = paused

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        with self._lock:
            return frozenset(tp for tp, state in self._partitions.items() if state.paused)

    def position(self, tp: TopicPartition) -> int | None:
        """The offset after the last processed record; None while it is not known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self._assigned(tp, "position")
            if state.done is None or state.standing is not FetchState.VALID:
                return None
            return state.done.offset

    def ask_missing(self) -> bool:
        """Note that `poll` asks for all positions that are missing or not validated.

        Returns:
            True to ask: False while each of them has been asked for, and no search has given
            up.
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
        """Forget requested positions, so that the next poll asks again."""
        with self._lock:
            for state in self._partitions.values():
                # What was asked for all the same is dropped with the assignment.
                self._stale = self._stale or (state.missing and state.asked)
                state.asked = state.end_asked = False

    def take_stale(self) -> bool:
        """Return True once if an answer that `poll` asked for has become stale."""
        with self._lock:
            stale, self._stale = self._stale, False
            return stale

    def lag(self, tp: TopicPartition) -> tuple[int | None, int | None]:
        """The offsets up to the log's end; and a ticket if the end has to be looked up.

        The caller that gets the ticket asks; there is no other until the answer has come.

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
        """Return True if all records up to the last known log ends were returned.

        Args:
            partitions: The partitions; all assigned ones if empty.

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

    def progress(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, PartitionProgress]:
        """How far partitions have come.

        Args:
            partitions: Which; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        with self._lock:
            return {
                tp: self._assigned(tp, "progress").progress
                for tp in partitions or tuple(self._partitions)
            }

    # --- the network thread ----------------------------------------------------------

    def wanted(self) -> list[PositionRequest]:
        """The positions that have to be looked up or validated."""
        with self._lock:
            return [
                PositionRequest(tp, state.ticket, state.reset, state.unconfirmed)
                for tp, state in self._partitions.items()
                if state.missing
            ]

    def still_wanted(
        self, wanted: PositionRequest | AssignedPartition | SubscribedTopic
    ) -> bool:
        """True if a ticket or an assignment is still current."""
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
        """The topics of assigned partitions, and those subscribed to."""
        with self._lock:
            asked = self._subscribed
            topics = frozenset(tp.topic for tp in self._partitions)
            return topics if asked is None else topics | asked.topics

    def held(self, topics: Collection[str]) -> frozenset[AssignedPartition | SubscribedTopic]:
        """Return assigned partitions of some topics, and those of the topics subscribed to."""
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
        """Note that the search for these has ended: the next `poll` may ask again.

        Returns:
            True if one of them is still missing.
        """
        with self._lock:
            states = [self._current(each.partition, each.ticket) for each in wanted]
            left = [state for state in states if state is not None and state.missing]
            for state in left:
                state.asked = False
            return bool(left)

    def end_wanted(self, tp: TopicPartition, born: int) -> bool:
        """True if a log end that is being looked up would still be used."""
        with self._lock:
            state = self._partitions.get(tp)
            return state is not None and state.born == born

    def end_found(self, tp: TopicPartition, born: int, end: int | None) -> None:
        """Set a log's end; None when it could not be looked up."""
        with self._lock:
            state = self._partitions.get(tp)
            if state is not None and state.born == born:
                state.end_asked = False
                if end is not None:
                    state.end = end

    def settle(
        self, wanted: PositionRequest, position: Position, confirmed_in: int | None = None
    ) -> bool:
        """Set the position that the leader has confirmed; False if its ticket is old.

        Args:
            wanted: The request.
            position: The answer.
            confirmed_in: The leader epoch of the answer, where known.
        """
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.settle(position, confirmed_in)
            self._settled += 1
            return True

    def need_reset(self, wanted: PositionRequest, reset: OffsetReset) -> bool:
        """Have the reset policy decide, since nothing was found. False if its ticket is old."""
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.need_reset(reset)
            return True

    # --- readers on any thread ---------------------------------------------------------

    def survey(self) -> Survey:
        """Sort the assigned partitions by obstacles to reading them."""
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
                    tp for tp, state in read.items() if state.end is None and state.unread
                ),
                frozenset(tp for tp, state in read.items() if state.is_behind),
                {tp: held for tp, state in read.items() if (held := state.held_back)},
            )

    def places(self, partitions: Iterable[TopicPartition]) -> list[Place]:
        """The offsets of some partitions; those no longer assigned are left out.

        The lock is held for all of them: ask for many in portions.
        """
        with self._lock:
            return [
                Place(
                    tp,
                    None if done is None else done.offset,
                    state.start,
                    state.end,
                    state.group_offset,
                    state.topic,
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
