"""Queries to leaders, and the evaluation of answers, partition by partition.

Thread: the network thread alone. `LeaderQueries` does the asking.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from prokurist.errors import KafkaException, RetriableException
from prokurist.events.call import Call
from prokurist.network_thread.broker_errors import topic_error
from prokurist.network_thread.error_actions import Action, ErrorTable
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node, TopicPartition


class PartitionReply(Protocol):
    """A leader's reply for one partition."""

    @property
    def partition(self) -> TopicPartition:
        """The partition that the reply is about."""
        ...

    @property
    def error(self) -> int:
        """The partition's error code."""
        ...


RowT = TypeVar("RowT", bound=PartitionReply)
RowT_contra = TypeVar("RowT_contra", bound=PartitionReply, contravariant=True)


@dataclass(frozen=True, slots=True)
class LeaderReply(Generic[RowT]):
    """The outcome of asking one leader.

    Attributes:
        found: The partitions that it answered for.
        failed: The others, and why.
        stale: True if the client's metadata may be stale.
    """

    found: Mapping[TopicPartition, RowT]
    failed: Mapping[TopicPartition, KafkaException]
    stale: bool


class LeaderQuery(Protocol[RowT]):
    """A kind of question to leaders: how to ask it, and how to judge answers."""

    @property
    def api(self) -> str:
        """The name of its API."""
        ...

    def request(
        self, epochs: Mapping[TopicPartition, int | None], seconds: float
    ) -> Request[Any]:
        """Make the request for one leader.

        Args:
            epochs: The partitions, and the epoch that we believe it to lead each in.
            seconds: How long it may take.
        """
        ...

    def judged(
        self, epochs: Mapping[TopicPartition, int | None], answer: Any, node: Node
    ) -> LeaderReply[RowT]:
        """Judge an answer, partition by partition.

        Raises:
            KafkaException: It refuses something for good.
        """
        ...

    def unasked(self, tp: TopicPartition, epoch: int | None) -> RowT | None:
        """The result for a leader that is too old to be asked; None if there is none."""
        ...


class ReplyConsumer(Protocol[RowT_contra]):
    """Takes answers leader by leader, as they come."""

    def take(self, found: Mapping[TopicPartition, RowT_contra]) -> None:
        """Take the answer of one leader."""
        ...

    def wants(self, tp: TopicPartition) -> bool:
        """Return True if a partition's answer is still wanted."""
        ...

    def believes(self, tp: TopicPartition) -> bool:
        """Return True if the queried leader leads the intended topic, as far as is known."""
        ...


class RunningQuery(Generic[RowT]):
    """A question to leaders under way, and its answers.

    Attributes:
        call: For whom it is asked.
        leader_query: The kind of query.
        taker: Is given each leader's answer when it comes.
        found: The answers so far.
        outstanding: The brokers that are yet to answer.
    """

    def __init__(
        self, call: Call, leader_query: LeaderQuery[RowT], taker: ReplyConsumer[RowT] | None
    ) -> None:
        self.call: Call = call
        self.leader_query: LeaderQuery[RowT] = leader_query
        self.taker: ReplyConsumer[RowT] | None = taker
        self.found: dict[TopicPartition, RowT] = {}
        self.outstanding: list[Node] = []

    def missing(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """The partitions without an answer that are still wanted."""
        wants = None if self.taker is None else self.taker.wants
        return tuple(
            tp for tp in partitions if tp not in self.found and (wants is None or wants(tp))
        )

    def believed(self, found: Mapping[TopicPartition, RowT]) -> Mapping[TopicPartition, RowT]:
        """Select the answers for the intended topics; leaders are asked by topic name."""
        if self.taker is None:
            return found
        return {tp: row for tp, row in found.items() if self.taker.believes(tp)}

    def __repr__(self) -> str:
        return f"RunningQuery({self.leader_query.api}, {len(self.found)} found)"


def judged(
    table: ErrorTable,
    partitions: Iterable[TopicPartition],
    rows: Iterable[RowT],
    node: Node,
    worth: Callable[[RowT, Action], RowT | None],
) -> LeaderReply[RowT]:
    """Judge an answer, partition by partition.

    Args:
        table: Actions by error code.
        partitions: The partitions of the request.
        rows: The rows of the answer.
        node: By whom.
        worth: A row as it counts, by its verdict; None for one that does not.

    Raises:
        KafkaException: It refuses something for good.
    """
    by_partition = {row.partition: row for row in rows}
    found: dict[TopicPartition, RowT] = {}
    failed: dict[TopicPartition, KafkaException] = {}
    stale = False
    refused: dict[int, list[str]] = {}
    for tp in partitions:
        row = by_partition.get(tp)
        if row is None:
            failed[tp] = RetriableException(f"{node} left {tp} out of its answer")
            continue
        action = table.of(row.error)
        counted = worth(row, action)
        if counted is not None:
            found[tp] = counted
        elif action is Action.DONE:
            failed[tp] = RetriableException(f"{node} gave an incomplete answer for {tp}")
        elif action in (Action.RETRY, Action.REFRESH):
            failed[tp] = topic_error(table, row.error, [str(tp)])
            stale = stale or action is Action.REFRESH
        else:
            refused.setdefault(row.error, []).append(tp.topic)
    for code, topics in refused.items():
        raise topic_error(table, code, topics)
    return LeaderReply(found, failed, stale)
