"""Look-ups of topics: the partitions of one, the list of some, and the list of all.

Thread: the network thread alone. Answers go to the caller and not into the snapshot of the
cluster: a look-up is no lasting interest, and the list of all topics may be a hundred times the
client's own.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from prokurist.errors import KafkaException, RetriableException
from prokurist.events.application_events import ListTopics, LookUpTopic
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.broker_errors import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    topic_error,
)
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.topic_interest import check_names
from prokurist.network_thread.cluster.topic_views import views_of
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.network_thread.operations.calls import Expired
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.types import PartitionInfo

UNKNOWN_ANSWERS: Final = 3
"""Number of successive answers after which a topic is unknown.

One is not enough: a broker that lags behind the controller does not know a new topic yet, and
one that creates a topic on request shows it only in the next answer. The pauses between three
answers (0.1 and 0.2 s) are longer than a healthy cluster takes to spread a new topic; more
answers would delay each call for a topic that does not exist.
"""

NOT_LISTED: Final = frozenset({UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED})
"""Error codes of listed topics that were deleted or are not visible to this user."""


class TopicManager:
    """Looks topics up for calls: the partitions of one, the list of some, and that of all.

    Args:
        client: To ask with.
        metadata: Knows whom to ask, and perhaps the answer.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        create: True if requests for a topic may create it.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
        *,
        create: bool,
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff
        self._create = create

    def handlers(self) -> Handlers:
        """Return the events about topics that any client may ask about."""
        return {
            LookUpTopic: lambda event: self.partitions_of(event.call, event.topic),
            ListTopics: lambda event: self.list_topics(event.call, event.topics),
        }

    async def partitions_of(self, call: Call, topic: str) -> list[PartitionInfo]:
        """A topic's partitions, from the snapshot if it has them; [] for no such topic.

        A partition without a leader is a partition all the same.

        Raises:
            InvalidTopicException: No topic can bear that name.
            TopicAuthorizationException: The user may not see it.
        """
        known = self._metadata.cluster.topics.get(topic)
        if known is not None and not known.error:
            return self._metadata.cluster.partitions_of(topic)
        return (await self._list_some(call, [topic], create=self._create)).get(topic, [])

    async def list_topics(
        self, call: Call, names: Collection[str] | None = None
    ) -> dict[str, list[PartitionInfo]]:
        """The partitions of some topics as a broker tells them now, by name.

        Args:
            call: Who asks.
            names: The topics; those that do not exist are left out, and none is made. None
                for all that the user may see, Kafka's own included.

        Raises:
            InvalidTopicException: No topic can bear one of the names.
            KafkaException: A topic is in a state that no patience mends.
            TopicAuthorizationException: The user may not see one that is named.
        """
        if names is None:
            return await self._list_all(call)
        found = await self._list_some(call, names, create=False)
        return dict(sorted(found.items()))

    async def _list_some(
        self, call: Call, names: Collection[str], *, create: bool
    ) -> dict[str, list[PartitionInfo]]:
        """Topics by name; those that are not known yet are asked for again."""
        check_names(names)
        retries = Retries(call, self._timer, self._backoff)
        unknown: Counter[str] = Counter()
        found: dict[str, list[PartitionInfo]] = {}
        left = sorted(set(names))
        while left:
            answer = await self._ask(call, Metadata(tuple(left), (), create), retries)
            cluster = snapshot_of(answer.response)
            omitted = [topic for topic in left if topic not in cluster.topics]
            odd: dict[int, list[str]] = {}
            for topic in left:
                view = cluster.topics.get(topic)
                if view is None:
                    continue
                if not view.error:
                    found[topic] = cluster.partitions_of(topic)
                    continue
                odd.setdefault(view.error, []).append(topic)
                is_unknown = view.error == UNKNOWN_TOPIC_OR_PARTITION
                unknown[topic] = unknown[topic] + 1 if is_unknown else 0
            error = _first_error(odd)
            if error is None and omitted:
                error = RetriableException(
                    f"{answer.node} left {', '.join(omitted)} out of its answer"
                )
            # A late "unknown" is a better answer than a TimeoutException.
            enough = UNKNOWN_ANSWERS if retries.in_time else 1
            left = [topic for topic in left if topic not in found and unknown[topic] < enough]
            if left and error is not None:
                self._note(call, answer, error)
                await retries.pause()
        return found

    async def _list_all(self, call: Call) -> dict[str, list[PartitionInfo]]:
        retries = Retries(call, self._timer, self._backoff)
        while True:
            answer = await self._ask(call, Metadata(), retries)
            cluster = snapshot_of(answer.response)
            odd: dict[int, list[str]] = {}
            for view in cluster.topics.values():
                if view.error and view.error not in NOT_LISTED:
                    odd.setdefault(view.error, []).append(view.name)
            error = _first_error(odd)
            if error is None:
                return {
                    name: cluster.partitions_of(name)
                    for name, view in sorted(cluster.topics.items())
                    if not view.error
                }
            # A list without a topic that is there would be a wrong one: ask again.
            self._note(call, answer, error)
            await retries.pause()

    async def _ask(
        self, call: Call, request: Metadata, retries: Retries
    ) -> Answer[MetadataAnswer]:
        """Ask one broker after the other until one gives a usable answer.

        Raises:
            KafkaException: No patience mends it.
        """
        if call.deadline.expired(self._timer.now):
            # The answer could only come too late: nothing is sent (B9, B10).
            raise Expired("there is no time to ask a broker")
        while True:
            call.wait_begins("a broker to ask", self._timer.now)
            node = await self._metadata.any_broker(call)
            call.wait_begins(self._client.awaited(Lane.GENERAL, node), self._timer.now)
            try:
                answer = await self._client.send(node, request, call=call, any_broker=True)
            except KafkaException as error:
                call.met(self._metadata.failed(node, error))
            else:
                fault = self._metadata.fault_of(answer.response)
                if fault is None:
                    self._metadata.answered()
                    return answer
                self._note(call, answer, fault)
                self._metadata.suspect(node, fault)
            await retries.pause()

    def _note(self, call: Call, answer: Answer[MetadataAnswer], error: KafkaException) -> None:
        """Note the meaning of the answer in the ledger."""
        if answer.attempt is not None:
            call.ended(answer.attempt, self._timer.now, type(error).__name__, error)

    def __repr__(self) -> str:
        return f"TopicManager({self._metadata.cluster})"


def snapshot_of(answer: MetadataAnswer) -> Cluster:
    """A snapshot of one answer by itself."""
    return Cluster().updated(
        cluster_id=answer.cluster_id,
        nodes=answer.brokers,
        controller=answer.controller_id,
        topics=views_of(answer),
        keep=(),
    )


def _first_error(odd: Mapping[int, list[str]]) -> KafkaException | None:
    """The error of topics that an answer has codes for; None without any.

    Raises:
        KafkaException: The same, where asking again will not help.
    """
    if not odd:
        return None
    code = next((each for each in odd if METADATA.of(each) is Action.FATAL), min(odd))
    error = topic_error(METADATA, code, odd[code])
    if METADATA.of(code) is Action.FATAL:
        raise error
    return error
