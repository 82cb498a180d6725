"""Routes to brokers: each resolves, is refuted and comes back, or ends at the deadline."""

from collections.abc import Callable
from typing import Final

import pytest

from prokurist.errors import (
    BrokerNotAvailableException,
    GroupAuthorizationException,
    TimeoutException,
    TopicAuthorizationException,
    UnknownTopicOrPartitionException,
)
from prokurist.network_thread.cluster.attempts import Route
from prokurist.network_thread.cluster.routes import (
    AnyBroker,
    Broker,
    Controller,
    Leader,
    each_broker,
)
from prokurist.network_thread.error_actions import Action, table
from prokurist.network_thread.wire.metadata import CoordinatorOf
from prokurist.types import Node, TopicPartition
from tests.simulation.attempting import Worked, answered_by, asked
from tests.simulation.world import Member, World

TP: Final = TopicPartition("orders", 0)

ROUTES: Final[dict[str, Callable[[Member], Route]]] = {
    "any": lambda member: AnyBroker(member.side.metadata.brokers),
    "controller": lambda member: Controller(member.side.metadata),
    "broker": lambda member: Broker(member.side.metadata, 2),
    "leader": lambda member: Leader(member.side.metadata, TP),
    "coordinator": lambda member: member.side.coordinators.of(CoordinatorOf.GROUP, "billing"),
}


def two() -> tuple[World, Member]:
    """Three brokers; the second leads the partition, and coordinates the group."""
    world = World(nodes=3)
    world.control.move_leader(TP, 2)
    world.control.move_coordinator("billing", 2)
    return world, world.client(fetches=False)


def grown(world: World, number: int) -> None:
    """Have a broker killed now and back after five seconds."""
    world.control.kill(number)
    world.at(world.clock.time + 5.0, lambda: world.control.restart(number))


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_resolves(name: str) -> None:
    """A message, a table of errors and a route are all that a request needs."""
    world, member = two()
    work = asked(world, member, ROUTES[name](member))
    assert work.result().error == 0
    (node,) = answered_by(world)
    assert name in ("any", "controller") or node == 2


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_waits_for_its_broker(name: str) -> None:
    """One that is away is found again when it is back, within the same call."""
    world, member = two()
    asked(world, member, ROUTES[name](member)).result()
    route = ROUTES[name](member)
    for number in (1, 2, 3):
        grown(world, number)
    began = world.clock.time
    assert asked(world, member, route, timeout=60.0).result().error == 0
    assert 5.0 <= world.clock.time - began < 15.0


@pytest.mark.parametrize("name", ROUTES)
def test_a_call_ends_at_its_deadline_while_its_route_is_unresolved(name: str) -> None:
    """The error says what was waited for; nothing goes on behind it."""
    world, member = two()
    asked(world, member, ROUTES[name](member)).result()
    for number in (1, 2, 3):
        world.control.kill(number)
    began = world.clock.time
    error = asked(world, member, ROUTES[name](member), timeout=7.0).error()
    assert isinstance(error, TimeoutException)
    assert world.clock.time - began == pytest.approx(7.0)
    assert error.waits
    assert error.last_error is not None


@pytest.mark.parametrize("name", ["leader", "coordinator"])
def test_an_answer_refutes_a_route(name: str) -> None:
    """The leader, or the coordinator, has moved: its successor is asked in the next attempt."""
    world, member = two()
    route = ROUTES[name](member)
    asked(world, member, route).result()
    code = {"leader": 6, "coordinator": 16}[name]
    with world.control.fail("ListGroups", code, node=2):
        world.control.move_leader(TP, 3)
        world.control.move_coordinator("billing", 3)
        work = asked(world, member, route)
        assert work.result().error == 0
    assert answered_by(world) == [2, 2, 3]


def test_a_broker_that_is_not_the_controller_has_metadata_name_it() -> None:
    """Brokers that do not forward are passed by: the controller is asked itself."""
    world, member = two()
    controller = world.cluster.state.controller()
    for number in {1, 2, 3} - {controller}:
        world.control.fail("ListGroups", 41, node=number, times=None)
    for turn in range(5):
        route = Controller(member.side.metadata)
        assert asked(world, member, route).result().error == 0
        assert answered_by(world)[-1] == controller
        before = len(answered_by(world))
        assert before <= 2 * (turn + 1) + turn
        assert asked(world, member, route).result().error == 0
        assert answered_by(world)[before:] == [controller]


