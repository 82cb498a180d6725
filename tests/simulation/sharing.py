"""Worlds with a share group, for its tests."""

from typing import Any

from prokurist.share.consumer import KafkaShareConsumer
from prokurist.types import TopicPartition
from tests.simulation.world import World

A = TopicPartition("orders", 0)
B = TopicPartition("orders", 1)


def sharing(nodes: int = 1, partitions: int = 1, **settings: Any) -> World:
    """A world with a share group that begins at the start of topics."""
    world = World(nodes, {"orders": partitions})
    world.control.configure_share_groups(from_earliest=True, **settings)
    return world


def written(world: World, count: int, tp: TopicPartition = A) -> None:
    """Write records, each in a batch of its own."""
    for nth in range(count):
        world.control.append(tp, b"%d" % nth)


def reader(world: World, **keys: Any) -> KafkaShareConsumer:
    """A share consumer of the topic."""
    consumer = world.share_consumer(**keys)
    consumer.subscribe("orders")
    return consumer


def states(world: World, tp: TopicPartition = A) -> list[str]:
    """The states of the records, in order."""
    return list(world.control.share_states("s", tp).values())


def asked(world: World) -> int:
    """The number of fetches that brokers have received."""
    return sum(each.request.name == "ShareFetch" for each in world.cluster.journal.entries())
