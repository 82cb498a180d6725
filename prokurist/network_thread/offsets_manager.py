"""Look-ups of offsets in logs: their beginning, their end, and by time.

Thread: the network thread alone. Each wish is one operation: know the leaders,
ask each of them, keep what they say, and go round again for the rest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from prokurist.errors import KafkaException, LeaderNotAvailableException, RetriableException
from prokurist.events.application_events import Edge
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.calls import Expired
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.metadata_manager import MetadataManager
from prokurist.network_thread.operation import all_of, begin
from prokurist.network_thread.refusals import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    topic_error,
)
from prokurist.network_thread.requests import Answer
from prokurist.network_thread.retries import Retries
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.verdicts import LIST_OFFSETS, METADATA, Verdict
from prokurist.network_thread.wire.log_offsets import (
    ListedOffset,
    ListOffsets,
    ListOffsetsAnswer,
    Moment,
    OffsetQuestion,
)
from prokurist.types import Node, OffsetAndTimestamp, TopicPartition, named

MOMENTS: Final = {Edge.BEGINNING: Moment.EARLIEST, Edge.END: Moment.LATEST}

EDGES: Final = frozenset(MOMENTS.values())

Offset: TypeAlias = int | OffsetAndTimestamp | None

LEAST_TIMEOUT: Final = 0.001
"""Seconds; to a broker none at all would mean that it need not try."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of asking one leader.

    Attributes:
        found: The partitions that it answered for.
        failed: The others, and why.
        stale: Whether what we know of the cluster is to blame.
    """

    found: Mapping[TopicPartition, ListedOffset]
    failed: Mapping[TopicPartition, KafkaException]
    stale: bool


class Taker(Protocol):
    """Whoever wants answers one by one, as they come."""

    def take(self, found: Mapping[TopicPartition, ListedOffset]) -> None:
        """One leader has answered."""
        ...

    def wants(self, tp: TopicPartition) -> bool:
        """Whether its answer is wanted yet."""
        ...


class OffsetsManager:
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

    async def look_up(
        self,
        call: Call,
        moments: Mapping[TopicPartition, Edge | int],
        *,
        read_committed: bool,
    ) -> dict[TopicPartition, Offset]:
        """What each partition has at an edge of its log (its offset) or at a time.

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
        taker: Taker | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        """Ask the leaders; only for what they did not answer, they are asked again.

        Args:
            call: For whom.
            questions: A time or a `Moment` for each partition.
            read_committed: Whether logs end at their last stable offset.
            taker: Is given each leader's answer when it comes; what it does not want
                any more is left out.

        Raises:
            TopicAuthorizationException: Not allowed to see some topics; it names all
                that metadata or the leader's answer refuses.
            InvalidTopicException: No topic can bear such a name.
            KafkaException: Another error that no patience mends.
        """
        found: dict[TopicPartition, ListedOffset] = {}
        left = dict(questions)
        if left and call.deadline.expired(self._timer.now):
            # The answer could only come too late: nothing is sent (B11).
            raise Expired("there is no time to ask anybody")
        retries = Retries(call, self._timer, self._backoff)
        stale = False
        with self._metadata.tracking({tp.topic for tp in left}):
            while left:
                leaders = await self._leaders(call, left, stale=stale)
                heard = await self._ask_all(
                    call, leaders, left, read_committed=read_committed, taker=taker
                )
                for each in heard:
                    found.update(each.found)
                stale = any(each.stale for each in heard)
                left = {tp: moment for tp, moment in left.items() if tp not in found}
                if left:
                    await retries.pause()
                left = {
                    tp: moment
                    for tp, moment in left.items()
                    if taker is None or taker.wants(tp)
                }
        return {tp: found[tp] for tp in questions if tp in found}

    # --- who leads what --------------------------------------------------------------

    async def _leaders(
        self, call: Call, partitions: Iterable[TopicPartition], *, stale: bool
    ) -> dict[Node, list[TopicPartition]]:
        """The leaders of partitions; without those that have none, even by fresh metadata.

        Raises:
            KafkaException: Metadata refuses some of their topics for good.
        """
        wanted = list(partitions)
        cluster = self._metadata.cluster
        unled = leaderless(cluster, wanted)
        if unled or stale:
            what = f"the leader of {named(unled)}" if unled else "fresh metadata"
            # What an older snapshot says against a topic is not believed: the
            # rights may have been granted since (B201).
            cluster = await self._metadata.refreshed(call, what)
            unled = leaderless(cluster, wanted)
            report(call, cluster, unled)
        leaders: dict[Node, list[TopicPartition]] = {}
        for tp in wanted:
            leader = cluster.leader(tp)
            if leader is not None:
                leaders.setdefault(leader, []).append(tp)
        return leaders

    # --- asking them -----------------------------------------------------------------

    async def _ask_all(
        self,
        call: Call,
        leaders: Mapping[Node, list[TopicPartition]],
        moments: Mapping[TopicPartition, int],
        *,
        read_committed: bool,
        taker: Taker | None,
    ) -> list[Heard]:
        """Ask all leaders at once; a fatal answer of one ends the waiting for the others."""
        outstanding = set(leaders)
        waits_for_connections(call, outstanding, self._timer.now)

        async def ask(node: Node, partitions: list[TopicPartition]) -> Heard:
            request = self._request(call, partitions, moments, read_committed=read_committed)
            try:
                heard = await self._ask(call, node, request)
                if taker is not None:
                    taker.take(heard.found)
                return heard
            finally:
                outstanding.discard(node)
                if outstanding and not call.on_the_wire:
                    waits_for_connections(call, outstanding, self._timer.now)

        return await all_of(
            [
                begin(ask(node, partitions), f"ListOffsets to {node}")
                for node, partitions in leaders.items()
            ]
        )

    def _request(
        self,
        call: Call,
        partitions: Iterable[TopicPartition],
        moments: Mapping[TopicPartition, int],
        *,
        read_committed: bool,
    ) -> ListOffsets:
        views = {tp: self._metadata.cluster.partition(tp) for tp in partitions}
        return ListOffsets(
            tuple(
                OffsetQuestion(tp, moments[tp], None if view is None else view.leader_epoch)
                for tp, view in views.items()
            ),
            read_committed,
            max(LEAST_TIMEOUT, min(call.deadline.remaining(self._timer.now), self._attempt)),
        )

    async def _ask(self, call: Call, node: Node, request: ListOffsets) -> Heard:
        """Ask one leader.

        Raises:
            KafkaException: No patience mends it.
        """
        try:
            answer = await self._client.send(node, request, call=call)
        except KafkaException as error:
            if not error.retriable:
                raise
            call.met(error)
            return Heard({}, dict.fromkeys(partitions_of(request), error), stale=True)
        try:
            heard = judged(request, answer.response, node)
        except KafkaException as error:
            self._note(call, answer, error)
            raise
        for failure in heard.failed.values():
            self._note(call, answer, failure)
        return heard

    def _note(
        self, call: Call, answer: Answer[ListOffsetsAnswer], error: KafkaException
    ) -> None:
        """Let the ledger say what the answer was worth."""
        if answer.attempt is not None:
            call.ended(answer.attempt, self._timer.now, type(error).__name__, error)

    def __repr__(self) -> str:
        return f"OffsetsManager({self._metadata.cluster})"


