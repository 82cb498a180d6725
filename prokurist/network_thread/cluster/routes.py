"""Routes: the destinations of requests, by the reason why a broker is asked.

Thread: the network thread alone. `Attempts` uses them. A route resolves to a broker, or to
None while none is known; the call's ledger then has the reason. An answer that refutes a route
has it resolved again.

    AnyBroker    the least loaded broker without a failure
    Controller   any broker; after NOT_CONTROLLER, the controller of the metadata
    Broker       a broker by its id; `each_broker` makes the routes to all
    Leader       the leader of a partition; `LeaderQueries` asks the leaders of many
    Coordinator  (in `coordinators`) the coordinator of a group or a transactional id
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from prokurist.errors import (
    BrokerNotAvailableException,
    KafkaException,
    LeaderNotAvailableException,
    NotControllerException,
)
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.broker_errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    topic_error,
)
from prokurist.network_thread.cluster.attempts import Verdict
from prokurist.network_thread.cluster.brokers_to_ask import BrokersToAsk
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.types import Node, TopicPartition, named

if TYPE_CHECKING:
    from prokurist.network_thread.cluster.metadata_manager import MetadataManager


class AnyBroker:
    """The route to any broker: the least loaded one that has not failed.

    Args:
        brokers: The candidates.
        is_shared: Returns True for errors of all brokers: `BrokersToAsk.failed` raises these
            if no other broker can help. Other errors are passed by.
    """

    lane: Final = Lane.GENERAL
    is_any: bool = True

    def __init__(
        self,
        brokers: BrokersToAsk,
        is_shared: Callable[[KafkaException], bool] = lambda _error: True,
    ) -> None:
        self._brokers = brokers
        self._is_shared = is_shared

    async def find(self, call: Call) -> Node | None:
        """See `Route`."""
        return await self._brokers.next(call)

    def note_failure(self, node: Node, error: KafkaException) -> KafkaException:
        """See `Route`."""
        brokers = self._brokers
        return (brokers.failed if self._is_shared(error) else brokers.suspect)(node, error)

    def note_answer(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """See `Route`; an answer that a broker should not give makes it suspect."""
        if verdict.action is Action.REDISCOVER and verdict.error is not None:
            return self._brokers.suspect(node, verdict.error)
        self._brokers.answered()
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._brokers})"


class Controller(AnyBroker):
    """The route to the controller: through any broker, for brokers forward such requests.

    Brokers before KRaft answer NOT_CONTROLLER instead. From then on the controller of fresh
    metadata is asked; in KRaft, metadata name any broker as the controller.
    """

    def __init__(self, metadata: "MetadataManager") -> None:
        super().__init__(metadata.brokers)
        self.is_any: bool = True
        self._metadata = metadata
        self._is_stale = False

    async def find(self, call: Call) -> Node | None:
        """See `Route`."""
        if self.is_any:
            return await super().find(call)
        cluster = self._metadata.cluster
        if self._is_stale:
            cluster = await self._metadata.refreshed(call, "the controller")
            self._is_stale = False
        node = None if cluster.controller is None else cluster.nodes.get(cluster.controller)
        if node is None:
            self._is_stale = True
            call.met(NotControllerException("no controller is known at present"))
        return node

    def note_failure(self, node: Node, error: KafkaException) -> KafkaException:
        """See `Route`."""
        self._is_stale = True
        return super().note_failure(node, error)

    def note_answer(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """See `Route`."""
        if isinstance(verdict.error, NotControllerException):
            self.is_any = False
            self._is_stale = True
            self._brokers.answered()
            return None
        return super().note_answer(node, verdict)


class ByMetadata:
    """A route by metadata; a failure makes them stale."""

    lane: Final = Lane.GENERAL
    is_any: Final = False

    def __init__(self, metadata: "MetadataManager") -> None:
        self._metadata = metadata
        self._is_stale = False

    def note_failure(self, node: Node, error: KafkaException) -> KafkaException:
        """See `Route`: another broker, or another address, may be right by now."""
        del node
        if not error.retriable:
            raise error
        self._is_stale = True
        return error

    def note_answer(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """See `Route`."""
        del node
        self._is_stale = verdict.action is Action.REFRESH
        return None


class Broker(ByMetadata):
    """The route to the broker with an id, at its address in metadata.

    Args:
        metadata: Knows the brokers.
        number: The id.
        may_leave: True to fail requests once the broker is not in the cluster any more.
    """

    def __init__(
        self, metadata: "MetadataManager", number: int, *, may_leave: bool = False
    ) -> None:
        super().__init__(metadata)
        self.number: int = number
        self._may_leave = may_leave

    async def find(self, call: Call) -> Node | None:
        """See `Route`.

        Raises:
            BrokerNotAvailableException: The broker has left, and may.
        """
        node = self._metadata.cluster.nodes.get(self.number)
        if node is None or self._is_stale:
            cluster = await self._metadata.refreshed(call, f"broker {self.number}")
            node = cluster.nodes.get(self.number)
            self._is_stale = False
        if node is None:
            error = BrokerNotAvailableException(
                f"broker {self.number} is not in the cluster at present"
            )
            if self._may_leave:
                raise error
            call.met(error)
        return node

    def __repr__(self) -> str:
        return f"Broker({self.number})"


async def each_broker(metadata: "MetadataManager", call: Call) -> tuple[Broker, ...]:
    """The routes to all brokers that fresh metadata name; each may leave meanwhile."""
    cluster = await metadata.refreshed(call, "the brokers that there are")
    return tuple(Broker(metadata, number, may_leave=True) for number in sorted(cluster.nodes))


class Leader(ByMetadata):
    """The route to the leader of a partition.

    Args:
        metadata: Knows the leaders.
        tp: The partition.
    """

    def __init__(self, metadata: "MetadataManager", tp: TopicPartition) -> None:
        super().__init__(metadata)
        self._tp = tp

    async def find(self, call: Call) -> Node | None:
        """See `Route`.

        Raises:
            KafkaException: Its topic is refused for good.
        """
        leader = self._metadata.cluster.leader(self._tp)
        if leader is None or self._is_stale:
            with self._metadata.interest.tracking({self._tp.topic}):
                cluster = await self._metadata.refreshed(call, f"the leader of {self._tp}")
            self._is_stale = False
            report_leaderless(call, cluster, leaderless(cluster, [self._tp]))
            leader = cluster.leader(self._tp)
        return leader

    def __repr__(self) -> str:
        return f"Leader({self._tp})"


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


def report_leaderless(call: Call, cluster: Cluster, unled: Iterable[TopicPartition]) -> None:
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
