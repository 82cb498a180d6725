"""What is done before it is asked for, in virtual time, and what need not be done at all."""

import pytest

from prokurist.network_thread.membership import prewarm
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.wire import codec
from prokurist.network_thread.wire.apis import Api
from prokurist.testing.cluster.journal import Entry
from prokurist.types import Node
from tests.simulation.classic_members import consumer_in, joined, live, orders
from tests.simulation.looking_up import TP, look_up
from tests.simulation.world import World


def of_member(world: World, name: str) -> list[Entry]:
    """What a member has said, by its client id."""
    return [each for each in world.cluster.journal.entries() if each.request.client_id == name]


def test_the_broker_that_was_asked_first_is_not_connected_to_twice() -> None:
    """Once it has told its name, what is said to it goes over the connection that stands."""
    world = World()
    member = world.client()
    assert look_up(world, member) == {TP: 0}
    assert member.network.connects == 1
    assert len({each.session for each in world.cluster.journal.entries()}) == 1


def test_a_broker_with_another_address_is_connected_to() -> None:
    """What the first one was asked under says nothing of it."""
    world = World(nodes=2)
    member = world.client(bootstrap_servers=[world.address(2)])
    world.control.move_leader(TP, 1)
    assert look_up(world, member) == {TP: 0}
    assert member.network.connects == 2


def test_a_connection_that_was_taken_over_goes_down_as_the_broker_s() -> None:
    """Who was behind it is known: its end says that what we know of him may be stale."""
    world = World()
    member = world.client()
    look_up(world, member)
    world.control.forget_requests()
    world.control.disconnect(1)
    world.clock.sleep(1.0)
    assert world.cluster.journal.entries("Metadata")
    assert look_up(world, member) == {TP: 0}


def test_a_broker_that_disconnects_us_is_reconnected() -> None:
    """KIP-1102: what stood is not taken over for a bootstrap address of a new number."""
    world = World()
    member = world.client()
    world.control.fail("Metadata", 129, times=2, whole=True)
    assert look_up(world, member) == {TP: 0}
    assert len({each.session for each in world.cluster.journal.entries("Metadata")}) == 3
    assert member.network.connects == 3


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_part_needs_is_there_before_it(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the group gathers: topics, a connection for heartbeats, and how to write it all.

    After the part nothing is asked but what rests on it.
    """
    prepared: set[tuple[str, int]] = set()
    prepare = codec.prepare

    def noted(api: Api, version: int) -> None:
        prepared.add((api.name, version))
        prepare(api, version)

    monkeypatch.setattr(codec, "prepare", noted)
    world = World()
    one, other = (
        consumer_in(world, name, group_protocol=protocol) for name in ("one", "other")
    )
    one.subscribe("orders")
    live(world, one, seconds=5.0)
    prepared.clear()
    other.subscribe("orders")
    other.poll(0)
    world.clock.sleep(0.1)
    assert not other.assignment()
    assert {"Metadata", "ApiVersions"} <= {each.api for each in of_member(world, "other")}
    assert {"Metadata", "OffsetFetch", "ListOffsets", "Fetch"} <= {name for name, _ in prepared}
    so_far = len(of_member(world, "other"))
    live(world, one, other, seconds=20.0, until=lambda: bool(other.assignment()))
    live(world, one, other, seconds=1.0)
    then = [each.api for each in of_member(world, "other")[so_far:]]
    asked = {(each.api, each.request.version) for each in of_member(world, "other")[so_far:]}
    assert {
        each for each in asked if each[0] in ("OffsetFetch", "ListOffsets", "Fetch")
    } <= prepared
    assert "Metadata" not in then
    assert then[: then.index("Fetch")].count("ApiVersions") <= 1


def test_what_cannot_be_made_ready_hinders_no_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is optional: where it fails, the request itself tries again."""
    world = World()
    (one,) = joined(world)
    get_ready, tried = prewarm.get_ready, list[str]()

    def refused(context: MembershipContext, coordinator: Node) -> None:
        tried.append(str(coordinator))
        world.control.fail("ApiVersions", 41, times=1)
        get_ready(context, coordinator)

    monkeypatch.setattr(prewarm, "get_ready", refused)
    other = consumer_in(world, "other")
    other.subscribe("orders")
    live(world, one, other, until=lambda: bool(other.assignment()))
    assert tried
    assert other.assignment() | one.assignment() == orders(0, 1, 2)
