"""Metadata of the cluster: an immutable snapshot.

Thread: the network thread makes each snapshot; any thread reads the one at hand
without a lock, because it never changes.

A newer answer is merged into it by three rules. An older leader epoch changes
nothing about that partition: answers of several brokers overtake each other, and
only the epoch says which is newer. A new topic id starts from nothing: the topic was
deleted and created again, and its epochs count from 0. Brokers before
2.8 send no ids; what they repeat often enough is believed, older epochs included. With an
id it has to be repeated more often.
So is what metadata repeat against a leader that only an error answer named (KIP-951).
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import Node, PartitionInfo, TopicPartition

ABSENT: Final = frozenset({3, 100})
"""Codes of a missing topic, without those of a topic not ready yet."""

BELIEVED: Final = 3
"""Number of successive answers with older epochs from which they are believed.

They then stand for a new topic, if it has no id, or correct a leader that only an error answer
named. A single broker that lags behind repeats its answer once or twice, and the next broker is
asked. Without this rule the leaders of a recreated topic would never be known (B196), nor the
leader of a partition for which a broker has named too high an epoch.
"""

BELIEVED_OF_AN_ID: Final = 10
"""The same of a topic whose id stays: its epochs do not go back, unless one was wrong.

A broker that is cut off from the controller may say so more often. Believed, it costs a try at
the former leader, which names the next one; an epoch that no leader ever comes to would cost
the partition for good.
"""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition as metadata describes it; brokers by their ids.

    Attributes:
        error: The broker's code for this partition; 0 for none.
        leader: Its leader's id, or None while it has none.
        leader_epoch: The leader's epoch, where the broker told it.
        is_hint: True if only an error answer has named the leader, and no metadata yet.
    """

    partition: int
    error: int = 0
    leader: int | None = None
    leader_epoch: int | None = None
    replicas: tuple[int, ...] = ()
    in_sync_replicas: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    is_hint: bool = False

    def is_older_than(self, other: "PartitionView | None") -> bool:
        """True if another view has a later epoch; False unless both epochs are known."""
        return (
            other is not None
            and self.leader_epoch is not None
            and other.leader_epoch is not None
            and self.leader_epoch < other.leader_epoch
        )


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic as metadata describes it.

    Attributes:
        error: The broker's code for the topic; 0 for none.
        id: Its id, where the broker told it.
        ignored: How many answers in a row told older epochs and were not believed.
    """

    name: str
    error: int = 0
    id: UUID | None = None
    internal: bool = False
    partitions: Mapping[int, PartitionView] = field(default_factory=dict)
    ignored: int = 0

    def merged(self, older: "TopicView | None") -> "TopicView":
        """Merge with an older view, where that one knows more."""
        if older is None or (self.id is not None and older.id != self.id):
            return self
        overtaken = {
            number: older.partitions[number]
            for number, view in self.partitions.items()
            if view.is_older_than(older.partitions.get(number))
        }
        ignored = older.ignored + 1 if overtaken else 0
        if ignored >= (BELIEVED if self.id is None else BELIEVED_OF_AN_ID):
            return self
        if ignored >= BELIEVED:
            overtaken = {number: view for number, view in overtaken.items() if not view.is_hint}
        kept = MappingProxyType({**self.partitions, **overtaken})
        return replace(self, partitions=kept, ignored=ignored)


@dataclass(frozen=True, slots=True)
class Cluster:
    """An immutable snapshot of the cluster's metadata.

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
        """The next snapshot, with a Metadata answer merged in.

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

    def id_of(self, topic: str) -> UUID | None:
        """The id of a topic; None where it is not known."""
        view = self.topics.get(topic)
        return None if view is None else view.id

    def ids_of(self, topics: Iterable[str]) -> dict[str, UUID]:
        """The ids of some topics, as far as they are known."""
        return {
            topic: view.id
            for topic in topics
            if (view := self.topics.get(topic)) is not None and view.id is not None
        }

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        """The view of a partition; None if it is not known."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def without(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Select partitions that do not exist, of topics with valid metadata."""
        return frozenset(
            tp
            for tp in partitions
            if (topic := self.topics.get(tp.topic)) is not None
            and not topic.error
            and topic.partitions
            and tp.partition not in topic.partitions
        )

    def leader_epoch(self, tp: TopicPartition) -> int | None:
        """A partition's leader epoch; None if it is not known."""
        view = self.partition(tp)
        return None if view is None else view.leader_epoch

    def says_the_same_as(self, older: "Cluster") -> bool:
        """True if another snapshot has nothing new.

        The controller is left out: without ZooKeeper an answer names any broker.
        """
        return replace(self, version=older.version, controller=older.controller) == older

    def moved_since(
        self, older: "Cluster", topics: Iterable[str]
    ) -> tuple[TopicPartition, ...]:
        """List the partitions of some topics with another leader than in an older snapshot."""
        return tuple(
            TopicPartition(topic, number)
            for topic in topics
            if (view := self.topics.get(topic)) is not None
            for number, partition in view.partitions.items()
            if partition.leader is not None
            and (was := older.partition(TopicPartition(topic, number))) is not None
            and was.leader not in (None, partition.leader)
        )

    def leader(self, tp: TopicPartition) -> Node | None:
        """The broker that leads a partition, if it is known and alive."""
        view = self.partition(tp)
        if view is None or view.leader is None:
            return None
        return self.nodes.get(view.leader)

    def led_by(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node]
    ) -> "Cluster":
        """The next snapshot, with leaders that brokers have named (KIP-951).

        Args:
            leaders: Each leader's id and epoch; ignored for unknown topics, and unless the
                epoch is greater.
            nodes: The leaders' addresses.
        """
        topics = dict(self.topics)
        addresses = {node.id: node for node in nodes}
        told = False
        for tp, (leader, epoch) in leaders.items():
            view = self.partition(tp)
            if view is None or (view.leader_epoch is not None and view.leader_epoch >= epoch):
                continue
            if leader not in self.nodes and leader not in addresses:
                continue
            topic = topics[tp.topic]
            new = replace(view, leader=leader, leader_epoch=epoch, error=0, is_hint=True)
            parts = MappingProxyType({**topic.partitions, tp.partition: new})
            topics[tp.topic] = replace(topic, partitions=parts, ignored=0)
            told = True
        if not told:
            return self
        return replace(
            self,
            nodes=MappingProxyType({**self.nodes, **addresses}),
            topics=MappingProxyType(topics),
            version=self.version + 1,
        )

    def partitions_of(self, topic: str) -> list[PartitionInfo]:
        """A topic's partitions as users see them, in order; none for an unknown topic."""
        view = self.topics.get(topic)
        if view is None:
            return []
        return [self._info(view, view.partitions[number]) for number in sorted(view.partitions)]

    def _info(self, topic: TopicView, view: PartitionView) -> PartitionInfo:
        return PartitionInfo(
            topic.name,
            view.partition,
            None if view.leader is None else self._node(view.leader),
            tuple(self._node(each) for each in view.replicas),
            tuple(self._node(each) for each in view.in_sync_replicas),
            tuple(self._node(each) for each in view.offline_replicas),
            view.leader_epoch,
            topic.id,
        )

    def _node(self, number: int) -> Node:
        # A replica may sit on a broker that is down and so not in the list.
        return self.nodes.get(number, Node(number, "", -1))

    def __repr__(self) -> str:
        return (
            f"Cluster({self.id}, {len(self.nodes)} brokers, {len(self.topics)} topics, "
            f"version {self.version})"
        )