def test_a_controller_is_waited_for() -> None:
    """While metadata name none, as in an election, the ledger says so."""
    world, member = two()
    world.control.fail("ListGroups", 41, times=None)
    error = asked(world, member, Controller(member.side.metadata), timeout=5.0).error()
    assert isinstance(error, TimeoutException)
    assert "NotController" in str(error)


def test_a_broker_that_need_not_come_back_ends_its_requests() -> None:
    """Each broker is asked until metadata do not name it any more."""
    world, member = two()
    each = Worked(world, member, 5.0)
    routes = each.start(each_broker(member.side.metadata, each.call)).result()
    assert [route.number for route in routes] == [1, 2, 3]
    world.control.kill(2)
    for route in (routes[0], routes[2]):
        assert asked(world, member, route).result().error == 0
    error = asked(world, member, routes[1], timeout=60.0).error()
    assert isinstance(error, BrokerNotAvailableException)
    assert str(error) == "broker 2 is not in the cluster at present"


def test_a_topic_that_is_refused_has_no_leader_to_wait_for() -> None:
    """A missing right is raised at once; a missing topic may be created yet."""
    world, member = two()
    with world.control.deny(topic="orders"):
        error = asked(world, member, Leader(member.side.metadata, TP), timeout=30.0).error()
    assert isinstance(error, TopicAuthorizationException)
    missing = Leader(member.side.metadata, TopicPartition("payments", 0))
    error = asked(world, member, missing, timeout=5.0).error()
    assert isinstance(error, TimeoutException)
    assert isinstance(error.last_error, UnknownTopicOrPartitionException)
    world.at(world.clock.time + 2.0, lambda: world.control.create_topic("payments", 1))
    assert asked(world, member, missing, timeout=30.0).result().error == 0


def test_a_fault_that_another_broker_may_not_have_makes_a_broker_suspect() -> None:
    """Any broker will do: after REDISCOVER another one is asked."""
    world, member = two()
    faulty = table("ListGroups", {42: (Action.REDISCOVER, "a fault of this broker")})
    world.control.fail("ListGroups", 42, times=2)
    work = asked(world, member, ROUTES["any"](member), codes=faulty)
    assert work.result().error == 0
    assert len(set(answered_by(world))) == 3


# --- coordinators by kind and key ----------------------------------------------------


def found(
    world: World, member: Member, *keys: str, kind: CoordinatorOf = CoordinatorOf.GROUP
) -> dict[str, object]:
    """Look some keys up together; each with its broker's number, or its error."""
    work = Worked(world, member, 10.0)
    answer = work.start(member.side.coordinators.find_all(work.call, kind, keys)).result()
    return {each.key: end.id if isinstance(end, Node) else end for each, end in answer.items()}


def look_ups(world: World) -> int:
    """How many requests have looked for coordinators."""
    return len(world.cluster.journal.entries("FindCoordinator"))


def many() -> World:
    """Three groups, each with a coordinator of its own."""
    world = World(nodes=3)
    for number, key in enumerate(("a", "b", "c"), 1):
        world.control.move_coordinator(key, number)
    return world


def test_keys_that_are_looked_up_together_share_a_request() -> None:
    """From version 4 on FindCoordinator takes many keys."""
    world = many()
    member = world.client(fetches=False)
    assert found(world, member, "a", "b", "c", "b") == {"a": 1, "b": 2, "c": 3}
    assert look_ups(world) == 1


def test_an_older_broker_is_asked_for_one_key_after_the_other() -> None:
    """Below version 4 a request has one key, and the outcome is the same."""
    world = many()
    world.control.offer("FindCoordinator", 0, 3)
    member = world.client(fetches=False)
    assert found(world, member, "a", "b", "c") == {"a": 1, "b": 2, "c": 3}
    assert look_ups(world) == 3


def test_a_key_that_is_refused_does_not_end_the_others() -> None:
    """Its error is its own; a key without a coordinator is asked for again."""
    world = many()
    member = world.client(fetches=False)
    with world.control.deny(group="b"):
        ends = found(world, member, "a", "b", "c")
    refusal = ends.pop("b")
    assert isinstance(refusal, GroupAuthorizationException)
    assert refusal.group_id == "b"
    assert ends == {"a": 1, "c": 3}
    with world.control.fail("FindCoordinator", 15, times=1):
        assert found(world, member, "a", "d", "e").keys() == {"a", "d", "e"}


