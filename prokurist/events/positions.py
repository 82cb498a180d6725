"""Positions of the assigned partitions: sought, looked up, confirmed.

Thread: both, under the lock of the `Assigned` with these rows, for a few assignments and
never while anything is called. Every method is one such step, and returns copies.

The application thread seeks, pauses and asks; the network thread takes missing positions and
settles them. A settled answer is bound to the ticket of its request: after a seek or another
assignment in the meantime it is dropped, and `settle` returns False. `Fetching` moves the
positions from there.

The leader confirms a position that knows the epoch of the record before it, before any fetch
from there (KIP-320): after a seek and after a look-up of committed offsets, and again when the
partition's leader epoch has changed. A position without an epoch has nothing to compare, and
counts as it is.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException, LogTruncationException
from prokurist.events.assigned import Assigned, AssignedPartition, SubscribedTopic
from prokurist.events.position_state import FetchState, Position, PositionState
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.why_empty import OpenTransaction
from prokurist.types import OffsetAndMetadata, TopicPartition

NO_POLICY: Final = OffsetReset("none")


@dataclass(frozen=True, slots=True)
class PositionRequest:
    """A position that has to be looked up, or confirmed.

    Attributes:
        ticket: To give back with the answer.
        reset: The target of a reset; None for the group's committed offset.
        confirm: The position that the leader has to confirm; None for one to look up.
    """

    partition: TopicPartition
    ticket: int
    reset: OffsetReset | None
    confirm: Position | None = None


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
        held_by: The first of these transactions, where leaders have described it.
    """

    subscribed: bool
    topics: frozenset[str]
    assigned: frozenset[TopicPartition]
    read: frozenset[TopicPartition]
    unplaced: frozenset[TopicPartition]
    unanswered: frozenset[TopicPartition]
    behind: frozenset[TopicPartition]
    held_back: Mapping[TopicPartition, int]
    held_by: Mapping[TopicPartition, OpenTransaction]


