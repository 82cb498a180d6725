"""What the tests of records share: logs with something in them, and what was asked."""

from typing import Any

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import TopicPartition
from tests.simulation.world import World

A, B, C = (TopicPartition("orders", number) for number in range(3))


def written(*counts: int, nodes: int = 1, size: int = 10) -> World:
    """Logs with so many records each, every record in a batch of its own."""
    world = World(nodes=nodes)
    for number, count in enumerate(counts):
        for nth in range(count):
            world.control.append(TopicPartition("orders", number), value(nth, size))
    return world


def value(nth: int, size: int = 10) -> bytes:
    """What stands in a record."""
    return b"%0*d" % (size, nth)


def reader(world: World, *partitions: TopicPartition, **keys: Any) -> KafkaConsumer:
    """A consumer that reads partitions from their beginning."""
    keys.setdefault("auto_offset_reset", "earliest")
    keys.setdefault("enable_auto_commit", False)
    consumer = world.consumer(None, **keys)
    consumer.assign(partitions or (A,))
    return consumer


def offsets(records: Any) -> dict[TopicPartition, list[int]]:
    """The offsets that were returned, by partition."""
    return {tp: [each.offset for each in records.records(tp)] for tp in records.partitions()}


def drained(consumer: KafkaConsumer, timeout: float = 1.0) -> dict[TopicPartition, list[int]]:
    """Poll until nothing comes: every offset, by partition, in the order they came."""
    got: dict[TopicPartition, list[int]] = {}
    while records := consumer.poll(timeout):
        for tp, more in offsets(records).items():
            got.setdefault(tp, []).extend(more)
    return got


def fetches(world: World) -> list[tuple[int, dict[int, int]]]:
    """Each fetch: which broker, and the offset asked for by partition."""
    return [
        (
            entry.node,
            {
                part.partition: part.fetch_offset
                for topic in entry.body.topics
                for part in topic.partitions
            },
        )
        for entry in world.cluster.journal.entries("Fetch")
    ]


def holding(world: World) -> int:
    """How many bytes the client holds."""
    return world.members[0].side.buffer.held
