"""Offsets that can be committed, stored or tracked, of the assigned partitions.

Thread: any, under the lock of the `Assigned` with these rows; see `positions`. The user's
workers report done records from their own threads; everything else is the application thread's.

With `enable.auto.offset.store` the positions after returned records are committed. Without it,
the stored offsets are; or, where outstanding records are tracked, the offsets before the lowest
of them. Both stand in the row of the partition, and so go with it: a later report about a
revoked partition has no effect.

Outstanding records are done in any order. Offsets have gaps, and so the offsets themselves are
kept, in the order of their return. A commit ends before the lowest outstanding one. Done
records above it are kept until it is done too, as they cannot be committed before.
"""

import sys
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from prokurist.errors import IllegalStateException
from prokurist.events.assigned import Assigned
from prokurist.events.position_state import Position, PositionState, ReturnedRuns
from prokurist.events.topic_ids import TopicIds
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import OffsetAndMetadata, PartitionProgress, TopicPartition


@dataclass(slots=True)
class Tracking:
    """Bounds on outstanding records of one client, and counts of finished ones.

    Attributes:
        most: Records of all partitions that may be outstanding.
        most_uncommitted: Records of one partition that may be returned beyond its committable
            offset.
        counted: Records that were outstanding and are done.
        twice: How often one was told that was done already.
        given_up: How often one was told of a partition that was given up, or was sought
            elsewhere, since the record was returned.
        held_up: True if a poll has left records out because of a bound.
    """

    most: int
    most_uncommitted: int
    counted: int = 0
    twice: int = 0
    given_up: int = 0
    held_up: bool = False


class OutstandingOffsets:
    """The offsets of one partition that are outstanding, and those that are held back by them.

    Args:
        first: The first offset that it knows of.

    Attributes:
        first: See above.
    """

    __slots__ = ("_order", "_unfinished", "first")

    def __init__(self, first: int) -> None:
        self.first: int = first
        self._order: deque[int] = deque()
        # The leader epoch of the record before each, as far as it is known.
        self._unfinished: dict[int, int | None] = {}

    @property
    def unfinished(self) -> int:
        """Number of outstanding records."""
        return len(self._unfinished)

    @property
    def uncommitted(self) -> int:
        """Number of records returned at or after the lowest outstanding one."""
        return len(self._order)

    @property
    def lowest(self) -> tuple[int, int | None] | None:
        """The lowest offset, and the epoch of the record before it, if there is one."""
        if not self._order:
            return None
        offset = self._order[0]
        return offset, self._unfinished[offset]

    def begin(self, offsets: Iterable[int], epoch: int | None, before: int | None) -> None:
        """Take note of records that are returned.

        Args:
            offsets: Their offsets, in order.
            epoch: Their leader epoch.
            before: The leader epoch of the record before the first of them.
        """
        for offset in offsets:
            self._order.append(offset)
            self._unfinished[offset] = before
            before = epoch

    def finish(self, offset: int) -> bool:
        """Take note that one record is done; False when it is not outstanding."""
        if offset not in self._unfinished:
            return False
        del self._unfinished[offset]
        self._settle()
        return True

    def cut(self, offset: int) -> None:
        """Forget records from an offset on: they are returned another time."""
        while self._order and self._order[-1] >= offset:
            self._unfinished.pop(self._order.pop(), None)

    def _settle(self) -> None:
        while self._order and self._order[0] not in self._unfinished:
            self._order.popleft()

    def __repr__(self) -> str:
        return f"OutstandingOffsets({self.unfinished} of {self.uncommitted})"


class CommittableOffsets(NamedTuple):
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


class PartitionOffsets(NamedTuple):
    """Offsets of an assigned partition; None for unknown ones.

    Attributes:
        partition: The partition.
        position: The offset after the last record that is done.
        start: Where its log begins.
        end: Where its log ends.
        committed: The group's committed offset.
        topic: The id of its topic.
        paused: True if the user has paused it.
    """

    partition: TopicPartition
    position: int | None
    start: int | None
    end: int | None
    committed: int | None
    topic: UUID | None
    paused: bool


