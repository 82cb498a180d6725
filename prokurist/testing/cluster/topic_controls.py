"""Changes to topics and partitions while clients use them.

Each takes effect at once and on all brokers; clients learn of it by errors and by
fresh metadata, as they do from brokers.

Thread: any for a served cluster; the driver's for a model.
"""

from prokurist.testing.cluster.batches import (
    TRANSACTIONAL,
    Record,
    make_batch,
    make_marker,
    parse,
)
from prokurist.testing.cluster.replication import ReplicationDelays
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.steering import Fault, Steering
from prokurist.testing.cluster.topics import Partition, Topic, legal_name
from prokurist.types import TopicPartition


class TopicControls(Steering):
    """Topics and partitions."""

    __slots__ = ()

    def create_topic(
        self, name: str, partitions: int = 1, *, replication: int | None = None
    ) -> None:
        """Make a topic.

        Raises:
            ValueError: There is one of that name, or Kafka allows no such name.
        """
        with self._change() as (cluster, now):
            if name in cluster.state.topics or not legal_name(name):
                raise ValueError(f"cannot make topic {name!r}: it exists, or is no name")
            cluster.state.create_topic(name, partitions, replication)
            cluster.state.changed(now)

    def delete_topic(self, name: str) -> None:
        """Delete a topic, with its committed offsets."""
        with self._change() as (cluster, now):
            topic_of(cluster.state, name)
            cluster.state.delete_topic(name)
            cluster.state.changed(now)

    def recreate_topic(self, name: str, partitions: int | None = None) -> None:
        """Delete a topic and make it again: empty, from epoch 0, with another id."""
        with self._change() as (cluster, now):
            count = len(topic_of(cluster.state, name).partitions)
            cluster.state.delete_topic(name)
            cluster.state.create_topic(name, count if partitions is None else partitions)
            cluster.state.changed(now)

    def add_partitions(self, name: str, total: int) -> None:
        """Grow a topic to so many partitions."""
        with self._change() as (cluster, now):
            cluster.state.grow_topic(topic_of(cluster.state, name), total)
            cluster.state.changed(now)

    def append(
        self,
        tp: TopicPartition,
        *records: Record | bytes,
        timestamp: int | None = None,
        producer: int | None = None,
    ) -> int:
        """Put records into a partition, in one batch.

        Args:
            tp: The partition.
            records: Records, or values of records without a key.
            timestamp: For values: in milliseconds since the epoch; by default the brokers'
                clock, which in virtual time knows no epoch.
            producer: The producer id of their transaction; `end_transaction` ends it.

        Returns:
            The offset of the first.
        """
        with self._change() as (cluster, now):
            stamp = cluster.state.wall_clock(now) if timestamp is None else timestamp
            whole = [
                each if isinstance(each, Record) else Record(each, timestamp=stamp)
                for each in records
            ]
            partition = partition_of(cluster.state, tp)
            batch = (
                make_batch(whole)
                if producer is None
                else make_batch(whole, producer_id=producer, attributes=TRANSACTIONAL)
            )
            kept = cluster.state.append(partition, batch)
            cluster.state.changed(now)
            return kept.base_offset

    def end_transaction(self, tp: TopicPartition, producer: int, *, committed: bool) -> None:
        """Commit or abort a producer's records in a partition."""
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            stamp = cluster.state.wall_clock(now)
            marker = make_marker(producer, committed=committed, timestamp=stamp)
            partition.end_transaction(marker, now, committed=committed)
            cluster.state.follow(partition)
            cluster.state.changed(now)

    def append_bytes(self, tp: TopicPartition, data: bytes) -> int:
        """Put one batch that was made elsewhere into a partition, unchecked but for its shape.

        Returns:
            The offset of the first record.
        """
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            kept = cluster.state.append(partition, parse(data))
            cluster.state.changed(now)
            return kept.base_offset

    def damage(self, tp: TopicPartition, offset: int) -> None:
        """Change a byte of the batch that holds an offset, as a bad disk does."""
        with self._change() as (cluster, _):
            partition_of(cluster.state, tp).log.damage(offset)

    def offsets(self, tp: TopicPartition) -> tuple[int, int]:
        """Return the log start offset and the log end offset of a partition."""
        with self._change() as (cluster, _):
            log = partition_of(cluster.state, tp).log
            return log.start, log.end

    def move_leader(self, tp: TopicPartition, node: int | None = None) -> int:
        """Have another broker lead a partition, in the next epoch.

        Args:
            tp: The partition.
            node: The broker; without one the next of those in sync. It becomes a
                replica if it was none.

        Returns:
            Who leads it now.

        Raises:
            ValueError: There is no other broker in sync.
        """
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            if node is None:
                others = [each for each in partition.isr if each != partition.leader]
                if not others:
                    raise ValueError(f"{tp} has no other broker in sync: name one")
                node = others[0]
            cluster.state.broker(node)
            if node not in partition.replicas:
                partition.replicas = (*partition.replicas, node)
            if node not in partition.isr:
                partition.isr.append(node)
            cluster.state.elect(partition, node)
            cluster.state.changed(now)
            return node

    def leader(self, tp: TopicPartition) -> tuple[int, int]:
        """The leader of a partition (−1 for none), and its epoch."""
        with self._change() as (cluster, _):
            partition = partition_of(cluster.state, tp)
            return partition.leader, partition.epoch

    def set_epoch(self, tp: TopicPartition, epoch: int) -> None:
        """Have a partition's leader lead in another epoch; an older one is possible."""
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            cluster.state.elect(partition, partition.leader, epoch)
            cluster.state.changed(now)

    def truncate(self, tp: TopicPartition, end: int) -> None:
        """Cut a log back to an offset in a new epoch, as an unclean election does."""
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            partition.truncate(end, now)
            cluster.state.elect(partition, partition.leader)
            cluster.state.changed(now)

    def delay_replication(
        self, *, fetch: float = 0.0, watermark: float = 0.0, election: float = 0.0
    ) -> Fault:
        """Delay followers, and their high watermarks; see `ReplicationDelays`."""
        delays = ReplicationDelays(fetch, watermark, election)
        with self._change() as (cluster, _):
            cluster.state.replication = delays
        return Fault("delay_replication", self._follow_at_once)

    def _follow_at_once(self) -> None:
        with self._change() as (cluster, now):
            cluster.state.replication = ReplicationDelays()
            for topic in cluster.state.topics.values():
                for partition in topic.partitions:
                    cluster.state.follow_at_once(partition)
            cluster.state.changed(now)

    def watermark(self, tp: TopicPartition, node: int | None = None) -> int:
        """The high watermark of a partition, as its leader or another broker knows it."""
        with self._change() as (cluster, _):
            partition = partition_of(cluster.state, tp)
            return partition.copy_of(partition.leader if node is None else node).watermark

    def let_followers_serve(self) -> None:
        """Let consumers read from followers, and tell them of one in their rack."""
        with self._change() as (cluster, _):
            cluster.state.followers_serve = True

    def delete_records(self, tp: TopicPartition, before: int) -> None:
        """Delete records below an offset, as retention does, once all copies have it."""
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            cluster.state.follow_at_once(partition)
            partition.log.delete_before(before)
            cluster.state.changed(now)


def topic_of(state: State, name: str) -> Topic:
    """The topic of a name.

    Raises:
        ValueError: There is none.
    """
    topic = state.topics.get(name)
    if topic is None:
        raise ValueError(f"there is no topic {name!r}: there are {sorted(state.topics)}")
    return topic


def partition_of(state: State, tp: TopicPartition) -> Partition:
    """A partition.

    Raises:
        ValueError: There is none.
    """
    name, index = tp
    topic = topic_of(state, name)
    partition = topic.partition(index)
    if partition is None:
        raise ValueError(f"{topic!r} has no partition {index}")
    return partition