class Positions:
    """Positions of the assigned partitions, placed by the user, by answers, by policy.

    Args:
        assigned: The assigned partitions.
        policy: `auto.offset.reset`.

    Attributes:
        assigned: See above.
        policy: See above.
        settled: Grows whenever a position may have become one that can be read from.
        is_tracked: True if returned records count as outstanding until they are done.
    """

    def __init__(self, assigned: Assigned[PositionState], policy: OffsetReset) -> None:
        self.assigned: Assigned[PositionState] = assigned
        self.policy: OffsetReset = policy
        self.settled: int = 0
        self.is_tracked: bool = False
        self._lock = assigned.lock

    # --- the application thread ------------------------------------------------------

    def seek(self, tp: TopicPartition, position: Position) -> None:
        """Set the position of a partition.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self.assigned.row(tp, "seek")
            self.renew(state)
            state.forget_done()
            state.seek(position)

    def seek_by(self, partitions: Iterable[TopicPartition], reset: OffsetReset) -> None:
        """Have a policy place the position, looked up when it is needed.

        Raises:
            IllegalStateException: A partition is not assigned; none has moved then.
        """
        with self._lock:
            states = [self.assigned.row(tp, "seek") for tp in partitions]
            for state in states:
                self.renew(state)
                state.forget_done()
                state.need_reset(reset)

    def pause(self, partitions: Iterable[TopicPartition], *, paused: bool) -> None:
        """Pause partitions, or resume them.

        Raises:
            IllegalStateException: A partition is not assigned; nothing has changed then.
        """
        with self._lock:
            states = [
                self.assigned.row(tp, "pause" if paused else "resume") for tp in partitions
            ]
            for state in states:
                state.paused = paused

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        with self._lock:
            return frozenset(tp for tp, state in self.assigned.rows.items() if state.paused)

    def position(self, tp: TopicPartition) -> int | None:
        """The offset after the last processed record; None while it is not known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self.assigned.row(tp, "position")
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
                for state in self.assigned.rows.values()
                if state.missing and not state.asked and not state.is_held_back
            ]
            for state in unasked:
                state.asked = True
            return bool(unasked)

    def ask_again(self) -> None:
        """Forget requested positions, so that the next poll asks again."""
        with self._lock:
            for state in self.assigned.rows.values():
                # What was asked for all the same is dropped with the assignment.
                self.assigned.stale = self.assigned.stale or state.awaits_answer
                state.asked = state.end_asked = False

    def take_stale(self) -> bool:
        """Return True once if an answer that `poll` asked for has become stale."""
        with self._lock:
            stale, self.assigned.stale = self.assigned.stale, False
            return stale

    def lag(self, tp: TopicPartition) -> tuple[int | None, int | None]:
        """The offsets up to the log's end; and a ticket if the end has to be looked up.

        The caller that gets the ticket asks; there is no other until the answer has come.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self.assigned.row(tp, "current_lag")
            if state.end is None:
                ticket = None if state.end_asked else state.born
                state.end_asked = True
                return None, ticket
            if state.done is None:
                return None, None
            return max(0, state.end - state.done.offset), None

    def ends(self, tp: TopicPartition) -> tuple[int | None, int | None]:
        """Where a log ends, and where it ends regardless of open transactions, as far as known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        with self._lock:
            state = self.assigned.row(tp, "ends")
            return state.end, state.written

    def at_end(self, partitions: Collection[TopicPartition]) -> bool:
        """Return True if all records up to the last known log ends were returned.

        Args:
            partitions: The partitions; all assigned ones if empty.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        with self._lock:
            states = [
                self.assigned.row(tp, "at_end")
                for tp in partitions or tuple(self.assigned.rows)
            ]
            return bool(states) and all(
                state.end is not None
                and (place := state.returned) is not None
                and state.standing is FetchState.VALID
                and place.offset >= state.end
                for state in states
            )

    def begin_range(self, tp: TopicPartition, start: int, stop: int) -> int:
        """Read a range of one partition, and nothing else.

        Returns:
            The ticket of its assignment.

        Raises:
            IllegalStateException: Something is read already.
        """
        with self._lock:
            if self.assigned.is_used:
                raise IllegalStateException(
                    f"read_range of {tp} with a consumer that reads something else: call "
                    f"unsubscribe() before, or read the range with a consumer of its own"
                )
            state = self.assigned.new_row()
            state.stop = stop
            state.settle(Position(start))
            self.assigned.rows = {tp: state}
            self.assigned.generation += 1
            return state.born

    def end_range(self, tp: TopicPartition, born: int) -> None:
        """Unassign a range, if it is still assigned."""
        with self._lock:
            state = self.assigned.rows.get(tp)
            if state is not None and state.born == born:
                self.assigned.rows = {}
                self.assigned.generation += 1

    def place_in_range(self, tp: TopicPartition, born: int) -> int | None:
        """The offset up to which a range was returned; None if it is no longer read."""
        with self._lock:
            state = self.assigned.rows.get(tp)
            if state is None or state.born != born or state.returned is None:
                return None
            return state.returned.offset

    # --- the network thread ----------------------------------------------------------

    def wanted(self) -> list[PositionRequest]:
        """The positions that have to be looked up or validated."""
        with self._lock:
            return [
                PositionRequest(tp, state.ticket, state.reset, state.unconfirmed)
                for tp, state in self.assigned.rows.items()
                if state.missing
            ]

    def still_wanted(
        self, wanted: PositionRequest | AssignedPartition | SubscribedTopic
    ) -> bool:
        """True if a ticket or an assignment is still current."""
        if not isinstance(wanted, PositionRequest):
            return self.assigned.still_wanted(wanted)
        with self._lock:
            state = self.current(wanted.partition, wanted.ticket)
            return state is not None and state.missing

    def given_up(self, wanted: Iterable[PositionRequest]) -> bool:
        """Note that the search for these has ended: the next `poll` may ask again.

        Returns:
            True if one of them is still missing.
        """
        with self._lock:
            states = [self.current(each.partition, each.ticket) for each in wanted]
            left = [state for state in states if state is not None and state.missing]
            for state in left:
                state.asked = False
            return bool(left)

    def end_found(self, tp: TopicPartition, born: int, end: int | None) -> None:
        """Set a log's end; None when it could not be looked up."""
        with self._lock:
            state = self.assigned.rows.get(tp)
            if state is not None and state.born == born:
                state.end_asked = False
                if end is not None:
                    state.end = end

    def held_by(self, described: Mapping[TopicPartition, OpenTransaction | None]) -> None:
        """Note the first open transaction of partitions; None of one without.

        One before the last stable offset has ended meanwhile.
        """
        with self._lock:
            for tp, found in described.items():
                state = self.assigned.rows.get(tp)
                if state is not None:
                    is_open = found is not None and found.first_offset >= (state.end or 0)
                    state.held_by = found if is_open else None

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
            state = self.current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.settle(position, confirmed_in)
            self.settled += 1
            return True

    def need_reset(self, wanted: PositionRequest, reset: OffsetReset) -> bool:
        """Have the reset policy decide, since nothing was found. False if its ticket is old."""
        with self._lock:
            state = self.current(wanted.partition, wanted.ticket)
            if state is None:
                return False
            state.need_reset(reset)
            return True

    def settle_committed(
        self, wanted: PositionRequest, position: Position
    ) -> PositionRequest | None:
        """Set the position to the committed offset.

        Returns:
            The position for the leader to confirm; None if that is not needed.
        """
        with self._lock:
            state = self.current(wanted.partition, wanted.ticket)
            if state is None:
                return None
            state.settle(position)
            state.set_committed(position.offset)
            self.settled += 1
            if position.epoch is None:
                return None
            state.need_validation()
            return replace(wanted, confirm=position)

    def leaders_are(self, epochs: Mapping[TopicPartition, int]) -> bool:
        """Compare positions with the leader epochs of new metadata.

        Returns:
            True if a position needs confirmation by that.
        """
        doubted = False
        with self._lock:
            for tp, epoch in epochs.items():
                state = self.assigned.rows.get(tp)
                if state is None or state.position is None or state.missing:
                    continue
                if state.confirmed_in == epoch:
                    continue
                if state.position.epoch is None:
                    state.confirmed_in = epoch
                    continue
                self.renew(state)
                if state.returned is None or state.returned.epoch is None:
                    # Only what was fetched ahead has an epoch, and that is given up.
                    state.fall_back(epoch)
                    self.settled += 1
                    continue
                state.need_validation()
                doubted = True
        return doubted

    def confirmed(self, wanted: PositionRequest, leader_epoch: int | None) -> None:
        """Mark a position as validated: the leader has confirmed it, or is too old to ask.

        Args:
            wanted: The request.
            leader_epoch: The leader epoch of that query, where known.
        """
        with self._lock:
            state = self.current(wanted.partition, wanted.ticket)
            if state is not None and state.missing:
                state.validated(leader_epoch)
                self.settled += 1

    def diverged(
        self,
        tp: TopicPartition,
        ticket: int,
        epoch: int | None,
        end_offset: int | None,
        leader_epoch: int | None = None,
    ) -> LogTruncationException | None:
        """Handle a log that was truncated before the position.

        With a policy reading goes on where the two part; where the leader cannot tell
        that, where the policy says. Without one the position stays as it is, not to be
        read from before the user has sought elsewhere.

        Args:
            tp: The partition.
            ticket: The ticket of the query; with an older one nothing happens.
            epoch: The last epoch that the leader's log shares with the records read; None for
                none.
            end_offset: Where that epoch ends in the leader's log; None likewise.
            leader_epoch: The leader epoch of that query, where known.

        Returns:
            The error to raise, if there is no policy.
        """
        with self._lock:
            state = self.current(tp, ticket)
            if state is None or state.position is None or not state.missing:
                return None
            self.settled += 1
            policy = self.policy_by(state)
            if policy.kind == "none":
                return truncated(tp, state.position.offset, epoch, end_offset)
            if epoch is None or end_offset is None:
                state.need_reset(policy)
            else:
                state.settle(Position(end_offset, epoch), leader_epoch)
                state.cut_back(end_offset)
            return None

    # --- any thread ------------------------------------------------------------------

    def survey(self) -> Survey:
        """Sort the assigned partitions by obstacles to reading them."""
        with self._lock:
            states = self.assigned.rows
            read = {
                tp: state
                for tp, state in states.items()
                if not (state.paused or state.giving_up)
            }
            held_back = {tp: held for tp, state in read.items() if (held := state.held_back)}
            return Survey(
                self.assigned.subscribed is not None,
                self.assigned.topics(),
                frozenset(states),
                frozenset(read),
                frozenset(tp for tp, state in read.items() if state.missing or state.awaiting),
                frozenset(
                    tp for tp, state in read.items() if state.end is None and state.unread
                ),
                frozenset(tp for tp, state in read.items() if state.is_behind),
                held_back,
                {tp: held_by for tp in held_back if (held_by := read[tp].held_by)},
            )

    def policy_of(self, tp: TopicPartition) -> OffsetReset:
        """The reset policy of a partition."""
        with self._lock:
            state = self.assigned.rows.get(tp)
            return self.policy if state is None else self.policy_by(state)

    # --- for those that share the rows: the lock is held -----------------------------

    def policy_by(self, state: PositionState) -> OffsetReset:
        """The same by its row; a range has no policy."""
        return self.policy if state.stop is None else NO_POLICY

    def current(self, tp: TopicPartition, ticket: int) -> PositionState | None:
        """The row of a partition; None if its ticket is another."""
        state = self.assigned.rows.get(tp)
        return state if state is not None and state.ticket == ticket else None

    def renew(self, state: PositionState) -> None:
        """Issue a new ticket: answers about the old position are dropped from now on."""
        self.assigned.steady.off()
        self.assigned.stale = self.assigned.stale or state.awaits_answer
        state.ticket = self.assigned.new_ticket()
        state.asked = state.stuck = False

    def __repr__(self) -> str:
        with self._lock:
            states = self.assigned.rows.values()
            valid = sum(state.standing is FetchState.VALID for state in states)
            return f"Positions({len(states)} assigned, {valid} valid)"


def truncated(
    tp: TopicPartition,
    offset: int,
    epoch: int | None = None,
    end_offset: int | None = None,
    *,
    where: str = "the leader does not know where it diverges",
) -> LogTruncationException:
    """The error for a truncated log, where there is no reset policy."""
    divergent: dict[TopicPartition, OffsetAndMetadata] = {}
    if epoch is not None and end_offset is not None:
        where = f"it diverges from what was read at offset {end_offset}"
        divergent[tp] = OffsetAndMetadata(end_offset, "", epoch)
    return LogTruncationException(
        f"the log of {tp} was truncated before position {offset} ({where}), and "
        f"auto.offset.reset is none: seek, or set a policy",
        offsets={tp: offset},
        divergent_offsets=divergent,
    )
