"""A consumer with something to commit: what is returned and committed, from outside."""

from typing import Any

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.position_state import Position
from prokurist.types import TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
INTERVAL = 5.0


def reading(world: World, *others: TopicPartition, **keys: object) -> KafkaConsumer:
    """A consumer that commits every five seconds, stands at 3, and has just been built."""
    keys.setdefault("auto_commit_interval_ms", int(INTERVAL * 1000))
    consumer = world.consumer(None, fetches=False, **keys)
    consumer.assign([TP, *others])
    for tp in (TP, *others):
        consumer.seek(tp, 3)
    consumer.poll(0)
    return consumer


def returns(consumer: KafkaConsumer, offset: int, tp: TopicPartition = TP) -> None:
    """What a poll does last of all: the user has everything before this offset."""
    consumer._committable.assigned.rows[tp].returned = Position(offset)


def commits(world: World) -> list[tuple[float, dict[TopicPartition, int]]]:
    """The commits that reached a broker: when, and what."""
    return [
        (
            entry.at,
            {
                TopicPartition(named(world, topic), part.partition_index): part.committed_offset
                for topic in entry.body.topics
                for part in topic.partitions
            },
        )
        for entry in world.cluster.journal.entries("OffsetCommit")
    ]


def named(world: World, topic: Any) -> str:
    """The name of a topic as a request bears it: by its name, or by the id of one there is."""
    if hasattr(topic, "name"):
        return str(topic.name)
    return next(
        each.name for each in world.cluster.state.topics.values() if each.id == topic.topic_id
    )


def committed(world: World, tp: TopicPartition = TP) -> int | None:
    """What the brokers have."""
    kept = world.control.committed("g").get(tp)
    return None if kept is None else kept.offset


def offsets_of(world: World, tp: TopicPartition = TP) -> list[int]:
    """What was committed of one partition, commit by commit."""
    return [offsets[tp] for _, offsets in commits(world) if tp in offsets]
