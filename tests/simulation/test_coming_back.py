"""What a poll keeps of its time while its group is being shared out, in virtual time."""

import math

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import WakeupException
from tests.simulation import joining
from tests.simulation.classic_members import consumer_in, joined, live, orders, settle
from tests.simulation.world import World


def length(world: World, consumer: KafkaConsumer, seconds: float) -> float:
    """How long an empty poll lasts."""
    began = world.clock.time
    assert not consumer.poll(seconds)
    return world.clock.time - began


@pytest.mark.parametrize(
    ("seconds", "lasts"), [(0.05, 0.045), (0.2, 0.18), (5.0, 4.98), (0, 0)]
)
def test_who_waits_for_a_part_comes_back_before_the_time_is_over(
    seconds: float, lasts: float
) -> None:
    """Issue 6: a tenth and 20 ms at most; in the first poll, and in those that join."""
    world = World()
    joined(world, 2)  # They do not poll any more, so that nobody gets a part.
    late = consumer_in(world, "late")
    late.subscribe("orders")
    for _ in range(3):
        assert length(world, late, seconds) == pytest.approx(lasts, abs=0.001)


def test_who_has_partitions_and_no_round_waits_all_of_it() -> None:
    """B28: and again when the round is over; in the round itself, less."""
    world = World()
    one, other = joined(world, 2)
    live(world, one, other, seconds=1.0)
    assert length(world, one, 0.2) == pytest.approx(0.2)
    one.enforce_rebalance()
    assert length(world, one, 0.2) == pytest.approx(0.18)
    settle(world, one, other)
    live(world, one, other, seconds=1.0)
    assert length(world, one, 0.2) == pytest.approx(0.2)


def test_a_poll_that_gets_its_part_comes_back_early_too() -> None:
    """In that moment all members compute: what a poll keeps, it keeps to its end."""
    world = World()
    one, _other = joined(world, 2, max_poll_interval_ms=10_000)
    one.enforce_rebalance()
    assert length(world, one, 30.0) == pytest.approx(29.98)  # The other is out after ten.
    assert one.assignment() == orders(0, 1, 2)
    assert length(world, one, 0.2) == pytest.approx(0.2)


def test_who_gets_nothing_comes_back_early_for_ever() -> None:
    """More members than partitions: whoever has none may be given some at any time."""
    world = World()
    members = joined(world, 4)
    (spare,) = [each for each in members if not each.assignment()]
    assert length(world, spare, 0.2) == pytest.approx(0.18)


def test_the_consumer_protocol_does_the_same() -> None:
    """KIP-848: until there is a part and a position in it."""
    world = joining.grouped()
    with joining.member(world) as consumer:
        world.control.freeze()
        assert length(world, consumer, 0.2) == pytest.approx(0.18)
        world.control.thaw()
        joining.settle(consumer)
        assert length(world, consumer, 0.2) == pytest.approx(0.2)


def test_an_iteration_is_idle_for_as_long_as_it_was_told() -> None:
    """It ends then, where a poll would be made again."""
    world = World()
    joined(world, 2)
    late = consumer_in(world, "late")
    late.subscribe("orders")
    began = world.clock.time
    assert not list(late.records(idle_timeout=0.2))
    assert world.clock.time - began == pytest.approx(0.2)


def test_a_poll_without_an_end_has_none() -> None:
    """Nothing is kept of what never ends."""
    world = World()
    joined(world, 2)
    late = consumer_in(world, "late")
    late.subscribe("orders")
    world.at(world.clock.time + 1000.0, late.wakeup)
    with pytest.raises(WakeupException):
        late.poll(math.inf)
