"""What the tests of groups share: members, a listener that writes down, and the wire."""

from collections.abc import Callable, Iterable
from typing import Any

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.types import TopicPartition
from tests.simulation.reading import value
from tests.simulation.world import World

ORDERS = tuple(TopicPartition("orders", number) for number in range(4))
INTERVAL = 3.0


def grouped(*, partitions: int = 4, nodes: int = 1, records: int = 0, **topics: int) -> World:
    """A world with a topic of some partitions, and so many records in each."""
    world = World(nodes=nodes, topics={"orders": partitions, **topics})
    world.control.configure_groups(GroupSettings(consumer_heartbeat_interval=INTERVAL))
    for number in range(partitions):
        for nth in range(records):
            world.control.append(TopicPartition("orders", number), value(nth))
    return world


def member(
    world: World, topics: Any = "orders", listener: object = None, **keys: Any
) -> KafkaConsumer:
    """A consumer by the consumer protocol that has subscribed and not polled."""
    keys.setdefault("group_protocol", "consumer")
    keys.setdefault("enable_auto_commit", False)
    keys.setdefault("auto_offset_reset", "earliest")
    consumer = world.consumer(None, **keys)
    consumer.subscribe(topics, listener)  # type: ignore[arg-type]
    return consumer


def joined(world: World, **keys: Any) -> KafkaConsumer:
    """The same, that has polled, and has its partitions."""
    consumer = member(world, **keys)
    consumer.poll(0.1)
    return consumer


def settle(*consumers: KafkaConsumer, seconds: float = 15.0, each: float = 0.1) -> None:
    """Have all of them poll in turn for a while."""
    for _ in range(round(seconds / each / len(consumers))):
        for consumer in consumers:
            consumer.poll(each)


def heartbeats(world: World, member_id: str | None = None) -> list[Any]:
    """The heartbeats on the wire, of all members or of one, oldest first."""
    said = [entry.body for entry in world.cluster.journal.entries("ConsumerGroupHeartbeat")]
    return [each for each in said if member_id in (None, each.member_id)]


def moments(world: World) -> list[float]:
    """When they were."""
    return [entry.at for entry in world.cluster.journal.entries("ConsumerGroupHeartbeat")]


class Notes:
    """A rebalance listener that writes down what it hears, and does what a test wants."""

    def __init__(self, **then: Callable[[frozenset[TopicPartition]], object]) -> None:
        self.heard: list[tuple[str, list[int]]] = []
        self.then = then

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Write it down."""
        self._note("revoked", partitions)

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Write it down."""
        self._note("assigned", partitions)

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Write it down."""
        self._note("lost", partitions)

    def _note(self, what: str, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append((what, numbers(partitions)))
        if what in self.then:
            self.then[what](partitions)


def numbers(partitions: Iterable[TopicPartition]) -> list[int]:
    """Partitions of one topic by their numbers."""
    return sorted(tp.partition for tp in partitions)
