"""Controls of brokers towards producers: topic configuration, replication, producer state.

Thread: any for a served cluster; the driver's for a model.
"""

from typing import TYPE_CHECKING, NamedTuple, Unpack

from prokurist.testing.cluster.steering import Fault, Steering
from prokurist.testing.cluster.topic_config import TopicConfigKeywords
from prokurist.testing.cluster.topic_controls import partition_of, topic_of
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from prokurist.testing.cluster.state import State
    from prokurist.testing.cluster.topics import Partition


class ActiveProducer(NamedTuple):
    """A broker's state of an active producer, for one partition.

    Attributes:
        epoch: Its epoch.
        last_sequence: The sequence number of its last record; −1 without a batch since a
            marker brought its epoch.
        last_offset: The offset of that record; −1 likewise.
    """

    epoch: int
    last_sequence: int
    last_offset: int


class ProducerControls(Steering):
    """Controls of topics' configuration, replicas in sync, and producer state."""

    __slots__ = ()

    def configure_topic(self, name: str, **config: Unpack[TopicConfigKeywords]) -> None:
        """Change properties of a topic: Kafka's names, with underscores.

        Args:
            name: The topic.
            config: `max_message_bytes`, `min_insync_replicas`, `message_timestamp_type`,
                `message_timestamp_before_max_ms`, `message_timestamp_after_max_ms` and
                `cleanup_policy`; others stay as they are.

        Raises:
            ValueError: There is no such topic.
        """
        with self._change() as (cluster, now):
            topic = topic_of(cluster.state, name)
            topic.given |= {
                name.replace("_", "."): str(value) for name, value in config.items()
            }
            cluster.state.configs_changed(topic)
            cluster.state.changed(now)

    def stop_following(self, node: int) -> Fault:
        """Stop a broker's replication from leaders, though it stays in sync.

        A produce with acks=all then ends in REQUEST_TIMED_OUT, unless this is undone or the
        broker leaves the ISR (`shrink_isr`) first.
        """
        self._let_follow(node, follows=False)
        return Fault(f"stop_following {node}", lambda: self._let_follow(node, follows=True))

    def _let_follow(self, node: int, *, follows: bool) -> None:
        with self._change() as (cluster, now):
            cluster.state.broker(node).follows = follows
            for topic in cluster.state.topics.values():
                for partition in topic.partitions:
                    cluster.state.follow(partition)
            cluster.state.changed(now)

    def shrink_isr(self, tp: TopicPartition, size: int = 1) -> Fault:
        """Have so many replicas of a partition in sync: the leader, and some that follow it.

        The others copy nothing of it until this is undone. With fewer than
        `min.insync.replicas` a produce request with acks=all is refused by
        NOT_ENOUGH_REPLICAS, and the high watermark stays where it is.

        Raises:
            ValueError: The partition has no leader, or has fewer replicas.
        """
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            brokers = cluster.state.brokers
            others = [each for each in partition.replicas if each != partition.leader]
            others.sort(key=lambda each: not brokers[each].follows)
            if partition.leader < 0 or not 1 <= size <= len(others) + 1:
                raise ValueError(f"{partition!r} cannot have {size} replicas in sync")
            partition.isr = [partition.leader, *others[: size - 1]]
            cluster.state.follow(partition)
            cluster.state.changed(now)
        return Fault(f"shrink_isr {tp}", lambda: self._expand_isr(tp))

    def _expand_isr(self, tp: TopicPartition) -> None:
        with self._change() as (cluster, now):
            topic = cluster.state.topics.get(tp.topic)
            partition = topic and topic.partition(tp.partition)
            if partition:
                rejoin(cluster.state, partition)
                cluster.state.changed(now)

    def elect_unclean(self, tp: TopicPartition, node: int) -> int:
        """Elect a leader that lacks records: those that it lacks are lost.

        It lacks the records written while it was out of sync (`shrink_isr`), or not replicated
        yet (`stop_following`, `delay_replication`). The latter are lost in every election of a
        Kafka, and kept here by `move_leader` and by a `kill` of the leader. The other replicas
        cut their copies back.

        Args:
            tp: The partition.
            node: The replica.

        Returns:
            Where the log ends now.

        Raises:
            ValueError: It is no replica, or leads already.
        """
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            if node not in partition.replicas or node == partition.leader:
                raise ValueError(f"{node} is no follower of {partition!r}")
            partition.elect_unclean(node, now)
            rejoin(cluster.state, partition, elected=True)
            cluster.state.changed(now)
            return partition.log.end

    def forget_producers(
        self, tp: TopicPartition | None = None, producer_id: int | None = None
    ) -> None:
        """Have brokers forget producers, as after `producer.id.expiration.ms`.

        The next batch of such a producer is taken with any sequence number, and a
        repetition is appended a second time: so do brokers since KIP-360.

        Args:
            tp: The partition; None for all.
            producer_id: The producer; None for all.
        """
        with self._change() as (cluster, _):
            topics = cluster.state.topics.values()
            everywhere = [each for topic in topics for each in topic.partitions]
            for each in everywhere if tp is None else [partition_of(cluster.state, tp)]:
                each.producers.forget(producer_id)

    def expire_producers_after(self, seconds: float) -> None:
        """Have brokers forget a producer that has not written to a partition for so long."""
        with self._change() as (cluster, _):
            cluster.state.producer_id_expiration = seconds

    def producers(self, tp: TopicPartition) -> dict[int, ActiveProducer]:
        """Return the leader's state of active producers for a partition, by producer id."""
        with self._change() as (cluster, now):
            partition = partition_of(cluster.state, tp)
            states = partition.producers
            states.expire(now - cluster.state.producer_id_expiration, partition.log.open)
            return {
                producer_id: ActiveProducer(entry.epoch, entry.last_sequence, entry.last_offset)
                for producer_id, entry in states.entries().items()
            }


def rejoin(state: "State", partition: "Partition", *, elected: bool = False) -> None:
    """Have every replica that runs and follows catch up and be in sync again."""
    for broker in (each for each in state.registered() if each.follows):
        partition.take_back(broker.node.id)
    state.follow(partition, elected=elected)
