"""Who a broker says it is: its greeting, and the address that it moves to."""

import pytest

from prokurist.errors import DisconnectException
from prokurist.network_thread.connections.requests import Lane
from prokurist.testing.cluster.cluster import Cluster
from prokurist.types import Node
from tests.simulation.direct_requests import Asked, node, warm
from tests.simulation.world import LATENCY, World


def test_a_broker_with_old_greetings_only_is_greeted_as_it_wants() -> None:
    """Contract 4: UNSUPPORTED_VERSION names what to ask in; no reconnect for it."""
    world = World()
    member = world.client()
    world.control.offer("ApiVersions", 0, 2)
    warm(world, member)
    greetings = world.cluster.journal.entries("ApiVersions")
    assert [each.version for each in greetings] == [4, 2]
    assert member.network.connects == 1


def test_a_broker_that_refuses_every_greeting_is_not_asked_for_ever() -> None:
    """Contract 4: error 35 again and again goes down the versions, and then away."""
    world = World()
    member = world.client()
    world.control.fail("ApiVersions", 35, times=None)
    asked = Asked(world, member, node(world))
    world.clock.sleep(0.5)
    assert type(asked.error) is DisconnectException
    assert len(world.cluster.journal.entries("ApiVersions")) <= 5


def test_a_greeting_that_is_refused_otherwise_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Contract 4: any other error; it is logged, and tried again after the backoff."""
    world = World()
    member = world.client()
    with world.control.fail("ApiVersions", 42, times=1):
        asked = Asked(world, member, node(world))
        world.clock.sleep(0.5)
    assert "refused ApiVersions" in str(asked.error)
    assert "refused ApiVersions" in caplog.text
    assert asked.error is not None
    assert asked.error.retriable
    warm(world, member)


def test_a_client_id_that_cannot_be_encoded_fails_the_request_only() -> None:
    """B267 does not come of a user's own value: the text says what cannot be written."""
    world = World()
    member = world.client(client_id="x" * 40_000)
    asked = Asked(world, member, node(world))
    world.clock.sleep(0.1)
    assert "ApiVersions" in str(asked.error)
    assert member.thread.alive


@pytest.mark.parametrize("when", ["connected", "greeted"])
def test_a_connection_that_is_lost_as_soon_as_it_stands_is_not_greeted(when: str) -> None:
    """B267: both come in one batch; writing to what is gone would end the thread."""
    world = World()
    member = world.client()
    world.control.offer("ApiVersions", 0, 2)
    asked = Asked(world, member, node(world))
    if when == "greeted":
        # The answer says to greet again, and right behind it the connection ends.
        world.at(world.clock.time + 2 * LATENCY, world.control.disconnect)
    else:
        world.control.disconnect()
    world.clock.sleep(0.02)
    assert type(asked.error) is DisconnectException
    assert member.thread.alive
    warm(world, member)


def test_a_throttle_in_the_greeting_counts() -> None:
    """B208: the broker listens to nothing after it, regardless of the request."""
    world = World()
    member = world.client()
    with world.control.throttle("ApiVersions", 3.0, times=1):
        asked = Asked(world, member, node(world))
        world.clock.sleep(2.9)
        assert not world.cluster.journal.entries("FindCoordinator")
        world.clock.sleep(0.2)
    assert asked.answer is not None


def moved(cluster: Cluster, host: str) -> Node:
    """Have broker 1 advertise another address."""
    broker = cluster.state.broker(1)
    broker.node = Node(1, host, 9092)
    return broker.node


def test_a_broker_that_moves_house_is_followed() -> None:
    """What waits for the old address fails and comes again; no old connection stays."""
    world = World()
    member = world.client()
    warm(world, member)
    former = node(world)
    world.control.freeze()
    lost = Asked(world, member, former)
    world.clock.sleep(0.1)
    new = moved(world.cluster, "10.0.0.9")
    world.control.thaw()
    found = Asked(world, member, new)
    world.clock.sleep(0.1)
    assert "its address changed" in str(lost.error)
    assert found.answer is not None
    assert member.network.open == 1


def test_getting_ready_for_a_broker_that_has_moved_leaves_no_connection_behind() -> None:
    """Preparing a request closes the old one, as sending one does."""
    world = World()
    member = world.client()
    warm(world, member)
    assert member.network.open == 1
    new = moved(world.cluster, "10.0.0.9")
    member.side.client.prepare(new, Lane.GENERAL, ())
    world.clock.sleep(0.1)
    assert member.network.open == 1
    assert member.side.client.is_ready(new, Lane.GENERAL)


def test_who_tries_again_at_once_leaves_no_connection_behind_when_a_broker_moves() -> None:
    """An operation that fails by the move may send in the same moment, to either address."""
    world = World(nodes=2)
    member = world.client()
    warm(world, member)
    former = node(world)
    # Both ports are open, so that a connection that was left behind stays open.
    new = Node(former.id, node(world, 2).host, former.port)
    world.control.freeze()
    again: list[Asked] = []

    class Stubborn(Asked):
        def _ended(self, answer: object, error: object) -> None:
            super()._ended(answer, error)  # type: ignore[arg-type]
            if len(again) < 2:
                again.append(Asked(world, member, [new, former][len(again)]))

    Stubborn(world, member, former)
    Stubborn(world, member, former)
    world.clock.sleep(0.1)
    world.control.thaw()
    last = Asked(world, member, new)
    world.clock.sleep(0.5)
    assert len(again) == 2
    assert last.ended
    assert all(each.ended for each in again)
    # The rest is seen by the fixture: every open socket belongs to a connection.


def test_a_rack_that_changes_is_no_move() -> None:
    """Metadata knows racks and FindCoordinator does not: that closes no connection."""
    world = World()
    member = world.client()
    warm(world, member)
    here = node(world)
    asked = Asked(world, member, Node(here.id, here.host, here.port, "rack-7"))
    world.clock.sleep(0.1)
    assert asked.answer is not None
    assert member.network.connects == 1