def judged(request: ListOffsets, answer: ListOffsetsAnswer, node: Node) -> Heard:
    """What an answer is worth, partition by partition.

    Raises:
        KafkaException: It refuses something for good.
    """
    rows = {row.partition: row for row in answer.offsets}
    found: dict[TopicPartition, ListedOffset] = {}
    failed: dict[TopicPartition, KafkaException] = {}
    stale = False
    refused: dict[int, list[str]] = {}
    for question in request.questions:
        tp = question.partition
        row = rows.get(tp)
        if row is None:
            failed[tp] = RetriableException(f"{node} left {tp} out of its answer")
            continue
        verdict = LIST_OFFSETS.of(row.error)
        if verdict is Verdict.DONE and is_whole(question, row):
            found[tp] = row
        elif verdict is Verdict.DONE:
            failed[tp] = RetriableException(f"{node} answered by halves for {tp}")
        elif verdict is Verdict.NOTHING and question.timestamp >= 0:
            found[tp] = ListedOffset(tp, 0, None)
        elif verdict in (Verdict.RETRY, Verdict.REFRESH):
            failed[tp] = topic_error(LIST_OFFSETS, row.error, [str(tp)])
            stale = stale or verdict is Verdict.REFRESH
        else:
            refused.setdefault(row.error, []).append(tp.topic)
    for code, topics in refused.items():
        raise topic_error(LIST_OFFSETS, code, topics)
    return Heard(found, failed, stale)


def is_whole(question: OffsetQuestion, row: ListedOffset) -> bool:
    """Whether an answer has all of itself.

    Every log has edges, and every record that was found by its time has one.
    """
    if question.timestamp in EDGES:
        return row.offset is not None
    return row.offset is None or question.timestamp < 0 or row.timestamp is not None


def partitions_of(request: ListOffsets) -> list[TopicPartition]:
    """What a request asks about."""
    return [question.partition for question in request.questions]


def stamped(row: ListedOffset) -> OffsetAndTimestamp | None:
    """A record found by its time; None for none."""
    if row.offset is None or row.timestamp is None:
        return None
    return OffsetAndTimestamp(row.offset, row.timestamp, row.leader_epoch)


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
