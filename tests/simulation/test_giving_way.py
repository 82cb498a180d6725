"""When a member's network thread keeps still for the end of a poll, in virtual time."""

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.giving_way import AFTERWARDS, NEAR, GivingWay
from prokurist.testing.cluster.apis import ApiName
from tests.simulation.classic_members import Heard, consumer_in, live, orders
from tests.simulation.world import World

POLL = 0.2
NOT_NOW = 14
"""COORDINATOR_LOAD_IN_PROGRESS: it is asked again and again."""

JOINS: dict[str, ApiName] = {"classic": "JoinGroup", "consumer": "ConsumerGroupHeartbeat"}


def giving_way(consumer: KafkaConsumer) -> GivingWay:
    """Its network thread's."""
    group = consumer._built().group
    assert group is not None
    return group.giving_way


class Rests:
    """Every rest that a network thread would take: it is noted, and ends at once."""

    def __init__(self, world: World, consumer: KafkaConsumer) -> None:
        self._world = world
        self.taken: list[tuple[float, float]] = []
        giving_way(consumer)._rest = self._note

    def _note(self, seconds: float) -> None:
        now = self._world.clock.now()
        self.taken.append((now, now + seconds))


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
    assert not giving_way(one).now
    one.poll(0)
    world.clock.sleep(0.01)
    assert giving_way(one).now
    live(world, one, until=lambda: bool(one.assignment()))
    assert giving_way(one).now
    live(world, one, seconds=10.0)
    assert not giving_way(one).now
    other.subscribe("orders")
    live(world, one, other, until=lambda: giving_way(one).now)
    assert giving_way(other).now
    live(world, one, other, until=lambda: bool(other.assignment()))
    assert other.assignment()
    live(world, one, other, seconds=10.0)
    assert not giving_way(one).now
    assert not giving_way(other).now


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_nothing_is_begun_near_the_end_of_a_poll(protocol: str) -> None:
    """A member that asks again every few milliseconds lets each poll end first."""
    world = World()
    one = consumer_in(
        world, "one", group_protocol=protocol, retry_backoff_ms=5, retry_backoff_max_ms=5
    )
    rests = Rests(world, one)
    fault = world.control.fail(JOINS[protocol], NOT_NOW, times=None)
    one.subscribe("orders")
    for _ in range(5):
        began = world.clock.now()
        rests.taken.clear()
        assert not one.poll(POLL)
        end = world.clock.now()
        assert end == pytest.approx(began + POLL)
        assert rests.taken
        for since, until in rests.taken:
            assert end - NEAR <= since <= end
            assert until == pytest.approx(end + NEAR)
    fault.undo()
    live(world, one, until=lambda: bool(one.assignment()))
    live(world, one, seconds=2 * AFTERWARDS)
    rests.taken.clear()
    for _ in range(50):
        one.poll(POLL)
    assert not rests.taken


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_listener_asks_for_is_not_kept_waiting(protocol: str) -> None:
    """It runs inside a poll, which may be near its end or beyond it."""
    world = World()
    one = consumer_in(world, "one", group_protocol=protocol)
    rests = Rests(world, one)
    asked = list[float]()

    def look_up() -> None:
        rests.taken.clear()
        # The poll's end is near now, wherever in it the listener was called.
        for _ in range(20):
            world.clock.sleep(POLL / 20)
            asked.append(world.clock.now())
            one.committed(orders(0))
        assert not rests.taken

    one.subscribe("orders", listener=Heard(assigned=look_up))
    for _ in range(50):
        one.poll(POLL)
    assert len(asked) == 20
