"""Questions that only the leaders of partitions can answer, asked until they all have.

Thread: the network thread alone. Each leader is asked about all of its partitions at once,
beside the others: metadata are refreshed, pauses made and attempts repeated for those
partitions alone that need it. Where an answer is overdue and metadata name another leader,
that one is asked. What is asked, and what an answer is worth, an `Inquiry` says: there is
one for each API.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from prokurist.errors import (
    KafkaException,
    LeaderNotAvailableException,
    NotLeaderOrFollowerException,
    RetriableException,
    UnsupportedVersionException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.calls import Expired
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.interruptible import Interruptible
from prokurist.network_thread.metadata_manager import MetadataManager
from prokurist.network_thread.operation import all_of, begin
from prokurist.network_thread.overdue import OverdueAnswer
from prokurist.network_thread.refusals import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    topic_error,
)
from prokurist.network_thread.requests import Answer
from prokurist.network_thread.retries import Retries
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.verdicts import METADATA, Verdict, Verdicts
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node, TopicPartition, named

LEAST_TIMEOUT = 0.001
"""Seconds; to a broker none at all would mean that it need not try."""


class Row(Protocol):
    """What a leader says of one partition."""

    @property
    def partition(self) -> TopicPartition:
        """Which."""
        ...

    @property
    def error(self) -> int:
        """0, or why it says nothing."""
        ...


Response = TypeVar("Response")
RowT = TypeVar("RowT", bound=Row)
RowT_contra = TypeVar("RowT_contra", bound=Row, contravariant=True)


@dataclass(frozen=True, slots=True)
class Heard(Generic[RowT]):
    """What came of asking one leader.

    Attributes:
        found: The partitions that it answered for.
        failed: The others, and why.
        stale: Whether what we know of the cluster is to blame.
    """

    found: Mapping[TopicPartition, RowT]
    failed: Mapping[TopicPartition, KafkaException]
    stale: bool


class Inquiry(Protocol[RowT]):
    """What is asked of leaders."""

    @property
    def api(self) -> str:
        """By which API, as the protocol calls it."""
        ...

    def request(
        self, epochs: Mapping[TopicPartition, int | None], seconds: float
    ) -> Request[Any]:
        """What to ask one leader.

        Args:
            epochs: The partitions, and the epoch that we believe it to lead each in.
            seconds: How long it may take.
        """
        ...

    def judged(
        self, epochs: Mapping[TopicPartition, int | None], answer: Any, node: Node
    ) -> Heard[RowT]:
        """What its answer is worth, partition by partition.

        Raises:
            KafkaException: It refuses something for good.
        """
        ...

    def unasked(self, tp: TopicPartition, epoch: int | None) -> RowT | None:
        """What counts where a leader is too old to be asked; None if nothing does."""
        ...


class Taker(Protocol[RowT_contra]):
    """Whoever wants answers one by one, as they come."""

    def take(self, found: Mapping[TopicPartition, RowT_contra]) -> None:
        """One leader has answered."""
        ...

    def wants(self, tp: TopicPartition) -> bool:
        """Whether its answer is wanted yet."""
        ...


class Query(Generic[RowT]):
    """One question to leaders, and what has come of it.

    Attributes:
        call: For whom it is asked.
        inquiry: What.
        taker: Is given each leader's answer when it comes.
        found: What was answered.
        outstanding: The brokers that are yet to answer.
    """

    def __init__(self, call: Call, inquiry: Inquiry[RowT], taker: Taker[RowT] | None) -> None:
        self.call: Call = call
        self.inquiry: Inquiry[RowT] = inquiry
        self.taker: Taker[RowT] | None = taker
        self.found: dict[TopicPartition, RowT] = {}
        self.outstanding: list[Node] = []

    def missing(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Those that are not answered for, and wanted yet."""
        wants = None if self.taker is None else self.taker.wants
        return tuple(
            tp for tp in partitions if tp not in self.found and (wants is None or wants(tp))
        )

    def __repr__(self) -> str:
        return f"Query({self.inquiry.api}, {len(self.found)} found)"


