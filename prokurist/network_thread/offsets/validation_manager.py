"""Validates positions: asks leaders whether they have the record before each (KIP-320).

Thread: the network thread alone. The leaders are asked as `LeaderQueries` asks them.

A position that knows the epoch of the record before it can be compared with a log:
the leader says where that epoch ends there. An end before the position, or none at
all, means that the log was cut back, and that others wrote what comes now. A leader
that is too old for the question leaves the position as it is.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from prokurist.errors import RetriableException
from prokurist.events.call import Call
from prokurist.events.position_state import Position
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.leader_queries import (
    LeaderQueries,
    LeaderReply,
    ReplyConsumer,
    judged,
)
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.error_actions import OFFSET_FOR_LEADER_EPOCH, Action
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.log_offsets import (
    EpochEnd,
    EpochQuestion,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
)
from prokurist.types import Node, TopicPartition

DOUBTED_FOR: Final = 5.0
"""Seconds for which the answers of a leader in an older epoch than was read are doubted.

Brokers that learn of a new leader later than that are believed. Without end it must not be: a
topic that was created again under its name, or a cluster that was restored, may never have the
epoch. It is no count of answers, since how often a leader is asked is the user's to configure.
"""

LEAST_ANSWERS: Final = 3
"""Least number of contradictions before one is believed, however slow the back-offs."""

FORGOTTEN_AFTER: Final = 120.0
"""Seconds without another such answer after which a position is doubted from the beginning."""


@dataclass(frozen=True, slots=True)
class Check:
    """A leader's answer about a position.

    Attributes:
        partition: The partition.
        error: 0, or why it says nothing.
        asked_in: The epoch that we believed it to lead in.
        end: Where the epoch of the record before ends in its log; None where it is
            too old to say.
    """

    partition: TopicPartition
    error: int
    asked_in: int | None
    end: EpochEnd | None

    @property
    def shared(self) -> tuple[int | None, int | None]:
        """The last epoch that its log shares with what was read, and its end there."""
        return (None, None) if self.end is None else (self.end.epoch, self.end.end_offset)

    def confirms(self, position: Position) -> bool:
        """Return True if the log is the one that was read, as far as the leader can tell."""
        if self.end is None:
            return True
        epoch, end_offset = self.shared
        return epoch is not None and end_offset is not None and end_offset >= position.offset


class Doubt(NamedTuple):
    """Contradiction of a position by leaders in an older epoch.

    Attributes:
        position: The position.
        since: When the first of them has said so.
        last: When the last one has.
        answers: How often they have.
    """

    position: Position
    since: float
    last: float
    answers: int


class Doubts:
    """Since when positions are contradicted by leaders in an older epoch than was read.

    Kept from one check to the next: a `position` with a short timeout that is called again
    and again ends its check each time.
    """

    def __init__(self) -> None:
        self._of: dict[TopicPartition, Doubt] = {}

    def note(self, tp: TopicPartition, position: Position, now: float) -> bool:
        """Note such an answer; returns whether it is doubted, and not believed by now."""
        self._of = {
            each: doubt
            for each, doubt in self._of.items()
            if now - doubt.last <= FORGOTTEN_AFTER
        }
        doubt = self._of.get(tp)
        if doubt is None or doubt.position != position:
            doubt = Doubt(position, now, now, 0)
        self._of[tp] = Doubt(position, doubt.since, now, doubt.answers + 1)
        # Of the first answers of two calls no metadata need have come between.
        return now - doubt.since < DOUBTED_FOR or doubt.answers < LEAST_ANSWERS - 1

    def any_of(self, partitions: Iterable[TopicPartition]) -> bool:
        """Return True if one of these was contradicted before."""
        return any(tp in self._of for tp in partitions)

    def over(self, tp: TopicPartition) -> None:
        """Note another answer than that."""
        self._of.pop(tp, None)

    def __repr__(self) -> str:
        return f"Doubts({len(self._of)})"


class ValidationManager:
    """Validates positions by OffsetForLeaderEpoch.

    Args:
        leaders: Asks them.
        metadata: Knows the leaders.
        timer: The Timer.
    """

    def __init__(self, leaders: LeaderQueries, metadata: MetadataManager, timer: Timer) -> None:
        self._leaders = leaders
        self._metadata = metadata
        self._timer = timer
        self._doubts = Doubts()

    async def check(
        self,
        call: Call,
        positions: Mapping[TopicPartition, Position],
        taker: ReplyConsumer[Check],
    ) -> dict[TopicPartition, Check]:
        """Validate positions that have an epoch.

        Raises:
            KafkaException: The same as `LeaderQueries.ask`.
        """
        if self._doubts.any_of(positions):
            # The call before may have ended before it had fresh ones.
            self._metadata.request_update()
        query = EpochQuery(positions, self._doubts, self._timer)
        return await self._leaders.ask(call, positions, query, taker)

    def __repr__(self) -> str:
        return f"ValidationManager({self._leaders})"


class EpochQuery:
    """The query of OffsetForLeaderEpoch; see `LeaderQuery`."""

    api: str = OFFSET_FOR_LEADER_EPOCH.api

    def __init__(
        self, positions: Mapping[TopicPartition, Position], doubts: Doubts, timer: Timer
    ) -> None:
        self._positions = positions
        self._doubts = doubts
        self._timer = timer

    def request(
        self, epochs: Mapping[TopicPartition, int | None], seconds: float
    ) -> OffsetForLeaderEpoch:
        """See `LeaderQuery`."""
        del seconds  # The protocol has no room for them here.
        return OffsetForLeaderEpoch(
            tuple(EpochQuestion(tp, self._epoch(tp), epoch) for tp, epoch in epochs.items())
        )

    def _epoch(self, tp: TopicPartition) -> int:
        epoch = self._positions[tp].epoch
        if epoch is None:
            raise AssertionError(f"the position of {tp} has no epoch to be checked by")
        return epoch

    def judged(
        self,
        epochs: Mapping[TopicPartition, int | None],
        answer: OffsetForLeaderEpochAnswer,
        node: Node,
    ) -> LeaderReply[Check]:
        """See `LeaderQuery`."""
        rows = [
            Check(end.partition, end.error, epochs.get(end.partition), end)
            for end in answer.ends
        ]
        heard = judged(OFFSET_FOR_LEADER_EPOCH, epochs, rows, node, done)
        early = {
            tp: RetriableException(f"{node} leads {tp} in an older epoch than was read")
            for tp, check in heard.found.items()
            if self._is_early(tp, check)
        }
        found = {tp: check for tp, check in heard.found.items() if tp not in early}
        return LeaderReply(found, {**heard.failed, **early}, heard.stale or bool(early))

    def _is_early(self, tp: TopicPartition, check: Check) -> bool:
        """Return True if a newer leader may exist, in the epoch that was read.

        What we know of the leader is older than the record, so perhaps we have asked
        one that was deposed and does not know it yet. Its word would throw away a
        good position. Fresh metadata is asked for, of brokers that may lag as well; if
        that knows nothing newer for long, no leader has had the epoch.
        """
        position = self._positions[tp]
        behind = check.asked_in is not None and check.asked_in < self._epoch(tp)
        if not behind or check.confirms(position):
            self._doubts.over(tp)
            return False
        return self._doubts.note(tp, position, self._timer.now)

    def unasked(self, tp: TopicPartition, epoch: int | None) -> Check | None:
        """See `LeaderQuery`: the position counts as it is (B92)."""
        return Check(tp, 0, epoch, None)


def done(check: Check, action: Action) -> Check | None:
    """Judge an answer that only counts without an error."""
    return check if action is Action.DONE else None