class CommittableState(PositionState):
    """Row of one assigned partition, with its position and offsets to commit.

    Attributes:
        committed: The offset that this consumer last committed or found committed; None after
            a seek or a reset, which may go back behind it.
        group_offset: The offset that the group has committed, as far as this client has heard.
        stored: The offset stored by the user, to be committed instead of the position.
        outstanding: The records that were returned and are not done, where that is tracked.
    """

    __slots__ = ("committed", "group_offset", "outstanding", "stored")

    def __init__(self, ticket: int) -> None:
        super().__init__(ticket)
        self.committed: int | None = None
        self.group_offset: int | None = None
        self.stored: OffsetAndMetadata | None = None
        self.outstanding: OutstandingOffsets | None = None

    @property
    def tracked(self) -> Position | None:
        """The offset to commit where outstanding records are tracked."""
        lowest = None if self.outstanding is None else self.outstanding.lowest
        return self.returned if lowest is None else Position(*lowest)

    def track(self, handed: ReturnedRuns) -> None:
        """See `PositionState`."""
        before = None if self.returned is None else self.returned.epoch
        for offsets, epoch in handed:
            if not offsets:
                continue
            if self.outstanding is None:
                self.outstanding = OutstandingOffsets(offsets[0])
            self.outstanding.begin(offsets, epoch, before)
            before = epoch

    @property
    def progress(self) -> PartitionProgress:
        """Its progress, as the user may see it."""
        at, after_last, end = self.returned, None, None
        if at is not None:
            if self.began is not None and at.offset > self.began:
                after_last = OffsetAndMetadata(at.offset, "", at.epoch)
            if at.offset == self.end_met:
                end = self.end_met
        return PartitionProgress(after_last, self.stored, self.committed, end)

    def note_committed(self, offset: int) -> None:
        """Note a commit that succeeded; a record in hand that it covers is done with."""
        self.committed = offset
        record = self.in_hand
        if record is not None and record.offset < offset:
            self.put_down()

    def forget_done(self) -> None:
        """See `PositionState`."""
        self.stored = self.outstanding = None

    def set_committed(self, offset: int | None) -> None:
        """See `PositionState`."""
        self.committed = offset

    def cut_back(self, offset: int) -> None:
        """See `PositionState`."""
        if self.stored is not None and self.stored.offset > offset:
            self.stored = None
        if self.committed is not None and self.committed > offset:
            self.committed = None
        self.untrack(offset)

    def untrack(self, offset: int) -> None:
        """See `PositionState`."""
        if self.outstanding is not None:
            self.outstanding.cut(offset)