def test_transactional_ids_are_kinds_of_their_own() -> None:
    """The same key may name a group and a transactional id; a broker may not know a kind."""
    world = many()
    member = world.client(fetches=False)
    of = member.side.coordinators.of
    group, producer = of(CoordinatorOf.GROUP, "a"), of(CoordinatorOf.TRANSACTION, "a")
    assert group is not producer
    assert of(CoordinatorOf.GROUP, "a") is group
    assert found(world, member, "a", kind=CoordinatorOf.TRANSACTION) == {"a": 1}
    assert producer.name is not None
    assert group.name is None
    share = found(world, member, "s:AAAA:0", kind=CoordinatorOf.SHARE)
    assert "InvalidRequest" in type(share["s:AAAA:0"]).__name__


def test_a_coordinator_is_known_for_as_long_as_something_asks_for_it() -> None:
    """What nothing holds is forgotten, and a lost connection forgets what it led to."""
    world = many()
    member = world.client(fetches=False)
    coordinators = member.side.coordinators
    kept = coordinators.of(CoordinatorOf.GROUP, "a")
    before = len(coordinators)
    found(world, member, "a", "b", "c")
    assert len(coordinators) == before
    asked(world, member, kept).result()
    assert repr(kept).startswith("Coordinator(group a, broker 1")
    world.control.disconnect(1)
    world.clock.sleep(1.0)
    assert repr(kept) == "Coordinator(group a, unknown)"
    assert asked(world, member, kept).result().error == 0
    assert repr(kept).startswith("Coordinator(group a, broker 1")


def test_a_look_up_ends_with_the_last_call_that_waits_for_it() -> None:
    """One call of two leaves: the other one is served; after both nothing is asked."""
    world = many()
    member = world.client(fetches=False)
    fault = world.control.fail("FindCoordinator", 15, times=None)
    route = member.side.coordinators.of(CoordinatorOf.GROUP, "a")
    short = asked(world, member, route, timeout=2.0)
    long = asked(world, member, route, timeout=60.0)
    assert isinstance(short.error(), TimeoutException)
    fault.undo()
    assert long.result().error == 0
    world.control.disconnect()
    world.control.fail("FindCoordinator", 15, times=None)
    assert isinstance(asked(world, member, route, timeout=3.0).error(), TimeoutException)
    asked_for = look_ups(world)
    world.clock.sleep(30.0)
    assert look_ups(world) == asked_for
    world.control.freeze()
    assert isinstance(asked(world, member, route, timeout=3.0).error(), TimeoutException)
    world.clock.sleep(0.1)
    assert route.is_unsought


def test_a_key_is_left_out_of_a_look_up_once_nothing_waits_for_it() -> None:
    """Of two keys that were looked up together, one is; the other begins again later."""
    world = many()
    member = world.client(fetches=False)
    fault = world.control.fail("FindCoordinator", 15, times=None)
    both = Worked(world, member, 2.0)
    work = member.side.coordinators.find_all(both.call, CoordinatorOf.GROUP, ["a", "b"])
    both.start(work)
    one = asked(
        world, member, member.side.coordinators.of(CoordinatorOf.GROUP, "a"), timeout=9.0
    )
    assert isinstance(both.error(), TimeoutException)
    world.clock.sleep(2.0)
    fault.undo()
    assert one.result().error == 0
    entries = world.cluster.journal.entries("FindCoordinator")
    assert list(entries[0].request.body.coordinator_keys) == ["a", "b"]
    assert list(entries[-1].request.body.coordinator_keys) == ["a"]
    assert found(world, member, "b") == {"b": 2}


def test_a_route_says_where_it_leads() -> None:
    """Reprs name the class and the destination."""
    world, member = two()
    del world
    shown = {name: repr(route(member)) for name, route in ROUTES.items()}
    assert shown["broker"] == "Broker(2)"
    assert shown["leader"] == "Leader(orders-0)"
    assert shown["coordinator"] == "Coordinator(group billing, unknown)"
    assert shown["controller"].startswith("Controller(")
