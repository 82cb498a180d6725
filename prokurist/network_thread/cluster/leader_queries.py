"""Asks the leaders of partitions for offsets and epochs, until all of them have answered.

Thread: the network thread alone. Each leader is asked about all of its partitions at once,
beside the others: metadata are refreshed, pauses made and attempts repeated for only those
partitions that need it. If an answer is overdue and metadata name another leader, that one is
asked. A `LeaderQuery` makes the requests and judges the answers: there is one for each API.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

from prokurist.errors import (
    KafkaException,
    NotLeaderOrFollowerException,
    RetriableException,
    UnsupportedVersionException,
)
from prokurist.events.call import Call
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.broker_errors import topic_error
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.overdue_responses import OverdueResponse
from prokurist.network_thread.cluster.routes import by_leader, leaderless, report_leaderless
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import Action, ErrorTable
from prokurist.network_thread.operations.calls import Expired
from prokurist.network_thread.operations.interruptible import Interruptible
from prokurist.network_thread.operations.operation import all_of, begin
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node, TopicPartition, named

LEAST_TIMEOUT: Final = 0.001
"""Seconds; to a broker none at all would mean that it need not try."""

Response = TypeVar("Response")


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


class LeaderQueries:
    """Sends one request to each leader for its partitions, with retries.

    Args:
        client: To ask with.
        metadata: Knows the leaders.
        attempts: Has the pauses.
        timer: The Timer.
        attempt: `request.timeout.ms`, in seconds.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        attempts: Attempts,
        timer: Timer,
        *,
        attempt: float,
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._attempts = attempts
        self._timer = timer
        self._attempt = attempt

    async def ask(
        self,
        call: Call,
        partitions: Iterable[TopicPartition],
        leader_query: LeaderQuery[RowT],
        taker: ReplyConsumer[RowT] | None = None,
    ) -> dict[TopicPartition, RowT]:
        """Ask the leaders, and repeat it for partitions without an answer.

        Leaders are independent of each other: one that is away or silent, and a partition
        that has no leader, hold up no other.

        Args:
            call: For whom.
            partitions: The partitions.
            leader_query: The kind of query.
            taker: Is given each leader's answer when it comes; what it does not want
                any more is left out.

        Raises:
            TopicAuthorizationException: Not allowed to see some topics; it names all
                that metadata or the leader's answer refuses.
            InvalidTopicException: No topic can bear such a name.
            KafkaException: Another error that no patience mends.
        """
        wanted = tuple(partitions)
        query = RunningQuery(call, leader_query, taker)
        if wanted and call.deadline.expired(self._timer.now):
            # The answer could only come too late: nothing is sent (B11).
            raise Expired("there is no time to ask a broker")
        with self._metadata.interest.tracking({tp.topic for tp in wanted}):
            await self._settle(query, wanted)
        return {tp: query.found[tp] for tp in wanted if tp in query.found}

    async def _settle(
        self,
        query: RunningQuery[RowT],
        partitions: Iterable[TopicPartition],
        *,
        pause: bool = False,
    ) -> None:
        """Ask about some partitions until each has an answer, each leader by itself.

        Args:
            query: The query.
            partitions: The partitions.
            pause: True to pause first, after an attempt in vain.

        Raises:
            KafkaException: Metadata or a leader refuses something for good.
        """
        # By hand: between two attempts the partitions may part, each with a leader of its own.
        retries = self._attempts.retries(query.call)
        left, stale = tuple(partitions), False
        while left:
            if pause:
                await retries.pause()
                left = query.missing(left)
            leaders = by_leader(self._metadata.cluster, left)
            is_fresh = bool(left) and (stale or leaders.keys() == {None})
            if is_fresh:
                leaders = await self._refreshed(query, left)
            if len(leaders) > 1:
                await all_of(
                    begin(
                        self._settle(query, part, pause=is_fresh and node is None),
                        f"{query.leader_query.api} to {node}",
                    )
                    for node, part in leaders.items()
                )
                return
            stale = False
            for node, part in leaders.items():
                if node is not None:
                    stale = await self._try(query, node, part)
            left = query.missing(left)
            pause = True

    async def _refreshed(
        self, query: RunningQuery[RowT], partitions: tuple[TopicPartition, ...]
    ) -> dict[Node | None, list[TopicPartition]]:
        """The leaders, by fresh metadata.

        Raises:
            KafkaException: Metadata refuses some of their topics for good.
        """
        unled = leaderless(self._metadata.cluster, partitions)
        what = f"the leader of {named(unled)}" if unled else "fresh metadata"
        # What an older snapshot says against a topic is not believed: the
        # rights may have been granted since (B201).
        cluster = await self._metadata.refreshed(query.call, what)
        report_leaderless(query.call, cluster, leaderless(cluster, partitions))
        return by_leader(cluster, partitions)

    # --- asking one ------------------------------------------------------------------

    async def _try(
        self, query: RunningQuery[RowT], node: Node, partitions: list[TopicPartition]
    ) -> bool:
        """Ask one leader; return True if our metadata have proved stale.

        Raises:
            KafkaException: No patience mends it.
        """
        query.outstanding.append(node)
        self._awaits(query)
        try:
            heard = await self._ask(query.call, node, partitions, query.leader_query)
        finally:
            query.outstanding.remove(node)
            if query.outstanding and not query.call.on_the_wire:
                self._awaits(query)
        found = query.believed(heard.found)
        query.found.update(found)
        if query.taker is not None:
            query.taker.take(found)
        return heard.stale or len(found) < len(heard.found)

    def _awaits(self, query: RunningQuery[Any]) -> None:
        """Note in the ledger the brokers that a call waits for."""
        waits_for = self._client.awaited(Lane.GENERAL, *query.outstanding)
        query.call.wait_begins(waits_for, self._timer.now)

    async def _ask(
        self,
        call: Call,
        node: Node,
        partitions: Iterable[TopicPartition],
        leader_query: LeaderQuery[RowT],
    ) -> LeaderReply[RowT]:
        """Ask one leader.

        Raises:
            KafkaException: No patience mends it.
        """
        cluster = self._metadata.cluster
        epochs = {tp: cluster.leader_epoch(tp) for tp in partitions}
        limit = min(call.deadline.remaining(self._timer.now), self._attempt)
        request = leader_query.request(epochs, max(LEAST_TIMEOUT, limit))
        try:
            answer = await self._answer(call, node, epochs, request)
        except NotLeaderOrFollowerException as error:
            call.met(error)
            return LeaderReply({}, dict.fromkeys(epochs, error), stale=False)
        except UnsupportedVersionException:
            rows = {tp: leader_query.unasked(tp, epoch) for tp, epoch in epochs.items()}
            counted = {tp: row for tp, row in rows.items() if row is not None}
            if len(counted) < len(rows):
                raise
            return LeaderReply(counted, {}, stale=False)
        except KafkaException as error:
            if not error.retriable:
                raise
            call.met(error)
            return LeaderReply({}, dict.fromkeys(epochs, error), stale=True)
        try:
            heard = leader_query.judged(epochs, answer.response, node)
        except KafkaException as error:
            self._note(call, answer, error)
            raise
        for failure in heard.failed.values():
            self._note(call, answer, failure)
        return heard

    async def _answer(
        self,
        call: Call,
        node: Node,
        partitions: Iterable[TopicPartition],
        request: Request[Response],
    ) -> Answer[Response]:
        """Await a leader's answer, as long as metadata name no other leader.

        Raises:
            NotLeaderOrFollowerException: It is overdue, and metadata name another leader.
            KafkaException: There is none.
        """
        wait = Interruptible(self._client.send(node, request, call=call))

        def look() -> None:
            leaders = [self._metadata.cluster.leader(tp) for tp in partitions]
            if any(each is not None and each.id != node.id for each in leaders):
                wait.interrupt(
                    NotLeaderOrFollowerException(
                        f"{node} does not answer and is no longer the leader"
                    )
                )

        overdue = OverdueResponse(self._metadata, self._timer, node, on_metadata=look)
        try:
            return await wait.outcome
        finally:
            overdue.end()

    def _note(self, call: Call, answer: Answer[Any], error: KafkaException) -> None:
        """Note the meaning of the answer in the ledger."""
        if answer.attempt is not None:
            call.ended(answer.attempt, self._timer.now, type(error).__name__, error)

    def __repr__(self) -> str:
        return f"LeaderQueries({self._metadata.cluster})"


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
