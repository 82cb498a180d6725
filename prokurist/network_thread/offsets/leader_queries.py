"""Asks the leaders of partitions for offsets and epochs, until all of them have answered.

Thread: the network thread alone. Each leader is asked about all of its partitions at once,
beside the others: metadata are refreshed, pauses made and attempts repeated for only those
partitions that need it. If an answer is overdue and metadata name another leader, that one is
asked. A `LeaderQuery` makes the requests and judges the answers: there is one for each API.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from prokurist.errors import (
    KafkaException,
    LeaderNotAvailableException,
    NotLeaderOrFollowerException,
    UnsupportedVersionException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.broker_errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    topic_error,
)
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.overdue_responses import OverdueResponse
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.network_thread.offsets.leader_query import (
    LeaderQuery,
    LeaderReply,
    ReplyConsumer,
    RowT,
    RunningQuery,
)
from prokurist.network_thread.operations.calls import Expired
from prokurist.network_thread.operations.interruptible import Interruptible
from prokurist.network_thread.operations.operation import all_of, begin
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node, TopicPartition, named

LEAST_TIMEOUT = 0.001
"""Seconds; to a broker none at all would mean that it need not try."""


Response = TypeVar("Response")


class LeaderQueries:
    """Sends one request to each leader for its partitions, with retries.

    Args:
        client: To ask with.
        metadata: Knows the leaders.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        attempt: `request.timeout.ms`, in seconds.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
        *,
        attempt: float,
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff
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
        retries = Retries(self._timer, self._backoff, query.call)
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
        report(query.call, cluster, leaderless(cluster, partitions))
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


def by_leader(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[Node | None, list[TopicPartition]]:
    """Partitions by their leader; by None where it is not known."""
    leaders: dict[Node | None, list[TopicPartition]] = {}
    for tp in partitions:
        leaders.setdefault(cluster.leader(tp), []).append(tp)
    return leaders


def leaderless(cluster: Cluster, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """The partitions without a known leader that is alive."""
    return [tp for tp in partitions if cluster.leader(tp) is None]


def report(call: Call, cluster: Cluster, unled: Iterable[TopicPartition]) -> None:
    """Note in a call's ledger why partitions have no leader.

    Raises:
        KafkaException: Some of their topics are refused for good; it names all that
            are refused for the same reason.
    """
    by_code: dict[int, list[TopicPartition]] = {}
    for tp in unled:
        view = cluster.topics.get(tp.topic)
        code = UNKNOWN_TOPIC_OR_PARTITION if view is None else view.error
        if view is not None and not code:
            known = tp.partition in view.partitions
            code = LEADER_NOT_AVAILABLE if known else UNKNOWN_TOPIC_OR_PARTITION
        by_code.setdefault(code, []).append(tp)
    for code, partitions in by_code.items():
        if METADATA.of(code) is Action.FATAL:
            raise topic_error(METADATA, code, (tp.topic for tp in partitions))
    for code, partitions in by_code.items():
        if code == LEADER_NOT_AVAILABLE:
            call.met(
                LeaderNotAvailableException(
                    f"no leader is known for {named(partitions)} at present"
                )
            )
        else:
            call.met(topic_error(METADATA, code, map(str, partitions)))
