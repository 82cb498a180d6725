"""Which partitions records without a key go to: P29 and P30."""

from collections import Counter
from collections.abc import Iterable

import pytest

from prokurist import Delivery, KafkaProducer
from tests.simulation.world import World

SIZE = 1000
BATCH = 4000


def shares(deliveries: Iterable[Delivery], partitions: int) -> list[int]:
    """How many records each partition got."""
    found = Counter(each.partition for each in deliveries)
    assert found.keys() <= set(range(partitions))
    return [found[number] for number in range(partitions)]


def sent(world: World, producer: KafkaProducer, count: int, pause: float) -> list[Delivery]:
    """Records without a key, one after the other."""
    deliveries = []
    for _ in range(count):
        deliveries.append(producer.send("orders", b"x" * SIZE))
        world.clock.sleep(pause)
    return deliveries


def check_even(found: list[int]) -> None:
    """Within a tenth of the mean."""
    mean = sum(found) / len(found)
    assert 0.9 * mean < min(found)
    assert max(found) < 1.1 * mean


@pytest.mark.parametrize("adaptive", [True, False])
def test_shares_are_even(adaptive: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """P29, B321: over sixty partitions, and over those that are left; without a leader none."""
    world = World(nodes=3, topics={})
    world.control.create_topic("orders", 60, replication=1)
    with world.producer(
        batch_size=BATCH, partitioner_adaptive_partitioning_enable=adaptive
    ) as producer:
        deliveries = sent(world, producer, 12_100, 0.0001)
        producer.flush(30.0)
        assert all(each.offset is not None for each in deliveries)
        check_even(shares(deliveries, 60))

        world.control.kill(3)
        world.clock.sleep(2.0)
        left = [each.partition for each in producer.partitions_for("orders") if each.leader]
        assert len(left) == 40
        deliveries = sent(world, producer, 8000, 0.0001)
        producer.flush(30.0)
        assert all(each.offset is not None for each in deliveries)
        found = shares(deliveries, 60)
        assert not sum(found[number] for number in range(60) if number not in left)
        check_even([found[number] for number in left])


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_slow_broker(adaptive: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """P30: the partitions of one that is ten times slower get less, if that is wanted."""
    world = World(nodes=3, topics={"orders": 3})
    leads = [each.leader for each in world.cluster.state.topics["orders"].partitions]
    for node in world.cluster.state.brokers:
        slow = node == leads[0]
        world.control.delay("Produce", 0.5 if slow else 0.05, node=node)
    with world.producer(
        batch_size=BATCH,
        max_in_flight_requests_per_connection=1,
        max_request_size=2 * BATCH,
        partitioner_adaptive_partitioning_enable=adaptive,
        buffer_memory=1 << 30,
    ) as producer:
        deliveries = sent(world, producer, 3000, 0.002)
        producer.flush(1000.0)
        assert all(each.offset is not None for each in deliveries)
    found = shares(deliveries, 3)
    if adaptive:
        assert found[0] < 0.5 * min(found[1:])
        assert found[1] == pytest.approx(found[2], rel=0.1)
    else:
        assert max(found) < 1.1 * min(found)
