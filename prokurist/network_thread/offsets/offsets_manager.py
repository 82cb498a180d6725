"""Looks up offsets in logs by ListOffsets: the beginning, the end, and by time.

Thread: the network thread alone. Each wish is one operation; the leaders are asked
as `LeaderQueries` asks them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from prokurist.events.application_events import Edge, LookUpOffsets
from prokurist.events.call import Call
from prokurist.network_thread.cluster.leader_queries import (
    LeaderQueries,
    LeaderReply,
    ReplyConsumer,
    judged,
)
from prokurist.network_thread.error_actions import LIST_OFFSETS, Action
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.wire.log_offsets import (
    ListedOffset,
    ListOffsets,
    ListOffsetsAnswer,
    Moment,
    OffsetQuestion,
)
from prokurist.types import Node, OffsetAndTimestamp, TopicPartition

MOMENTS: Final = {Edge.BEGINNING: Moment.EARLIEST, Edge.END: Moment.LATEST}

EDGES: Final = frozenset(MOMENTS.values())

Offset: TypeAlias = int | OffsetAndTimestamp | None


class OffsetsManager:
    """Looks up offsets in logs: the beginning, the end, and by time.

    Args:
        leaders: Asks them.
    """

    def __init__(self, leaders: LeaderQueries) -> None:
        self._leaders = leaders

    def handlers(self) -> Handlers:
        """Return the event of callers that ask for offsets of logs."""
        return {
            LookUpOffsets: lambda event: self.look_up(
                event.call, event.moments, read_committed=event.read_committed
            )
        }

    async def look_up(
        self,
        call: Call,
        moments: Mapping[TopicPartition, Edge | int],
        *,
        read_committed: bool,
    ) -> dict[TopicPartition, Offset]:
        """Look up offsets of partitions: an edge of the log, or by time.

        Raises:
            KafkaException: The same as `listed`.
        """
        questions = {
            tp: MOMENTS[moment] if isinstance(moment, Edge) else moment
            for tp, moment in moments.items()
        }
        listed = await self.listed(call, questions, read_committed=read_committed)
        return {
            tp: listed[tp].offset if isinstance(moment, Edge) else stamped(listed[tp])
            for tp, moment in moments.items()
        }

    async def listed(
        self,
        call: Call,
        questions: Mapping[TopicPartition, int],
        *,
        read_committed: bool,
        taker: ReplyConsumer[ListedOffset] | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        """Ask the leaders, and repeat it for partitions without an answer.

        Args:
            call: For whom.
            questions: A time or a `Moment` for each partition.
            read_committed: True if logs end at their last stable offset.
            taker: Is given each leader's answer when it comes; what it does not want
                any more is left out.

        Raises:
            KafkaException: The same as `LeaderQueries.ask`.
        """
        leader_query = OffsetInquiry(questions, read_committed=read_committed)
        return await self._leaders.ask(call, questions, leader_query, taker)

    def __repr__(self) -> str:
        return f"OffsetsManager({self._leaders})"


class OffsetInquiry:
    """The query of ListOffsets; see `LeaderQuery`."""

    api: str = LIST_OFFSETS.api

    def __init__(self, moments: Mapping[TopicPartition, int], *, read_committed: bool) -> None:
        self._moments = moments
        self._read_committed = read_committed

    def request(
        self, epochs: Mapping[TopicPartition, int | None], seconds: float
    ) -> ListOffsets:
        """See `LeaderQuery`."""
        return ListOffsets(
            tuple(OffsetQuestion(tp, self._moments[tp], epoch) for tp, epoch in epochs.items()),
            self._read_committed,
            seconds,
        )

    def judged(
        self,
        epochs: Mapping[TopicPartition, int | None],
        answer: ListOffsetsAnswer,
        node: Node,
    ) -> LeaderReply[ListedOffset]:
        """See `LeaderQuery`."""

        def worth(row: ListedOffset, action: Action) -> ListedOffset | None:
            moment, asked_in = self._moments[row.partition], epochs[row.partition]
            if action is Action.DONE and is_whole(moment, row):
                return replace(row, asked_in=asked_in)
            if action is Action.NOTHING and moment >= 0:
                return ListedOffset(row.partition, 0, None, asked_in=asked_in)
            return None

        return judged(LIST_OFFSETS, epochs, answer.offsets, node, worth)

    def unasked(self, tp: TopicPartition, epoch: int | None) -> ListedOffset | None:
        """See `LeaderQuery`: nothing stands for an offset."""


def is_whole(moment: int, row: ListedOffset) -> bool:
    """Return True if an answer has all of its fields.

    Every log has edges, and every record that was found by its time has one.
    """
    if moment in EDGES:
        return row.offset is not None
    return row.offset is None or moment < 0 or row.timestamp is not None


def stamped(row: ListedOffset) -> OffsetAndTimestamp | None:
    """The offset and timestamp of a record found by time; None for none."""
    if row.offset is None or row.timestamp is None:
        return None
    return OffsetAndTimestamp(row.offset, row.timestamp, row.leader_epoch)
