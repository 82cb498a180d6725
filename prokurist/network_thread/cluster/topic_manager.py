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
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.broker_errors import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    topic_error,
)
from prokurist.network_thread.cluster.attempts import Attempts, Question, Verdict
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.routes import AnyBroker
from prokurist.network_thread.cluster.topic_interest import check_names
from prokurist.network_thread.cluster.topic_views import views_of
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.network_thread.operations.calls import Expired
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.types import Node, PartitionInfo

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
        metadata: Knows whom to ask, and perhaps the answer.
        attempts: Asks.
        timer: The Timer.
        create: True if requests for a topic may create it.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        attempts: Attempts,
        timer: Timer,
        *,
        create: bool,
    ) -> None:
        self._metadata = metadata
        self._attempts = attempts
        self._route = AnyBroker(metadata.brokers)
        self._timer = timer
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
        check_names([topic])
        question = TopicsQuestion(self._metadata, call, [topic], create=self._create)
        return (await self._list(question)).get(topic, [])

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
        check_names(names or ())
        found = await self._list(TopicsQuestion(self._metadata, call, names))
        return dict(sorted(found.items()))

    async def _list(self, question: "TopicsQuestion") -> dict[str, list[PartitionInfo]]:
        """Ask one broker after the other until one gives a usable answer.

        Raises:
            KafkaException: No patience mends it.
        """
        if not question.is_over and question.call.deadline.expired(self._timer.now):
            # The answer could only come too late: nothing is sent (B9, B10).
            raise Expired("there is no time to ask a broker")
        await self._attempts.ask(self._route, question)
        return question.found

    def __repr__(self) -> str:
        return f"TopicManager({self._metadata.cluster})"


class TopicsQuestion(Question[MetadataAnswer]):
    """The question for topics, asked again for those that are not known yet.

    Args:
        metadata: Knows the faults of answers.
        call: Who asks.
        names: The topics; None for all that there are.
        create: True if the request may create them.

    Attributes:
        found: The partitions by topic.
    """

    call: Call

    def __init__(
        self,
        metadata: MetadataManager,
        call: Call,
        names: Collection[str] | None = None,
        *,
        create: bool = False,
    ) -> None:
        self._metadata = metadata
        self.call = call
        self._create = create
        self._left: list[str] | None = None if names is None else sorted(set(names))
        self._is_listed = False
        self._unknown: Counter[str] = Counter()
        self.found: dict[str, list[PartitionInfo]] = {}

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return self._is_listed if self._left is None else not self._left

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[MetadataAnswer]]:
        """See `Question`."""
        names = None if self._left is None else tuple(self._left)
        request = Metadata(names, (), self._create)
        return client.send(node, request, call=self.call, any_broker=True)

    def judge(self, answer: Answer[MetadataAnswer]) -> Verdict:
        """See `Question`."""
        fault = self._metadata.fault_of(answer.response)
        if fault is not None:
            return Verdict(Action.REDISCOVER, fault)
        cluster = snapshot_of(answer.response)
        error = (
            self._list_all(cluster)
            if self._left is None
            else self._list_some(cluster, self._left, answer.node)
        )
        return Verdict(Action.DONE if error is None else Action.RETRY, error)

    def _list_all(self, cluster: Cluster) -> KafkaException | None:
        """Take the list of all topics, unless one that is there has an error.

        A list without a topic that is there would be a wrong one.
        """
        odd: dict[int, list[str]] = {}
        for view in cluster.topics.values():
            if view.error and view.error not in NOT_LISTED:
                odd.setdefault(view.error, []).append(view.name)
        error = _first_error(odd)
        if error is None:
            self._is_listed = True
            self.found = {
                name: cluster.partitions_of(name)
                for name, view in sorted(cluster.topics.items())
                if not view.error
            }
        return error

    def _list_some(
        self, cluster: Cluster, names: list[str], node: Node
    ) -> KafkaException | None:
        """Take the topics without an error; the others are left, but for unknown ones."""
        unknown = self._unknown
        odd: dict[int, list[str]] = {}
        for topic in names:
            view = cluster.topics.get(topic)
            if view is None:
                continue
            if not view.error:
                self.found[topic] = cluster.partitions_of(topic)
                continue
            odd.setdefault(view.error, []).append(topic)
            is_unknown = view.error == UNKNOWN_TOPIC_OR_PARTITION
            unknown[topic] = unknown[topic] + 1 if is_unknown else 0
        error = _first_error(odd)
        omitted = [topic for topic in names if topic not in cluster.topics]
        # A late "unknown" is a better answer than a TimeoutException.
        enough = UNKNOWN_ANSWERS if self.retries.in_time else 1
        self._left = [
            topic for topic in names if topic not in self.found and unknown[topic] < enough
        ]
        if error is None and omitted:
            return RetriableException(f"{node} left {', '.join(omitted)} out of its answer")
        return error if self._left else None

    def __repr__(self) -> str:
        return f"TopicsQuestion({'all' if self._left is None else self._left})"


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
