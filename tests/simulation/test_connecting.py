"""The way up and the way down of connections, in virtual time."""

from itertools import pairwise
from random import Random

import pytest

from prokurist.errors import DisconnectException, NetworkException
from prokurist.events.backoff import Backoff
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.io.network import SocketAddress
from prokurist.types import Node
from tests.simulation.direct_requests import Asked, down, general, node, ready, warm
from tests.simulation.world import LATENCY, Member, World

TWO = {"kafka": ("10.0.0.1", "10.0.0.2")}


class Attempts:
    """When a client connected, and where to."""

    def __init__(self, member: Member, world: World) -> None:
        self.all: list[tuple[float, str]] = []
        connect = member.network.connect

        def noted(connection: int, address: SocketAddress, server_name: str = "") -> None:
            self.all.append((world.clock.time, address.host))
            connect(connection, address, server_name)

        member.network.connect = noted  # type: ignore[method-assign]

    @property
    def pauses(self) -> list[float]:
        """Between one and the next."""
        return [later - earlier for (earlier, _), (later, _) in pairwise(self.all)]

    @property
    def hosts(self) -> list[str]:
        """Where to."""
        return [host for _, host in self.all]


def insist(world: World, member: Member, seconds: float, number: int = 1) -> None:
    """Ask again as soon as the last request has failed, for a while."""
    until = world.clock.time + seconds
    while world.clock.time < until:
        asked = Asked(world, member, node(world, number))
        while not asked.ended and world.clock.time < until:
            world.clock.sleep(0.001)


def test_a_refused_connection_is_tried_again_after_a_growing_pause() -> None:
    """B204: 50, 100, 200 … 1000 ms, each ±20 %, and never above the cap."""
    world = World()
    member = world.client()
    attempts = Attempts(member, world)
    world.control.kill(1)
    insist(world, member, 10.0)
    expected = [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]
    for pause, nominal in zip(attempts.pauses, expected, strict=False):
        assert 0.8 * nominal <= pause <= min(1.2 * nominal, 1.0) + 3 * LATENCY
    assert len(attempts.all) > len(expected)
    assert len({round(each, 5) for each in attempts.pauses}) > 5, "no jitter"


def test_the_backoff_of_one_broker_is_not_anothers() -> None:
    """B204: each node has a sequence of its own; a success ends it."""
    world = World(nodes=2)
    member = world.client()
    world.control.kill(1)
    insist(world, member, 5.0)
    assert general(member)._failures > 4
    began = world.clock.time
    asked = Asked(world, member, node(world, 2))
    world.clock.sleep(0.1)
    assert asked.answer is not None
    assert asked.at == pytest.approx(began + 5 * LATENCY, abs=LATENCY)
    world.control.restart(1)
    warm(world, member, 1)
    assert general(member)._failures == 0


def test_metadata_goes_to_the_next_bootstrap_address() -> None:
    """B204: the first refuses, the second answers within milliseconds."""
    world = World(nodes=2)
    member = world.client()
    world.control.kill(1)
    began = world.clock.time
    found = member.side.metadata.fresh()
    member.network.wake()
    world.clock.sleep(0.5)
    assert found.is_kept
    assert set(member.side.metadata.cluster.nodes) == {2}
    assert world.cluster.journal.entries("Metadata")[0].at - began < 0.2


def test_a_broker_that_accepts_and_is_silent_is_given_up() -> None:
    """B205: after 10 s, 20 s, 30 s, 30 s, each ±20 % and never above 30 s."""
    world = World()
    member = world.client(request_timeout_ms=200_000)
    attempts = Attempts(member, world)
    world.control.freeze()
    insist(world, member, 125.0)
    for pause, nominal in zip(attempts.pauses, [10.0, 20.0, 30.0, 30.0], strict=False):
        # The setup's limit, and the backoff after it.
        assert 0.8 * nominal <= pause <= min(1.2 * nominal, 30.0) + 1.0
    assert len(attempts.pauses) >= 4


def test_the_setup_limit_is_the_base_again_after_a_success() -> None:
    """B205: what grew with failures in a row shrinks with the first success."""
    world = World()
    member = world.client()
    world.control.freeze()
    insist(world, member, 60.0)
    world.control.thaw()
    warm(world, member)
    attempts = Attempts(member, world)
    world.control.freeze()
    world.control.disconnect()
    insist(world, member, 14.0)
    assert 8.0 <= attempts.pauses[0] <= 12.0 + 0.1


