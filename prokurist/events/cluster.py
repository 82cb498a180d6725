"""What the client knows of the cluster: an immutable snapshot.

Thread: the network thread makes each snapshot; any thread reads the one at hand
without a lock, because it never changes.

A newer answer is merged into it by two rules. An older leader epoch changes
nothing about that partition: answers of several brokers overtake each other, and
only the epoch says which is the later truth. A new topic id begins anew: the
topic was deleted and made again, and its epochs count from nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from prokurist.types import Node, PartitionInfo, TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition as metadata describes it; brokers by their ids.

    Attributes:
        error: The broker's code for this partition; 0 for none.
        leader: Its leader's id, or None while it has none.
        leader_epoch: The leader's epoch, where the broker told it.
    """

    partition: int
    error: int = 0
    leader: int | None = None
    leader_epoch: int | None = None
    replicas: tuple[int, ...] = ()
    in_sync_replicas: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic as metadata describes it.

    Attributes:
        error: The broker's code for the topic; 0 for none.
        id: Its id, where the broker told it.
    """

    name: str
    error: int = 0
    id: UUID | None = None
    internal: bool = False
    partitions: Mapping[int, PartitionView] = field(default_factory=dict)

    def merged(self, older: "TopicView | None") -> "TopicView":
        """This view, with what the older one knows better."""
        if older is None or (self.id is not None and older.id != self.id):
            return self
        kept = {
            number: self._later(view, older.partitions.get(number))
            for number, view in self.partitions.items()
        }
        return replace(self, partitions=MappingProxyType(kept))

    @staticmethod
    def _later(new: PartitionView, old: PartitionView | None) -> PartitionView:
        if (
            old is not None
            and new.leader_epoch is not None
            and old.leader_epoch is not None
            and new.leader_epoch < old.leader_epoch
        ):
            return old
        return new


@dataclass(frozen=True, slots=True)
class Cluster:
    """A snapshot.

    Attributes:
        id: The cluster's id, where the broker told it.
        nodes: The brokers by id.
        controller: The controller's id, or None.
        topics: The topics that were asked for, by name.
        version: Grows with each answer that was merged; 0 before the first.
    """

    id: str | None = None
    nodes: Mapping[int, Node] = field(default_factory=dict)
    controller: int | None = None
    topics: Mapping[str, TopicView] = field(default_factory=dict)
    version: int = 0

    def updated(
        self,
        *,
        cluster_id: str | None,
        nodes: Iterable[Node],
        controller: int | None,
        topics: Iterable[TopicView],
        keep: Iterable[str],
    ) -> "Cluster":
        """The next snapshot, out of an answer.

        Args:
            cluster_id: As answered.
            nodes: The brokers as answered: all there are.
            controller: As answered.
            topics: The topics as answered.
            keep: Names that stay as they were when the answer does not hold them.
        """
        answered = {view.name: view.merged(self.topics.get(view.name)) for view in topics}
        kept = {name: self.topics[name] for name in keep if name in self.topics}
        return Cluster(
            id=cluster_id if cluster_id is not None else self.id,
            nodes=MappingProxyType({node.id: node for node in nodes}),
            controller=controller,
            topics=MappingProxyType({**kept, **answered}),
            version=self.version + 1,
        )

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        """What is known of a partition."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def leader(self, tp: TopicPartition) -> Node | None:
        """The broker that leads a partition, if it is known and alive."""
        view = self.partition(tp)
        if view is None or view.leader is None:
            return None
        return self.nodes.get(view.leader)

    def partitions_of(self, topic: str) -> list[PartitionInfo]:
        """A topic's partitions as users see them, in order; none for an unknown topic."""
        view = self.topics.get(topic)
        if view is None:
            return []
        return [
            self._info(topic, view.partitions[number]) for number in sorted(view.partitions)
        ]

    def _info(self, topic: str, view: PartitionView) -> PartitionInfo:
        return PartitionInfo(
            topic,
            view.partition,
            None if view.leader is None else self._node(view.leader),
            tuple(self._node(each) for each in view.replicas),
            tuple(self._node(each) for each in view.in_sync_replicas),
            tuple(self._node(each) for each in view.offline_replicas),
        )

    def _node(self, number: int) -> Node:
        # A replica may sit on a broker that is down and so not in the list.
        return self.nodes.get(number, Node(number, "", -1))

    def __repr__(self) -> str:
        return (
            f"Cluster({self.id}, {len(self.nodes)} brokers, {len(self.topics)} topics, "
            f"version {self.version})"
        )