class Committable:
    """Offsets of the assigned partitions to commit, and committed ones.

    Args:
        assigned: The assigned partitions.
        topic_ids: Topics that were deleted and created again: no offset of them is committed.
        stores: True if commits take stored offsets, not returned positions.

    Attributes:
        assigned: See above.
        stores: See above.
        stored: Grows with everything that is stored or done.
        tracking: Bounds and counts of outstanding records; None where they are not tracked.
    """

    def __init__(
        self, assigned: Assigned[CommittableState], topic_ids: TopicIds, *, stores: bool = False
    ) -> None:
        self.stores: bool = stores
        self.stored: int = 0
        self.tracking: Tracking | None = None
        self.assigned: Assigned[CommittableState] = assigned
        self._lock = assigned.lock
        self._topic_ids = topic_ids

    # --- the application thread ------------------------------------------------------

    def snapshot(self, *, unasked: bool = False) -> CommittableOffsets:
        """Return the offsets for a commit without arguments: one past the last done records.

        Left out are topics that were deleted and created again, and ranges, which are the
        progress of no group.

        Args:
            unasked: Leave out topics that do not exist at present as well: nothing waits for
                their return, and a new one is another topic.
        """
        with self._lock:
            absent = self._topic_ids.absent if unasked else frozenset[str]()
            done = {
                tp: (done, state.topic)
                for tp, state in self.assigned.rows.items()
                if (done := self._done(state)) is not None
                and state.stop is None
                and tp.topic not in absent
                and not self._topic_ids.has_ended(tp, state)
            }
        return CommittableOffsets(
            {tp: as_committed(at) for tp, (at, _) in done.items()},
            {tp.topic: topic for tp, (_, topic) in done.items() if topic is not None},
        )

    def store(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Have the next commit without offsets commit these; all of them, or none.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        with self._lock:
            states = [
                (self.assigned.row(tp, "store_offsets"), at) for tp, at in offsets.items()
            ]
            for state, at in states:
                state.stored = at
            self.stored += 1

    def note_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note a commit that succeeded, of those partitions that are still assigned."""
        with self._lock:
            for tp, at in offsets.items():
                if (state := self.assigned.rows.get(tp)) is not None:
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
            if self.assigned.rows:
                raise IllegalStateException(
                    "track_offsets while partitions are assigned: records may have been "
                    "returned that it would not know of; call it before subscribe and assign"
                )
            # In this order: after an interrupt between both it can be called again.
            self._topic_ids.positions.is_tracked = True
            self.tracking = tracking

    def room(self) -> int:
        """Return the number of further records, of all partitions, that tracking allows."""
        with self._lock:
            tracking = self.tracking
            if tracking is None:
                return sys.maxsize
            room = tracking.most - sum(
                state.outstanding.unfinished
                for state in self.assigned.rows.values()
                if state.outstanding is not None
            )
            # In the step in which it is found: what is done later has the poll look again.
            tracking.held_up = tracking.held_up or room <= 0
            return max(0, room)

    def room_of(self, tp: TopicPartition) -> int:
        """Return the number of further records of one partition that tracking allows."""
        with self._lock:
            state, tracking = self.assigned.rows.get(tp), self.tracking
            if state is None or tracking is None:
                return sys.maxsize
            room = self._room_of(state)
            tracking.held_up = tracking.held_up or room <= 0
            return max(0, room)

    def progress(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, PartitionProgress]:
        """Return the progress of partitions.

        Args:
            partitions: The partitions; all assigned ones if empty.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        with self._lock:
            return {
                tp: self.assigned.row(tp, "progress").progress
                for tp in partitions or tuple(self.assigned.rows)
            }

    # --- the network thread ----------------------------------------------------------

    def committed_are(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        """Note offsets that the coordinator has taken or told; None for no commit.

        Of assigned partitions alone: another member may commit for the others.
        """
        with self._lock:
            for tp, committed in offsets.items():
                state = self.assigned.rows.get(tp)
                if state is not None:
                    state.group_offset = None if committed is None else committed.offset

    # --- any thread ------------------------------------------------------------------

    def finish(self, tp: TopicPartition, offset: int) -> bool:
        """Mark a record as done; return True if it was outstanding."""
        with self._lock:
            tracking = self.tracking
            if tracking is None:
                raise AssertionError("a record is done that is not tracked")
            state = self.assigned.rows.get(tp)
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
            for tp, state in self.assigned.rows.items():
                if state.outstanding is None or not (partitions is None or tp in partitions):
                    continue
                records += state.outstanding.unfinished
                uncommitted += state.outstanding.uncommitted
                if self._room_of(state) <= 0:
                    full.append(tp)
            return Outstanding(records, uncommitted - records, frozenset(full))

    def lowest_outstanding(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The lowest outstanding offset of each partition that has one."""
        with self._lock:
            return {
                tp: OffsetAndMetadata(lowest[0], "", lowest[1])
                for tp, state in self.assigned.rows.items()
                if state.outstanding is not None
                and (lowest := state.outstanding.lowest) is not None
            }

    def offsets_of(self, partitions: Iterable[TopicPartition]) -> list[PartitionOffsets]:
        """The offsets of some partitions; those no longer assigned are left out.

        The lock is held for all of them: ask for many in portions.
        """
        with self._lock:
            return [
                PartitionOffsets(
                    tp,
                    None if done is None else done.offset,
                    state.start,
                    state.end,
                    state.group_offset,
                    state.topic,
                    state.paused,
                )
                for tp in partitions
                if (state := self.assigned.rows.get(tp)) is not None
                for done in (state.done,)
            ]

    # --- inside: the lock is held ----------------------------------------------------

    def _room_of(self, state: CommittableState) -> int:
        """Return the number of further records of a partition that tracking allows."""
        if self.tracking is None or state.stop is not None:
            return sys.maxsize
        outstanding = state.outstanding
        return self.tracking.most_uncommitted - (outstanding.uncommitted if outstanding else 0)

    def _done(self, state: CommittableState) -> Position | OffsetAndMetadata | None:
        if not self.stores:
            return state.done
        return state.stored if self.tracking is None else state.tracked

    def __repr__(self) -> str:
        return f"Committable({self.assigned})"


def as_committed(at: Position | OffsetAndMetadata) -> OffsetAndMetadata:
    """Convert a position, or a stored offset, to its committed form."""
    if isinstance(at, OffsetAndMetadata):
        return at
    return OffsetAndMetadata(at.offset, "", at.epoch)