def test_all_addresses_are_tried_before_a_backoff() -> None:
    """B206: unreachable, then refused, then the backoff; the name is looked up again."""
    world = World(hosts=TWO)
    member = world.client()
    attempts = Attempts(member, world)
    member.network.block("10.0.0.1", 9092)
    world.control.kill(1)
    insist(world, member, 20.0)
    assert attempts.hosts[:3] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    first, backoff = attempts.pauses[:2]
    assert 8.0 <= first <= 12.0
    assert 0.04 <= backoff <= 0.07
    assert [host for _, host in member.names.asked[:2]] == ["kafka", "kafka"]


def test_the_next_address_of_a_silent_host_answers() -> None:
    """B205, B206: the second address is tried at once when the first one's time is over."""
    world = World(hosts=TWO)
    member = world.client()
    member.network.block("10.0.0.1", 9092)
    asked = Asked(world, member, node(world))
    world.clock.sleep(15.0)
    assert asked.answer is not None
    assert general(member)._failures == 0
    assert member.network.connects == 2


def test_a_stranger_at_the_first_address_is_passed_over() -> None:
    """B206: an address that greets with nonsense is one that has failed."""
    world = World(hosts=TWO)
    member = world.client()
    with world.control.garbage("ApiVersions", b"SSH-2.0-OpenSSH", times=1):
        asked = Asked(world, member, node(world))
        world.clock.sleep(1.0)
    assert asked.answer is not None
    assert member.network.connects == 2


def test_a_name_is_resolved_again_after_a_live_connection_dropped() -> None:
    """B206: the broker behind the name may have moved; the new address is taken."""
    world = World(hosts=TWO)
    member = world.client()
    attempts = Attempts(member, world)
    warm(world, member)
    world.hosts = {"kafka": ("10.0.0.7",)}
    world.control.disconnect()
    world.clock.sleep(0.1)
    warm(world, member)
    assert attempts.hosts == ["10.0.0.1", "10.0.0.7"]


def test_an_unknown_name_fails_what_waits_for_it() -> None:
    """B214: promptly, with the resolver's words; the next try comes after the backoff."""
    world = World()
    member = world.client()
    stranger = Node(9, "nowhere", 9092)
    asked = Asked(world, member, stranger)
    world.clock.sleep(0.01)
    assert "nowhere is not a known name" in str(asked.error)
    assert member.side.client.least_loaded([stranger]) is None


def test_a_name_server_that_is_gone_is_waited_for_no_longer_than_the_setup_takes() -> None:
    """B205: looking up is part of the setup; the look-up is abandoned with it."""
    world = World(hosts=TWO)
    member = world.client()
    member.names.silent = True
    began = world.clock.time
    asked = Asked(world, member, node(world))
    world.clock.sleep(13.0)
    assert asked.at is not None
    assert 8.0 <= asked.at - began <= 12.0
    assert "stayed resolving" in str(asked.error)
    assert not member.names.waiting


def test_an_idle_connection_is_closed_and_opened_on_demand() -> None:
    """B213: after 3 min, no call hears of an error, and the next request reopens it."""
    world = World()
    member = world.client()
    heard: list[object] = []
    member.side.client.disconnected.connect(lambda *what: heard.append(what))
    connection = warm(world, member)
    world.clock.sleep(178.0)
    assert ready(connection)
    world.clock.sleep(3.0)
    assert down(connection)
    assert member.network.open == 0
    assert not heard
    assert not connection.backing_off
    began = world.clock.time
    asked = Asked(world, member, node(world))
    world.clock.sleep(1.0)
    assert asked.at == pytest.approx(began + 5 * LATENCY, abs=LATENCY)


