"""When a member's network thread lets others go first, in virtual time."""

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from tests.simulation.classic_members import consumer_in, live
from tests.simulation.world import World


def gives_way(consumer: KafkaConsumer) -> bool:
    """Whether its network thread does now."""
    group = consumer._built().group
    assert group is not None
    return group.giving_way.now


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_gives_way_while_its_group_is_shared_out(protocol: str) -> None:
    """From its first poll until it has something to read; and again when another comes.

    Who has nothing to do with a group's being shared out never does.
    """
    world = World()
    one, other = (
        consumer_in(world, name, group_protocol=protocol) for name in ("one", "other")
    )
    one.subscribe("orders")
    assert not gives_way(one)
    one.poll(0)
    world.clock.sleep(0.01)
    assert gives_way(one)
    live(world, one, until=lambda: bool(one.assignment()))
    assert gives_way(one)
    live(world, one, seconds=10.0)
    assert not gives_way(one)
    other.subscribe("orders")
    live(world, one, other, until=lambda: gives_way(one))
    assert gives_way(other)
    live(world, one, other, until=lambda: bool(other.assignment()))
    assert other.assignment()
    live(world, one, other, seconds=10.0)
    assert not gives_way(one)
    assert not gives_way(other)
