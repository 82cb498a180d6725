"""Positions that a leader has to confirm, and logs that were cut back (KIP-320).

Thread: the network thread's part of the `Subscription`, under its lock.

The leader confirms a position that knows the epoch of the record before it, before any fetch
from there: after a seek and after a look-up of committed offsets, and again when the
partition's leader epoch has changed. A position without an epoch has nothing to compare, and
counts as it is.
"""

from collections.abc import Mapping
from dataclasses import replace

from prokurist.errors import LogTruncationException
from prokurist.events.assignment import Assignment, PositionRequest
from prokurist.events.partition_state import Position
from prokurist.types import OffsetAndMetadata, TopicPartition


class PositionValidation(Assignment):
    """The part of `Subscription` that validates positions against leader epochs."""

    def settle_committed(
        self, wanted: PositionRequest, position: Position
    ) -> PositionRequest | None:
        """Set the position to the committed offset.

        Returns:
            The position for the leader to confirm; None if that is not needed.
        """
        with self._lock:
            state = self._current(wanted.partition, wanted.ticket)
            if state is None:
                return None
            state.settle(position)
            state.committed = position.offset
            self._settled += 1
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
                state = self._partitions.get(tp)
                if state is None or state.position is None or state.missing:
                    continue
                if state.confirmed_in == epoch:
                    continue
                if state.position.epoch is None:
                    state.confirmed_in = epoch
                    continue
                self._renew(state)
                if state.returned is None or state.returned.epoch is None:
                    # Only what was fetched ahead has an epoch, and that is given up.
                    state.fall_back(epoch)
                    self._settled += 1
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
            state = self._current(wanted.partition, wanted.ticket)
            if state is not None and state.missing:
                state.validated(leader_epoch)
                self._settled += 1

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
            state = self._current(tp, ticket)
            if state is None or state.position is None or not state.missing:
                return None
            self._settled += 1
            policy = self._policy_of(state)
            if policy.kind == "none":
                return truncated(tp, state.position.offset, epoch, end_offset)
            if epoch is None or end_offset is None:
                state.need_reset(policy)
            else:
                state.settle(Position(end_offset, epoch), leader_epoch)
                state.cut_back(end_offset)
            return None


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
