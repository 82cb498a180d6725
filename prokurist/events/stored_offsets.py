"""Offsets for commits without arguments, stored or tracked: a part of `Subscription`.

Thread: any, under the subscription's lock, like all of it. The user's workers report done
records from their own threads; everything else is the application thread's.

With `enable.auto.offset.store` the positions after returned records are committed. Without it,
the stored offsets are; or, where outstanding records are tracked, the offsets before the lowest
of them. Both stand in the state of the partition, and so go with it: a later report about a
revoked partition has no effect.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.outstanding import Tracking
from prokurist.events.partition_state import PartitionState, Position
from prokurist.events.topic_ids import TopicIds
from prokurist.types import OffsetAndMetadata, TopicPartition


class Committable(NamedTuple):
    """Offsets to commit.

    Attributes:
        offsets: The next offset to read of each partition.
        topics: The ids of the topics that these are of, as far as they are known.
    """

    offsets: dict[TopicPartition, OffsetAndMetadata]
    topics: Mapping[str, UUID]


class Outstanding(NamedTuple):
    """Counts of outstanding records, of all partitions.

    Attributes:
        records: How many records are not done.
        held_back: How many are done, and wait for one before them that is not.
        full: Partitions that return no more records until one is done.
    """

    records: int
    held_back: int
    full: frozenset[TopicPartition]


class StoredOffsets(TopicIds):
    """Part of `Subscription` with the offsets to commit.

    Args:
        policy: `auto.offset.reset`.

    Attributes:
        stores: True if commits take stored offsets, not returned positions.
        stored: Grows with everything that is stored or done.
    """

    def __init__(self, policy: OffsetReset) -> None:
        super().__init__(policy)
        self.stores: bool = False
        self.stored: int = 0

    # --- the application thread ------------------------------------------------------

    def committable(self, *, unasked: bool = False) -> Committable:
        """Return the offsets for a commit without arguments: one past the last done records.

        Left out are topics that were deleted and created again, and ranges, which are the
        progress of no group.

        Args:
            unasked: Leave out topics that do not exist at present as well: nothing waits for
                their return, and a new one is another topic.
        """
        with self._lock:
            absent = self._absent if unasked else frozenset[str]()
            done = {
                tp: (done, state.topic)
                for tp, state in self._partitions.items()
                if (done := self._done(state)) is not None
                and state.stop is None
                and tp.topic not in absent
                and not self._has_ended(tp, state)
            }
        return Committable(
            {tp: as_committed(at) for tp, (at, _) in done.items()},
            {tp.topic: topic for tp, (_, topic) in done.items() if topic is not None},
        )

    def store(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Have the next commit without offsets commit these; all of them, or none.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        with self._lock:
            states = [(self._assigned(tp, "store_offsets"), at) for tp, at in offsets.items()]
            for state, at in states:
                state.stored = at
            self.stored += 1

    def note_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note a commit that succeeded, of those partitions that are still assigned."""
        with self._lock:
            for tp, at in offsets.items():
                if (state := self._partitions.get(tp)) is not None:
                    state.note_committed(at.offset)

    def track(self, tracking: Tracking) -> None:
        """Track returned records from now on.

        Raises:
            IllegalStateException: It is tracked already, or something is being read.
        """
        with self._lock:
            if self.tracking is not None:
                raise IllegalStateException(
                    "track_offsets was called before: one tracker knows all that is returned"
                )
            if self._partitions:
                raise IllegalStateException(
                    "track_offsets while partitions are assigned: records may have been "
                    "returned that it would not know of; call it before subscribe and assign"
                )
            self.tracking: Tracking | None = tracking

    # --- the network thread ----------------------------------------------------------

    def committed_are(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        """Note what the coordinator has taken or told; None for a partition without a commit.

        Of assigned partitions alone: another member may commit for the others.
        """
        with self._lock:
            for tp, committed in offsets.items():
                state = self._partitions.get(tp)
                if state is not None:
                    state.group_offset = None if committed is None else committed.offset

    # --- any thread ------------------------------------------------------------------

    def finish(self, tp: TopicPartition, offset: int) -> bool:
        """Mark a record as done; return True if it was outstanding."""
        with self._lock:
            tracking = self.tracking
            if tracking is None:
                raise AssertionError("a record is done that is not tracked")
            state = self._partitions.get(tp)
            outstanding = None if state is None else state.outstanding
            if state is None or outstanding is None:
                tracking.given_up += 1
                return False
            if outstanding.finish(offset):
                tracking.counted += 1
                self.stored += 1
                return True
            returned = state.returned
            if returned is not None and outstanding.first <= offset < returned.offset:
                tracking.twice += 1
            else:
                tracking.given_up += 1
            return False

    def take_held_up(self) -> bool:
        """Return True once if a poll has left records out because of a bound."""
        with self._lock:
            tracking = self.tracking
            if tracking is None or not tracking.held_up:
                return False
            tracking.held_up = False
            return True

    def outstanding(self, partitions: Collection[TopicPartition] | None = None) -> Outstanding:
        """Count the outstanding records of some partitions, or of all."""
        with self._lock:
            records = uncommitted = 0
            full: list[TopicPartition] = []
            for tp, state in self._partitions.items():
                if state.outstanding is None or not (partitions is None or tp in partitions):
                    continue
                records += state.outstanding.unfinished
                uncommitted += state.outstanding.uncommitted
                if self._room_of(state) <= 0:
                    full.append(tp)
            return Outstanding(records, uncommitted - records, frozenset(full))

    # --- inside: the lock is held ----------------------------------------------------

    def _done(self, state: PartitionState) -> Position | OffsetAndMetadata | None:
        if not self.stores:
            return state.done
        return state.stored if self.tracking is None else state.tracked


def as_committed(at: Position | OffsetAndMetadata) -> OffsetAndMetadata:
    """Convert a position, or a stored offset, to its committed form."""
    if isinstance(at, OffsetAndMetadata):
        return at
    return OffsetAndMetadata(at.offset, "", at.epoch)
