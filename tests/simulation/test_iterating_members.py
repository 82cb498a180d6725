"""Members that iterate: over what was lent once they may work for as long as they like."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from prokurist import KafkaConsumer, errors
from prokurist.types import TopicPartition
from tests.simulation.joining import INTERVAL, Notes, grouped
from tests.simulation.reading import value
from tests.simulation.world import World

PROTOCOLS = ("consumer", "classic")


def lent(records: int = 40, partitions: int = 1) -> World:
    """A world in which one poll could return everything."""
    world = grouped(partitions=partitions)
    for number in range(partitions):
        values = [value(nth) for nth in range(records)]
        world.control.append(TopicPartition("orders", number), *values)
    return world


def member(world: World, protocol: str, listener: object = None, **keys: Any) -> KafkaConsumer:
    """A consumer that has subscribed."""
    consumer = world.consumer(
        group_protocol=protocol,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_interval_ms=10_000,
        **keys,
    )
    consumer.subscribe("orders", listener)  # type: ignore[arg-type]
    return consumer


def ends(world: World) -> list[float]:
    """When members have left."""
    beats = world.cluster.journal.entries("ConsumerGroupHeartbeat")
    left = [each.at for each in beats if each.body.member_epoch < 0]
    return left + [each.at for each in world.cluster.journal.entries("LeaveGroup")]


def worked(world: World, records: Iterator[Any], each: float, most: int) -> list[int]:
    """The offsets of so many records, each of which takes so long."""
    got = []
    for record in islice(records, most):
        world.clock.sleep(each)
        got.append(record.offset)
    return got


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_batch_may_take_longer_than_the_interval(protocol: str) -> None:
    """B120: each step is a sign of life, though no poll comes for minutes."""
    world = lent()
    with member(world, protocol) as consumer:
        assert worked(world, iter(consumer), 5.0, 40) == list(range(40))
        assert not ends(world)
        consumer.commit_sync()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_record_may_not(protocol: str) -> None:
    """B121, B150: out at max.poll.interval.ms after its step, and an eighth of it later."""
    world = lent()
    notes = Notes()
    with member(world, protocol, notes) as consumer:
        records = iter(consumer)
        worked(world, records, 3.0, 10)
        next(records)
        began = world.clock.time
        world.clock.sleep(30.0)
        (left,) = ends(world)
        assert 10.0 <= left - began <= 11.3
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync()
        next(records)
        assert [what for what, _ in notes.heard] == ["assigned", "lost", "assigned"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_group_waits_for_one_record_and_not_for_the_batch(protocol: str) -> None:
    """B123, B146: the next step is a poll where one is asked for, and goes on behind it."""
    world = lent(records=200, partitions=2)
    notes = Notes()
    with member(world, protocol, notes) as first, member(world, protocol) as second:
        records = iter(first)
        worked(world, records, 0.5, 3)
        second.poll(0.1)
        got = worked(world, records, 0.5, round(3 * INTERVAL / 0.5))
        for _ in range(20):
            got += worked(world, records, 0.1, 1)
            second.poll(0.1)
        assert len(first.assignment()) == len(second.assignment()) == 1
        assert ("revoked", [1]) in notes.heard or ("revoked", [0, 1]) in notes.heard
        assert not ends(world)
        in_order = sorted(set(got))
        assert in_order == list(range(in_order[0], in_order[-1] + 1))


def test_a_subscription_that_changes_in_the_loop_is_seen_at_the_next_step() -> None:
    """B128: and what is in hand counts as returned."""
    world = lent()
    world.control.create_topic("bills", 1)
    with member(world, "consumer") as consumer:
        records = iter(consumer)
        worked(world, records, 0.1, 5)
        consumer.subscribe(["orders", "bills"])
        for _ in range(5):
            worked(world, records, 1.0, 1)
        assert len(consumer.assignment()) == 2
