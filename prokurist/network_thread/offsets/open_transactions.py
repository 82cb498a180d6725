"""Looks up the open transactions that hold back committed records, when a poll is empty.

Thread: the network thread alone. No caller waits for it: an answer goes to the `Positions`,
where the next empty poll finds it. The leader knows the producer's id and epoch; only its
coordinator knows the transactional id, and tells it to those with a right to it.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from prokurist.errors import KafkaException
from prokurist.events.application_events import LookUpTransactions
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.positions import Positions
from prokurist.network_thread.cluster.leader_queries import LeaderQueries, LeaderReply, judged
from prokurist.network_thread.error_actions import DESCRIBE_PRODUCERS, Action
from prokurist.network_thread.offsets.position_search import LEAST
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.admin.answers import ItemsAnswer
from prokurist.network_thread.wire.admin.transactions import DescribeProducers
from prokurist.records.why_empty import OpenTransaction
from prokurist.types import Node, TopicPartition
from prokurist.types.transactions import ActiveProducer


class PartitionProducers(NamedTuple):
    """The producers of one partition.

    Attributes:
        partition: The partition.
        error: 0, or why they are not known.
        producers: The producers.
    """

    partition: TopicPartition
    error: int
    producers: tuple[ActiveProducer, ...] = ()


class OpenTransactionManager:
    """Looks up the first open transaction of partitions, in the background.

    Args:
        positions: The positions.
        calls: Bounds the look-ups.
        leaders: Asks them.
        timer: The Timer.
    """

    def __init__(
        self, positions: Positions, calls: Calls, leaders: LeaderQueries, timer: Timer
    ) -> None:
        self._positions = positions
        self._calls = calls
        self._leaders = leaders
        self._timer = timer
        self._is_asking = False

    def handlers(self) -> Handlers:
        """Return the event of an empty poll."""
        return {LookUpTransactions: self._look_up}

    def _look_up(self, event: LookUpTransactions) -> None:
        if self._is_asking:
            return
        self._is_asking = True
        now, partitions = self._timer.now, tuple(event.partitions)
        call = Call("why_empty", now, Deadline.after(now, LEAST), partitions=partitions)
        self._calls.start(call, self._describe(call, partitions))

    async def _describe(self, call: Call, partitions: Collection[TopicPartition]) -> None:
        try:
            rows = await self._leaders.ask(call, partitions, ProducersInquiry())
            self._positions.held_by({tp: first_open(row) for tp, row in rows.items()})
        except Withdrawn:
            raise
        except KafkaException:
            # An empty poll tells what it knows; the fetches meet what is wrong with a leader.
            pass
        finally:
            self._is_asking = False

    def __repr__(self) -> str:
        return f"OpenTransactionManager({self._leaders})"


class ProducersInquiry:
    """The query of DescribeProducers; see `LeaderQuery`."""

    api: str = DESCRIBE_PRODUCERS.api

    def request(
        self, epochs: Mapping[TopicPartition, int | None], seconds: float
    ) -> DescribeProducers:
        """See `LeaderQuery`."""
        del seconds
        return DescribeProducers(tuple(epochs))

    def judged(
        self,
        epochs: Mapping[TopicPartition, int | None],
        answer: ItemsAnswer,
        node: Node,
    ) -> LeaderReply[PartitionProducers]:
        """See `LeaderQuery`."""
        return judged(
            DESCRIBE_PRODUCERS,
            epochs,
            [
                PartitionProducers(tp, row.error, row.value or ())
                for tp, row in answer.items.items()
                if isinstance(tp, TopicPartition)
            ],
            node,
            lambda row, action: row if action is Action.DONE else None,
        )

    def unasked(self, tp: TopicPartition, epoch: int | None) -> PartitionProducers:
        """See `LeaderQuery`: brokers before Kafka 2.8 do not tell."""
        del epoch
        return PartitionProducers(tp, 0)


def first_open(row: PartitionProducers) -> OpenTransaction | None:
    """The open transaction of a partition that began first; None without one."""
    found = [
        OpenTransaction(
            row.partition,
            each.producer_id,
            each.epoch,
            each.transaction_start,
            None if each.last_at is None else milliseconds_of(each.last_at),
        )
        for each in row.producers
        if each.transaction_start is not None
    ]
    return min(found, key=lambda each: each.first_offset, default=None)


def milliseconds_of(moment: datetime) -> int:
    """A time in milliseconds since the epoch."""
    return round(moment.timestamp() * 1000)
