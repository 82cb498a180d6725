"""Members of groups in virtual time: several consumers of one program that poll in turn."""

from collections.abc import Callable, Iterable
from typing import Any

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.membership.classic.member import ClassicMember
from prokurist.network_thread.membership.classic.state import ClassicState
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.classic_group import ClassicGroup, Phase
from prokurist.testing.cluster.journal import Entry
from prokurist.types import TopicPartition
from tests.simulation.world import World

TURN = 0.05
"""How long each of several consumers polls before the next does."""

OPEN: list[KafkaConsumer] = []
"""Those of the present test, which its end closes."""


class Heard:
    """A listener that writes down what it hears, and does something then.

    Attributes:
        said: Which callback, and about what, in order.
        then: Called at the end of a callback, by its name.
    """

    def __init__(self, **then: Callable[[], object]) -> None:
        self.said: list[tuple[str, frozenset[TopicPartition]]] = []
        self.then = then

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        self._hear("revoked", partitions)

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        self._hear("assigned", partitions)

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        self._hear("lost", partitions)

    def _hear(self, what: str, partitions: frozenset[TopicPartition]) -> None:
        self.said.append((what, partitions))
        if what in self.then:
            self.then[what]()

    def what(self) -> list[str]:
        """Which callbacks, in order."""
        return [each for each, _ in self.said]


def consumer_in(
    world: World, client_id: str, cap: Versions | None = None, **keys: Any
) -> KafkaConsumer:
    """A consumer that need not be closed."""
    consumer = world.consumer(cap, client_id=client_id, **keys)
    OPEN.append(consumer)
    return consumer


def part(worlds: Iterable[World]) -> None:
    """Close what is open yet."""
    for world in worlds:
        world.control.heal()
        world.control.thaw()
    while OPEN:
        OPEN.pop().close(5.0)


def orders(*numbers: int) -> frozenset[TopicPartition]:
    """Partitions of the topic that every world has."""
    return frozenset(TopicPartition("orders", number) for number in numbers)


def live(
    world: World,
    *consumers: KafkaConsumer,
    seconds: float = 30.0,
    until: Callable[[], bool] = lambda: False,
) -> float:
    """Have consumers poll in turn until something holds: how long that took."""
    began = world.clock.time
    while not until() and world.clock.time < began + seconds:
        for each in consumers:
            each.poll(TURN)
    return world.clock.time - began


def settle(world: World, *consumers: KafkaConsumer, seconds: float = 30.0) -> float:
    """The same until all of them are members of one generation, with their parts."""
    took = live(world, *consumers, seconds=seconds, until=lambda: settled(world, *consumers))
    assert settled(world, *consumers), [member_of(each) for each in consumers]
    return took


def settled(world: World, *consumers: KafkaConsumer) -> bool:
    """Whether nothing is left to be shared out, and the group is made of these."""
    group = group_of(world)
    places = {each.group_metadata().member_id: each for each in consumers}
    return (
        group.phase is Phase.STABLE
        and group.members.keys() == places.keys()
        and all(member_of(each).state is ClassicState.STABLE for each in consumers)
        and {each.group_metadata().generation_id for each in consumers} == {group.generation}
    )


def group_of(world: World) -> ClassicGroup:
    """The group as its coordinator keeps it."""
    group = world.cluster.state.group("g").membership
    assert isinstance(group, ClassicGroup)
    return group


def member_of(consumer: KafkaConsumer) -> ClassicMember:
    """Its place in its group."""
    side = consumer._built()
    membership = side.membership
    assert isinstance(membership, ClassicMember)
    return membership


def joined(world: World, number: int = 1, **keys: Any) -> list[KafkaConsumer]:
    """Members of one group that have their parts."""
    consumers = []
    for each in range(number):
        consumer = consumer_in(world, f"c{each}", **keys)
        consumer.subscribe("orders")
        consumers.append(consumer)
    settle(world, *consumers)
    return consumers


def asked(world: World, api: ApiName, client_id: str | None = None) -> list[Entry]:
    """What reached a broker of an API, of one client."""
    entries = world.cluster.journal.entries(api)
    return [each for each in entries if client_id in (None, each.client_id)]
