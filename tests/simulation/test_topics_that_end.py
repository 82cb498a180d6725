"""Topics and partitions that end for a client: nothing of them is left but what the table has.

Each test lets a client live through one thing, gives it the time for what the table calls the
end of an entry, and then walks through all that can be reached from it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import pytest

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.metrics.lag_ages import AGES, LagAges
from prokurist.testing.cluster.group_settings import GroupSettings
from tests.object_graph import Trail, Wanted, trails
from tests.simulation.reading import value
from tests.simulation.world import World
from tests.topic_state import KEPT, Scenario

MAYFLY: Final = tuple(TopicPartition("mayfly", number) for number in range(3))
ORDERS: Final = tuple(TopicPartition("orders", number) for number in range(2))
AGE: Final = 30.0
"""Seconds after which metadata are asked for again in these worlds."""
LONG: Final = 4 * AGE
IDLE: Final = 2 * AGE
"""Seconds after which a producer forgets a topic that nothing is sent to."""


def world_of_two() -> World:
    """A world with a topic that stays and one that does not."""
    world = World(nodes=2, topics={"orders": len(ORDERS), "mayfly": len(MAYFLY)})
    world.control.configure_groups(GroupSettings(consumer_heartbeat_interval=3.0))
    return world


def write(world: World, *partitions: TopicPartition) -> None:
    """Write a record into each of some partitions; into all that there are without any."""
    present = [
        TopicPartition(name, number)
        for name, topic in world.cluster.state.topics.items()
        for number in range(len(topic.partitions))
    ]
    for tp in partitions or [each for each in present if not each.topic.startswith("__")]:
        world.control.append(tp, value(world.control.offsets(tp)[1]))


def id_of_mayfly(world: World) -> UUID:
    """The id that the topic has now."""
    return world.cluster.state.topics["mayfly"].id


def responsible(trail: Trail) -> str | None:
    """The line of the table that speaks of what was found: the innermost one."""
    for holder in reversed(trail.holders):
        if holder.is_native:
            named = [each for each in KEPT if each.partition(".")[0] in holder.classes]
        else:
            named = [each for each in holder.names if each in KEPT]
        if named:
            return named[0]
    return None


def left_by(
    client: KafkaConsumer | KafkaProducer, wanted: Wanted, scenario: Scenario
) -> set[str]:
    """The lines of the table by which a client still has something; asserts that there are.

    Args:
        client: The client.
        wanted: What has ended for it.
        scenario: By what.
    """
    client.metrics()  # What is noted from one reading to the next is noted anew.
    ages = LagAges()
    for each, noted in AGES._clients.items():
        if each.side is client._side:
            ages._clients[each] = noted
    found = {str(each): responsible(each) for each in trails((client, ages), wanted)}
    unknown = [way for way, line in found.items() if line is None]
    assert not unknown, "no line of the table speaks of:\n" + "\n".join(unknown)
    lines = {line for line in found.values() if line is not None}
    strange = [way for way, line in found.items() if scenario not in KEPT[str(line)].after]
    assert not strange, f"left after {scenario.value}:\n" + "\n".join(strange)
    return lines


# --- consumers -----------------------------------------------------------------------------


@dataclass
class Reader:
    """A consumer of both topics.

    Attributes:
        world: Where it lives.
        way: By hand, or as a member by one of the protocols, by names or by a pattern.
    """

    world: World
    way: str

    def __post_init__(self) -> None:
        self.consumer: KafkaConsumer = self.another()
        self.subscribe("orders", "mayfly")

    def another(self, **keys: Any) -> KafkaConsumer:
        """A consumer like this one, which reads nothing yet."""
        protocol = "consumer" if self.way.endswith("consumer") else "classic"
        settings: dict[str, Any] = {
            "group_protocol": protocol,
            "auto_offset_reset": "earliest",
            "auto_commit_interval_ms": 1000,
            "metadata_max_age_ms": round(1000 * AGE),
            **keys,
        }
        return self.world.consumer(None, **settings)

    def subscribe(self, *topics: str) -> None:
        """Read these topics and no others."""
        if self.way == "by hand":
            self.consumer.assign([tp for tp in ORDERS + MAYFLY if tp.topic in topics])
        elif self.way.startswith("pattern"):
            self.consumer.subscribe(re.compile("orders|mayfly"))
        else:
            self.consumer.subscribe(topics)

    def read(self, seconds: float, *others: KafkaConsumer) -> list[TopicPartition]:
        """The partitions of what is returned in a while, with the metrics read meanwhile."""
        found: list[TopicPartition] = []
        for nth in range(round(seconds / 0.5)):
            for consumer in (self.consumer, *others):
                found += [TopicPartition(r.topic, r.partition) for r in consumer.poll(0.5)]
                if not nth % 10:
                    consumer.metrics()
        return found


WAYS: Final = pytest.mark.parametrize(
    "way", ["by hand", "classic", "consumer", "pattern, classic", "pattern, consumer"]
)


def begun(way: str) -> Reader:
    """A reader that has read and committed of both topics."""
    reader = Reader(world_of_two(), way)
    write(reader.world)
    assert sorted(reader.read(20.0)) == sorted(ORDERS + MAYFLY)
    return reader


@WAYS
def test_a_topic_that_is_given_up_and_deleted(way: str) -> None:
    """B493: of a topic that is not read any more nothing stays, but what is bounded."""
    reader = begun(way)
    topic = id_of_mayfly(reader.world)
    with reader.consumer:
        reader.subscribe("orders")
        # The answer to a fetch that is on its way comes when its partitions are given up.
        reader.world.control.delete_topic("mayfly")
        write(reader.world)
        reader.read(LONG)
        left_by(reader.consumer, Wanted(["mayfly"], [topic]), Scenario.GIVEN_UP)
        write(reader.world)
        assert sorted(reader.read(5.0)) == sorted(ORDERS)


@WAYS
def test_a_topic_that_is_deleted_and_read_all_the_same(way: str) -> None:
    """B493: what is left waits for it; the other topic is read."""
    reader = begun(way)
    topic = id_of_mayfly(reader.world)
    with reader.consumer:
        reader.world.control.delete_topic("mayfly")
        reader.read(LONG)
        left_by(reader.consumer, Wanted(["mayfly"], [topic]), Scenario.GONE)
        write(reader.world)
        assert sorted(reader.read(5.0)) == sorted(ORDERS)


@WAYS
@pytest.mark.parametrize("partitions", [2, 4])
def test_a_topic_that_is_made_anew(way: str, partitions: int) -> None:
    """B493: neither its former id nor a partition that it lacks is known any more."""
    reader = begun(way)
    former = id_of_mayfly(reader.world)
    with reader.consumer:
        reader.world.control.recreate_topic("mayfly", partitions)
        reader.read(LONG)
        gone = MAYFLY[partitions:]
        left_by(reader.consumer, Wanted([], [former], gone), Scenario.ANEW)
        write(reader.world)
        read = reader.read(5.0)
        assert set(MAYFLY[:partitions]) <= set(read)
        assert not set(gone) & set(read)


@pytest.mark.parametrize(
    "way", ["classic", "consumer", "pattern, classic", "pattern, consumer"]
)
def test_partitions_that_another_member_has_for_a_while(way: str) -> None:
    """B493: nothing of them is left; given back, they are read on from its commits."""
    reader = begun(way)
    with reader.consumer:
        other = reader.another()
        other.subscribe(["orders", "mayfly"])
        reader.read(20.0, other)
        away = other.assignment()
        assert away
        assert away.isdisjoint(reader.consumer.assignment())
        write(reader.world)
        assert len(reader.read(20.0, other)) == len(ORDERS + MAYFLY)
        reader.read(LONG, other)
        left_by(reader.consumer, Wanted([], [], away), Scenario.AWAY)
        other.close()
        reader.read(20.0)
        assert away < reader.consumer.assignment()
        write(reader.world)
        assert sorted(reader.read(20.0)) == sorted(ORDERS + MAYFLY)


def test_partitions_that_are_assigned_again() -> None:
    """B493: nothing of them is left meanwhile; they are read on from what is committed."""
    reader = begun("by hand")
    with reader.consumer:
        reader.consumer.commit_sync()
        reader.subscribe("orders")
        reader.read(LONG)
        left_by(reader.consumer, Wanted([], [], MAYFLY), Scenario.AWAY)
        write(reader.world)
        reader.subscribe("orders", "mayfly")
        assert sorted(reader.read(20.0)) == sorted(ORDERS + MAYFLY)


# --- producers -----------------------------------------------------------------------------


@dataclass
class Writer:
    """A producer to both topics.

    Attributes:
        world: Where it lives.
        idempotent: Whether it numbers its batches.
    """

    world: World
    idempotent: bool

    def __post_init__(self) -> None:
        self.producer: KafkaProducer = self.world.producer(
            None,
            enable_idempotence=self.idempotent,
            metadata_max_age_ms=round(1000 * AGE),
            metadata_max_idle_ms=round(1000 * IDLE),
            max_block_ms=2000,
            delivery_timeout_ms=10_000,
            request_timeout_ms=5000,
            linger_ms=5,
        )

    def write(self, partitions: Sequence[TopicPartition]) -> int:
        """Send a record to each of some partitions: how many were delivered."""
        sent = [self.producer.send(tp.topic, b"v", partition=tp.partition) for tp in partitions]
        sent += [self.producer.send(tp.topic, b"v") for tp in partitions[:1]]
        return sum(delivery.exception(30.0) is None for delivery in sent)

    def go_on(self, seconds: float, partitions: Sequence[TopicPartition] = ORDERS) -> None:
        """Send to some partitions every few seconds, for a while."""
        for _ in range(round(seconds / 5.0)):
            self.write(partitions)
            self.world.clock.sleep(5.0)
            self.producer.metrics()


NUMBERED: Final = pytest.mark.parametrize("idempotent", [True, False])


def sent_to_both(*, idempotent: bool) -> Writer:
    """A producer that has sent to both topics."""
    writer = Writer(world_of_two(), idempotent)
    assert writer.write(MAYFLY) == len(MAYFLY) + 1
    assert writer.write(ORDERS) == len(ORDERS) + 1
    return writer


@NUMBERED
def test_a_topic_that_nothing_is_sent_to_any_more(idempotent: bool) -> None:  # noqa: FBT001
    """B493: what is left once it was idle is bounded; used again, it takes records."""
    writer = sent_to_both(idempotent=idempotent)
    topic = id_of_mayfly(writer.world)
    with writer.producer:
        writer.go_on(LONG)
        assert writer.write(MAYFLY) == len(MAYFLY) + 1
        writer.world.control.delete_topic("mayfly")
        writer.go_on(2 * LONG)
        left_by(writer.producer, Wanted(["mayfly"], [topic]), Scenario.GIVEN_UP)


@NUMBERED
def test_a_topic_that_is_sent_to_and_made_anew(idempotent: bool) -> None:  # noqa: FBT001
    """B493: its former id, and a partition that it lacks, are known where numbers are alone."""
    writer = sent_to_both(idempotent=idempotent)
    former = id_of_mayfly(writer.world)
    with writer.producer:
        writer.world.control.recreate_topic("mayfly", 2)
        writer.go_on(LONG, ORDERS + MAYFLY[:2])
        left_by(writer.producer, Wanted([], [former], MAYFLY[2:]), Scenario.ANEW)
        assert writer.write(MAYFLY[:2]) == 3


def test_numbers_that_were_forgotten_begin_again_under_another_epoch() -> None:
    """B533: under the same one a broker would take what is new for what it has."""
    writer = sent_to_both(idempotent=True)
    control = writer.world.control
    with writer.producer:
        writer.go_on(LONG)
        assert all(queue.tp in ORDERS for queue in writer.producer._accumulator.queues())
        (before,) = control.producers(MAYFLY[0]).values()
        sent = [writer.producer.send(tp.topic, b"v", partition=tp.partition) for tp in MAYFLY]
        ends = [control.offsets(tp)[1] for tp in MAYFLY]
        assert [delivery.result().offset for delivery in sent] == ends
        (after,) = control.producers(MAYFLY[0]).values()
        assert after.epoch > before.epoch
        # Nothing is forgotten meanwhile, so that no further epoch begins.
        writer.go_on(LONG, ORDERS + MAYFLY)
        assert writer.write(MAYFLY) == len(MAYFLY) + 1
        (later,) = control.producers(MAYFLY[0]).values()
        assert later.epoch == after.epoch


def test_a_partition_that_is_gone_is_kept_until_nothing_of_it_is_on_its_way() -> None:
    """B533: a batch that is sent again waits there, until its time is over."""
    writer = sent_to_both(idempotent=True)
    world, producer = writer.world, writer.producer
    gone = MAYFLY[2]
    with producer:
        with world.control.hold("Produce"):
            late = producer.send(gone.topic, b"v", partition=gone.partition)
            world.clock.sleep(1.0)
            world.control.recreate_topic("mayfly", 2)
            # The request's time is over, and the cluster is asked who leads now.
            world.clock.sleep(6.0)
            assert list(producer._accumulator.directory.gone) == [gone]
            assert not late.done()
        assert late.exception() is not None
        writer.go_on(LONG, ORDERS + MAYFLY[:2])
        assert not producer._accumulator.directory.gone
        world.control.add_partitions("mayfly", 3)
        world.clock.sleep(AGE)
        assert writer.write(MAYFLY) == len(MAYFLY) + 1


@NUMBERED
def test_a_topic_is_forgotten_while_a_record_for_it_waits_for_memory(
    idempotent: bool,  # noqa: FBT001
) -> None:
    """B534: the batch is begun where the network thread looks for it."""
    world = world_of_two()
    producer = world.producer(
        None,
        enable_idempotence=idempotent,
        metadata_max_age_ms=round(1000 * AGE),
        metadata_max_idle_ms=round(1000 * IDLE),
        max_block_ms=300_000,
        delivery_timeout_ms=400_000,
        request_timeout_ms=300_000,
        buffer_memory=40_000,
    )
    with producer:
        producer.send("mayfly", b"v", partition=0).result()
        held = world.control.hold("Produce")
        filling = [producer.send("orders", b"x" * 16_000, partition=each) for each in (0, 1)]
        world.at(world.clock.time + LONG, held.undo)
        delivery = producer.send("mayfly", b"w" * 16_000, partition=0)
        assert delivery.result(10.0).offset == 1
        assert all(each.exception() is None for each in filling)
