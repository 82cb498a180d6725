"""Which broker is asked, and what shares a connection with what."""

import math

import pytest

from prokurist.errors import TimeoutException
from prokurist.events.application_events import Commit, LookUpCommitted
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.connections.requests import Lane
from prokurist.types import Node, OffsetAndMetadata, TopicPartition
from tests.simulation.direct_requests import Asked, general, node, warm
from tests.simulation.world import Member, World

TP = TopicPartition("orders", 0)


def name_of(coordinator: Coordinator) -> str | None:
    """Who coordinates, at this moment."""
    return coordinator.name


def choice(world: World, member: Member) -> int | None:
    """Who is asked next, of all."""
    member.side.timer.now = world.clock.time
    nodes = [each.node for each in world.cluster.state.brokers.values()]
    chosen = member.side.client.least_loaded(nodes)
    return None if chosen is None else chosen.id


def test_the_ready_node_with_the_fewest_in_flight_is_chosen() -> None:
    """B210: before one that is coming up, and before one that was not tried."""
    world = World(nodes=4)
    member = world.client()
    assert choice(world, member) == 1
    warm(world, member, 2)
    warm(world, member, 3)
    assert choice(world, member) == 2
    world.control.freeze()
    Asked(world, member, node(world, 2))
    world.clock.sleep(0.1)
    assert choice(world, member) == 3
    Asked(world, member, node(world, 3))
    Asked(world, member, node(world, 3))
    world.clock.sleep(0.1)
    assert choice(world, member) == 2


def test_one_that_comes_up_is_chosen_before_one_that_is_down() -> None:
    """B210: what is on its way is sooner there."""
    world = World(nodes=2)
    member = world.client()
    world.control.freeze()
    Asked(world, member, node(world, 2))
    world.clock.sleep(0.1)
    assert choice(world, member) == 2


def test_one_that_has_been_coming_up_for_long_is_chosen_last() -> None:
    """B210: it may swallow everything; but it is chosen when there is no other."""
    world = World(nodes=2)
    member = world.client()
    world.control.freeze(2)
    Asked(world, member, node(world, 2))
    world.clock.sleep(1.1)
    assert choice(world, member) == 1
    world.control.kill(1)
    Asked(world, member, node(world, 1))
    world.clock.sleep(0.01)
    assert choice(world, member) == 2


def test_throttled_nodes_and_such_in_a_backoff_are_passed_over() -> None:
    """B210: None when there is no other, and `next_chance` says when to come again."""
    world = World(nodes=2)
    member = world.client()
    with world.control.throttle("FindCoordinator", 5.0, node=1, times=1):
        warm(world, member, 1)
    assert choice(world, member) == 2
    world.control.kill(2)
    Asked(world, member, node(world, 2))
    world.clock.sleep(0.01)
    assert choice(world, member) is None
    client = member.side.client
    chance = client.next_chance([node(world, 1), node(world, 2)])
    assert chance == general(member, 2)._retry_at
    assert client.next_chance([node(world, 1)]) == pytest.approx(
        world.clock.time + 4.0, abs=0.1
    )
    world.clock.sleep(0.1)
    assert choice(world, member) == 2


def test_who_refuses_is_followed_by_the_next() -> None:
    """B204, B210: with several that are down, all of them get their turn."""
    world = World(nodes=3)
    member = world.client()
    for number in (1, 2, 3):
        world.control.kill(number)
    chosen = []
    for _ in range(6):
        now = choice(world, member)
        assert now is not None
        chosen.append(now)
        Asked(world, member, node(world, now))
        world.clock.sleep(3.0)
    assert sorted(chosen[:3]) == [1, 2, 3]
    assert chosen[3:] == chosen[:3]


def test_clients_with_one_bootstrap_list_do_not_all_begin_at_its_first() -> None:
    """B210: of equals any, so that the first broker does not carry all requests."""
    world = World(nodes=3)
    assert {choice(world, world.client()) for _ in range(40)} == {1, 2, 3}


