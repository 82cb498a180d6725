"""B265: a member that has nothing to do turns no more often than its heartbeats."""

import pytest

from prokurist.testing.cluster.apis import ApiName
from tests.simulation.joining import INTERVAL, Notes, grouped, joined, member
from tests.simulation.world import World

MINUTE = 60.0
A_HEARTBEAT = 4
"""Turns that a heartbeat and its answer take at most."""


def turns_of_a_minute(world: World) -> int:
    """How often a loop turns without calls."""
    network = world.members[0].network
    before = network.turns
    world.clock.sleep(MINUTE)
    return network.turns - before


def test_a_member_at_rest() -> None:
    """A heartbeat every interval, and nothing between."""
    world = grouped()
    with joined(world):
        assert turns_of_a_minute(world) <= A_HEARTBEAT * (MINUTE / INTERVAL + 2)


def test_a_member_that_waits_for_a_poll_to_hear_what_comes() -> None:
    """The application thread is not asked twice."""
    world = grouped()
    with member(world, listener=Notes()) as consumer:
        consumer.poll(0.0)
        world.clock.sleep(1.0)
        assert turns_of_a_minute(world) <= A_HEARTBEAT * (MINUTE / INTERVAL + 2)


def test_a_member_that_has_failed_or_is_late() -> None:
    """Nothing at all."""
    world = grouped()
    with joined(world, max_poll_interval_ms=5000):
        world.clock.sleep(30.0)
        assert turns_of_a_minute(world) == 0


@pytest.mark.parametrize("api", ["ConsumerGroupHeartbeat", "FindCoordinator"])
def test_a_member_whose_coordinator_is_silent(api: ApiName) -> None:
    """What is in flight is waited for."""
    world = grouped()
    with member(world) as consumer:
        world.control.hold(api)
        consumer.poll(0.5)
        assert turns_of_a_minute(world) < 60
        world.control.heal()


def test_a_member_that_the_coordinator_refuses_again_and_again() -> None:
    """B141: fenced before it has joined, a client joins again with pauses."""
    world = grouped()
    world.control.fail("ConsumerGroupHeartbeat", 110, times=None)
    with member(world) as consumer:
        consumer.poll(0.5)
        assert turns_of_a_minute(world) < 60 * A_HEARTBEAT
        world.control.heal()
        consumer.poll(2.0)
        assert consumer.assignment()
