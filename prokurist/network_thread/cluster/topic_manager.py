"""Look-ups of topics: the partitions of one, and the list of all.

Thread: the network thread alone. Answers go to the caller and not into the snapshot of the
cluster: a look-up is no lasting interest, and the list of all topics may be a hundred times the
client's own.
"""

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
    """Looks topics up for calls: the partitions of one, and the list of all.

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
            ListTopics: lambda event: self.list_all(event.call),
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
        check_names([topic])
        retries = Retries(call, self._timer, self._backoff)
        unknown = 0
        while True:
            answer = await self._ask(call, Metadata((topic,), (), self._create), retries)
            cluster = snapshot_of(answer.response)
            view = cluster.topics.get(topic)
            if view is None:
                error: KafkaException = RetriableException(
                    f"{answer.node} left {topic} out of its answer"
                )
            elif not view.error:
                return cluster.partitions_of(topic)
            else:
                error = topic_error(METADATA, view.error, [topic])
                if METADATA.of(view.error) is Action.FATAL:
                    raise error
                unknown = unknown + 1 if view.error == UNKNOWN_TOPIC_OR_PARTITION else 0
                # A late "unknown" is a better answer than a TimeoutException.
                if unknown >= UNKNOWN_ANSWERS or (unknown and not retries.in_time):
                    return []
            self._note(call, answer, error)
            await retries.pause()

    async def list_all(self, call: Call) -> dict[str, list[PartitionInfo]]:
        """All topics that the user may see, Kafka's own included, by name.

        Raises:
            KafkaException: A topic is in a state that no patience mends.
        """
        retries = Retries(call, self._timer, self._backoff)
        while True:
            answer = await self._ask(call, Metadata(), retries)
            cluster = snapshot_of(answer.response)
            odd: dict[int, list[str]] = {}
            for view in cluster.topics.values():
                if view.error and view.error not in NOT_LISTED:
                    odd.setdefault(view.error, []).append(view.name)
            if not odd:
                return {
                    name: cluster.partitions_of(name)
                    for name, view in sorted(cluster.topics.items())
                    if not view.error
                }
            # A list without a topic that is there would be a wrong one: ask again.
            code = next((c for c in odd if METADATA.of(c) is Action.FATAL), min(odd))
            error = topic_error(METADATA, code, odd[code])
            if METADATA.of(code) is Action.FATAL:
                raise error
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