def test_a_use_puts_the_idle_close_off() -> None:
    """B213: three minutes count from the last answer."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    world.clock.sleep(100.0)
    warm(world, member)
    world.clock.sleep(170.0)
    assert ready(connection)
    world.clock.sleep(20.0)
    assert down(connection)


@pytest.mark.parametrize("idle", [0, 5_000])
def test_a_busy_connection_is_not_idle(idle: int) -> None:
    """B213: not while something is in flight; and looking at it costs few turns (B265)."""
    world = World()
    member = world.client(connections_max_idle_ms=idle)
    with world.control.answer_late("FindCoordinator", 20.0):
        asked = Asked(world, member, node(world))
        world.clock.sleep(19.0)
        assert member.network.open == 1
        world.clock.sleep(1.1)
    assert asked.answer is not None
    assert member.network.turns < 100
    world.clock.sleep(idle / 1000 + 2.0)
    assert member.network.open == 0


def test_connections_are_kept_for_ever_if_asked() -> None:
    """B213: `connections.max.idle.ms=-1`."""
    world = World()
    member = world.client(connections_max_idle_ms=-1)
    connection = warm(world, member)
    world.clock.sleep(10_000.0)
    assert ready(connection)


def test_what_happens_to_a_connection_that_has_gone_in_the_same_batch_is_ignored() -> None:
    """An unreadable answer, and behind it another one and the end of the connection."""
    world = World()
    member = world.client()
    warm(world, member)
    with world.control.garbage("FindCoordinator", b"\1", times=1):
        first = Asked(world, member, node(world))
        second = Asked(world, member, node(world))
        world.at(world.clock.time + LATENCY, world.control.disconnect)
        world.clock.sleep(0.02)
    assert type(first.error) is type(second.error) is DisconnectException
    assert member.thread.alive
    assert general(member)._failures == 1
    warm(world, member)


def test_a_withdrawn_request_opens_no_connection_after_its_backoff() -> None:
    """B24: a new try is made only when there is something to send."""
    world = World()
    member = world.client()
    world.control.kill(1)
    first = Asked(world, member, node(world))
    world.clock.sleep(0.01)
    assert type(first.error) is NetworkException
    second = Asked(world, member, node(world))
    second.leave()
    connects = member.network.connects
    world.clock.sleep(10.0)
    assert member.network.connects == connects


@pytest.mark.parametrize("seed", range(20))
def test_no_pause_is_shorter_than_its_backoff(seed: int) -> None:
    """B204: a request that comes exactly when a pause ends does not shorten the next."""
    world = World(seed=seed)
    member = world.client()
    attempts = Attempts(member, world)
    world.control.kill(1)
    chance = Random(seed)  # noqa: S311 - a replayable seed
    until = world.clock.time + 5.0
    while world.clock.time < until:
        Asked(world, member, node(world))
        connection = general(member)
        to_go = connection._retry_at - world.clock.time
        world.clock.sleep(
            to_go if to_go > 0 and chance.random() < 0.5 else chance.random() / 10
        )
    least = Backoff(0.05, 1.0, lambda: 0.0)
    assert len(attempts.pauses) > 5
    for count, pause in enumerate(attempts.pauses, 1):
        assert pause >= least.pause(count) * 0.999


def test_closing_in_every_state_of_the_way_up_leaves_nothing() -> None:
    """B176: looking up, connecting, greeting, backing off, ready: all of it ends at once."""
    world = World(hosts={f"kafka-{n}": (f"10.0.0.{n}",) for n in range(1, 6)})
    member = world.client()
    warm(world, member, 5)
    member.network.block("10.0.0.2", 9092)
    world.control.freeze(3)
    world.control.kill(4)
    asked = [Asked(world, member, node(world, number)) for number in (2, 3, 4, 5)]
    world.clock.sleep(0.01)
    member.names.silent = True
    asked.append(Asked(world, member, node(world, 1)))
    asked.append(Asked(world, member, node(world, 4)))
    asked.append(Asked(world, member, node(world, 5), lane=Lane.COORDINATOR))
    world.clock.sleep(0.01)
    connections = member.side.client._connections.values()
    secured = {ConnectionState.SECURING, ConnectionState.AUTHENTICATING}
    assert {each.state for each in connections} == set(ConnectionState) - secured
    member.side.client.close(DisconnectException("closing"))
    assert all(each.ended for each in asked)
    late = Asked(world, member, node(world, 5))
    assert str(late.error) == "closing"
    assert member.network.open == 0
    assert member.side.timer.top() is None