class Leaders:
    """See the module.

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
        inquiry: Inquiry[RowT],
        taker: Taker[RowT] | None = None,
    ) -> dict[TopicPartition, RowT]:
        """Ask the leaders; only for what they did not answer, they are asked again.

        Leaders are independent of each other: one that is away or silent, and a partition
        that has no leader, hold up no other.

        Args:
            call: For whom.
            partitions: About which partitions.
            inquiry: What.
            taker: Is given each leader's answer when it comes; what it does not want
                any more is left out.

        Raises:
            TopicAuthorizationException: Not allowed to see some topics; it names all
                that metadata or the leader's answer refuses.
            InvalidTopicException: No topic can bear such a name.
            KafkaException: Another error that no patience mends.
        """
        wanted = tuple(partitions)
        query = Query(call, inquiry, taker)
        if wanted and call.deadline.expired(self._timer.now):
            # The answer could only come too late: nothing is sent (B11).
            raise Expired("there is no time to ask anybody")
        with self._metadata.interest.tracking({tp.topic for tp in wanted}):
            await self._settle(query, wanted)
        return {tp: query.found[tp] for tp in wanted if tp in query.found}

    async def _settle(
        self,
        query: "Query[RowT]",
        partitions: Iterable[TopicPartition],
        *,
        pause: bool = False,
    ) -> None:
        """Ask about some partitions until they are answered for, each leader by itself.

        Args:
            query: What is asked.
            partitions: About which.
            pause: Whether that has just been in vain.

        Raises:
            KafkaException: Metadata or a leader refuses something for good.
        """
        retries = Retries(query.call, self._timer, self._backoff)
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
                        f"{query.inquiry.api} to {node}",
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
        self, query: Query[RowT], partitions: tuple[TopicPartition, ...]
    ) -> dict[Node | None, list[TopicPartition]]:
        """The leaders by fresh metadata.

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
        self, query: Query[RowT], node: Node, partitions: list[TopicPartition]
    ) -> bool:
        """Ask one leader: whether what we know of the cluster has proved stale.

        Raises:
            KafkaException: No patience mends it.
        """
        query.outstanding.append(node)
        waits_for_connections(query.call, query.outstanding, self._timer.now)
        try:
            heard = await self._ask(query.call, node, partitions, query.inquiry)
        finally:
            query.outstanding.remove(node)
            if query.outstanding and not query.call.on_the_wire:
                waits_for_connections(query.call, query.outstanding, self._timer.now)
        query.found.update(heard.found)
        if query.taker is not None:
            query.taker.take(heard.found)
        return heard.stale

    async def _ask(
        self,
        call: Call,
        node: Node,
        partitions: Iterable[TopicPartition],
        inquiry: Inquiry[RowT],
    ) -> Heard[RowT]:
        """Ask one leader.

        Raises:
            KafkaException: No patience mends it.
        """
        cluster = self._metadata.cluster
        epochs = {tp: cluster.leader_epoch(tp) for tp in partitions}
        limit = min(call.deadline.remaining(self._timer.now), self._attempt)
        request = inquiry.request(epochs, max(LEAST_TIMEOUT, limit))
        try:
            answer = await self._answer(call, node, epochs, request)
        except NotLeaderOrFollowerException as error:
            call.met(error)
            return Heard({}, dict.fromkeys(epochs, error), stale=False)
        except UnsupportedVersionException:
            rows = {tp: inquiry.unasked(tp, epoch) for tp, epoch in epochs.items()}
            counted = {tp: row for tp, row in rows.items() if row is not None}
            if len(counted) < len(rows):
                raise
            return Heard(counted, {}, stale=False)
        except KafkaException as error:
            if not error.retriable:
                raise
            call.met(error)
            return Heard({}, dict.fromkeys(epochs, error), stale=True)
        try:
            heard = inquiry.judged(epochs, answer.response, node)
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
        """The answer of a leader, for as long as metadata name no other.

        Raises:
            NotLeaderOrFollowerException: It is overdue, and metadata name another leader.
            KafkaException: There is none.
        """
        wait = Interruptible(self._client.send(node, request, call=call))

        def look() -> None:
            leaders = [self._metadata.cluster.leader(tp) for tp in partitions]
            if any(each is not None and each.id != node.id for each in leaders):
                wait.interrupt(
                    NotLeaderOrFollowerException(f"{node} is silent and leads no longer")
                )

        overdue = OverdueAnswer(self._metadata, self._timer, node, on_metadata=look)
        try:
            return await wait.outcome
        finally:
            overdue.end()

    def _note(self, call: Call, answer: Answer[Any], error: KafkaException) -> None:
        """Let the ledger say what the answer was worth."""
        if answer.attempt is not None:
            call.ended(answer.attempt, self._timer.now, type(error).__name__, error)

    def __repr__(self) -> str:
        return f"Leaders({self._metadata.cluster})"


def judged(
    table: Verdicts,
    partitions: Iterable[TopicPartition],
    rows: Iterable[RowT],
    node: Node,
    worth: Callable[[RowT, Verdict], RowT | None],
) -> Heard[RowT]:
    """What an answer is worth, partition by partition.

    Args:
        table: What codes mean here.
        partitions: What was asked about.
        rows: What was answered.
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
        verdict = table.of(row.error)
        counted = worth(row, verdict)
        if counted is not None:
            found[tp] = counted
        elif verdict is Verdict.DONE:
            failed[tp] = RetriableException(f"{node} answered by halves for {tp}")
        elif verdict in (Verdict.RETRY, Verdict.REFRESH):
            failed[tp] = topic_error(table, row.error, [str(tp)])
            stale = stale or verdict is Verdict.REFRESH
        else:
            refused.setdefault(row.error, []).append(tp.topic)
    for code, topics in refused.items():
        raise topic_error(table, code, topics)
    return Heard(found, failed, stale)


def by_leader(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[Node | None, list[TopicPartition]]:
    """Partitions by the broker that leads them; by None where none is known."""
    leaders: dict[Node | None, list[TopicPartition]] = {}
    for tp in partitions:
        leaders.setdefault(cluster.leader(tp), []).append(tp)
    return leaders


def leaderless(cluster: Cluster, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Those of which no leader is known that is alive."""
    return [tp for tp in partitions if cluster.leader(tp) is None]


def report(call: Call, cluster: Cluster, unled: Iterable[TopicPartition]) -> None:
    """Let a call know why partitions have no leader, by metadata that is fresh.

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
        if METADATA.of(code) is Verdict.FATAL:
            raise topic_error(METADATA, code, (tp.topic for tp in partitions))
    for code, partitions in by_code.items():
        if code == LEADER_NOT_AVAILABLE:
            call.met(LeaderNotAvailableException(f"nobody leads {named(partitions)} just now"))
        else:
            call.met(topic_error(METADATA, code, map(str, partitions)))


def waits_for_connections(call: Call, nodes: Iterable[Node], now: float) -> None:
    """Let the ledger say which connections a call waits for."""
    names = sorted(map(str, nodes))
    if names:
        call.wait_begins(f"a connection to {' and '.join(names)}", now)
