"""The topics that records can be appended to: their partitions, and who leads each.

Thread: the network thread alone changes it; application threads read what it has put in place.

Invariants: a partition's queue is the same object for as long as a batch may be in it, or on
the wire, also where the topic was created again with fewer partitions, or was forgotten. No
batch is begun in one that is no topic's. A topic has as many queues as rows in
the answer, whatever numbers these have: Kafka's partitions are 0 to n − 1. One that is missing
among them has a queue and no leader; a number beyond them is no partition.
"""

from collections.abc import Callable, Iterable

from prokurist.events.accumulator.batch_limits import BatchLimits
from prokurist.events.accumulator.implementation import TopicQueues
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.cluster import Cluster, TopicView
from prokurist.types import TopicPartition


class TopicDirectory:
    """Keeps the queues of topics as the cluster tells of their partitions.

    Args:
        topics: Those that records can be appended to, by name.
        limits: How large their batches may be; they end with a topic.
        on_leaders: Called with a topic of which partitions have other leaders than before.

    Attributes:
        gone: Queues of partitions that a topic has no more, or whose topic was forgotten, with
            what waits in them, until the network thread drops them.
        leaderless: The topics of which partitions have no leader.
    """

    def __init__(
        self,
        topics: dict[str, TopicQueues],
        limits: BatchLimits,
        on_leaders: Callable[[TopicQueues], None],
    ) -> None:
        self._topics = topics
        self._limits = limits
        self._views: dict[str, TopicView] = {}
        self.gone: dict[TopicPartition, PartitionQueue] = {}
        self.leaderless: set[str] = set()
        self._on_leaders = on_leaders

    def update(self, cluster: Cluster, names: Iterable[str]) -> None:
        """Know the partitions of topics, as far as the cluster tells them."""
        for name in names:
            view = cluster.topics.get(name)
            known = self._views.get(name)
            if view is None or view is known or not view.partitions:
                continue
            topic = self._topics.get(name)
            queues: list[PartitionQueue] = [] if topic is None else list(topic.queues)
            count = len(view.partitions)
            queues += [self._queue(name, number) for number in range(len(queues), count)]
            if view.id is None or known is None or known.id != view.id:
                # Created again with fewer: what waits for the others keeps its deadline.
                self.gone |= {queue.tp: queue for queue in queues[count:]}
                del queues[count:]
            if known is not None and known.id != view.id:
                self._limits.forget(name)
            self._views[name] = view
            before = [queue.leader for queue in queues]
            for queue in queues:
                partition = view.partitions.get(queue.partition)
                queue.leader = None if partition is None else partition.leader
            if all(queue.leader is not None for queue in queues):
                self.leaderless.discard(name)
            else:
                self.leaderless.add(name)
            if topic is None:
                topic = TopicQueues(name)
                topic.queues = queues
                self._topics[name] = topic
                continue
            if len(queues) != len(topic.queues):
                topic.queues = queues
                # Drawn from the partitions that there were.
                topic.round, topic.sticky = [], None
            if before != [queue.leader for queue in queues]:
                self._on_leaders(topic)

    def _queue(self, name: str, number: int) -> PartitionQueue:
        """The queue of a partition that is new, or there again."""
        gone = self.gone.pop(TopicPartition(name, number), None)
        return PartitionQueue(name, number) if gone is None else gone

    def forget(self, name: str) -> None:
        """Know nothing any more of a topic that nothing was sent to for long."""
        topic = self._topics.pop(name, None)
        if topic is not None:
            self.gone |= {queue.tp: queue for queue in topic.queues}
        self._views.pop(name, None)
        self._limits.forget(name)
        self.leaderless.discard(name)

    def __repr__(self) -> str:
        return f"TopicDirectory({len(self._topics)} topics)"