def test_the_backoff_of_an_old_address_is_not_the_new_ones() -> None:
    """B210: a broker that has moved may be tried at once."""
    world = World()
    member = world.client()
    world.control.kill(1)
    Asked(world, member, node(world))
    world.clock.sleep(0.01)
    client = member.side.client
    assert client.least_loaded([node(world)]) is None
    new = Node(1, "10.0.0.9", 9092)
    assert client.least_loaded([new]) == new
    assert client.next_chance([new]) <= world.clock.time


@pytest.mark.parametrize("nodes", [1, 3])
def test_bootstrap_addresses_are_asked_until_metadata_is_there(nodes: int) -> None:
    """B210: with one dead address among them no request waits for a second."""
    world = World(nodes=nodes)
    member = world.client()
    if nodes > 1:
        world.control.kill(1)
    began = world.clock.time
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(1)}))
    assert world.clock.time - began < 0.5


def test_a_bootstrap_address_that_swallows_everything_costs_one_setup() -> None:
    """B205: then the next one is asked."""
    world = World(nodes=2)
    member = world.client()
    member.network.block("10.0.0.1", 9092)
    world.control.move_coordinator("g", 2)
    began = world.clock.time
    world.ask(member, Commit(world.call("commit_sync", 60.0), {TP: OffsetAndMetadata(1)}))
    assert world.clock.time - began < 13.0


def test_a_held_coordinator_request_does_not_delay_a_general_one() -> None:
    """B217: two lanes are two connections to the same broker."""
    world = World()
    member = world.client()
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(1)}))
    held = world.control.hold("OffsetFetch")
    call = world.call("committed", 30.0)
    member.thread.mailbox.post(LookUpCommitted(call, (TP,)))
    world.clock.sleep(0.1)
    began = world.clock.time
    asked = Asked(world, member, node(world))
    world.clock.sleep(1.0)
    assert asked.at is not None
    assert asked.at - began < 0.1
    held.undo()
    assert world.clock.wait(call.waiter, math.inf)
    lanes = {lane for _, lane in member.side.client._connections}
    assert lanes == {Lane.GENERAL, Lane.COORDINATOR}


def test_a_held_general_request_does_not_delay_a_commit() -> None:
    """B217: the same the other way round."""
    world = World()
    member = world.client()
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(1)}))
    held = world.control.hold("FindCoordinator")
    asked = Asked(world, member, node(world))
    world.clock.sleep(0.1)
    began = world.clock.time
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(2)}))
    assert world.clock.time - began < 0.1
    assert not asked.ended
    held.undo()


def test_a_coordinator_that_stays_away_is_no_storm() -> None:
    """B219: for two minutes of it, a bounded number of connects, requests and turns."""
    world = World()
    member = world.client()
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(1)}))
    with world.control.cut("OffsetCommit", times=None):
        connects, turns = member.network.connects, member.network.turns
        received = world.cluster.journal.received
        with pytest.raises(TimeoutException):
            world.ask(
                member, Commit(world.call("commit_sync", 120.0), {TP: OffsetAndMetadata(2)})
            )
    assert world.control.sessions() <= 3
    assert member.network.connects - connects < 150
    assert world.cluster.journal.received - received < 700
    assert member.network.turns - turns < 3000


def test_a_coordinator_whose_connection_drops_is_looked_up_again() -> None:
    """B219: its own connection going down forgets it; a general one's does not."""
    world = World()
    member = world.client()
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(1)}))
    coordinator = member.side.coordinator
    assert coordinator is not None
    connections = member.side.client._connections
    general_one = next(each for (_, lane), each in connections.items() if lane is Lane.GENERAL)
    own = next(each for (_, lane), each in connections.items() if lane is Lane.COORDINATOR)
    general_one.failed(TimeoutException("gone"))
    assert name_of(coordinator) is not None
    own.failed(TimeoutException("gone"))
    assert name_of(coordinator) is None
    world.ask(member, Commit(world.call("commit_sync", 5.0), {TP: OffsetAndMetadata(2)}))
