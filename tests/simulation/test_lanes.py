"""What a broker may park, beside what a caller waits for (B217).

A broker works on one request of a connection at a time: the cluster model does so
too, and all that stood behind a parked request would wait as long as that does.
What is parked here is a request that the model holds; what it is plays no part.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import DisconnectException
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.requests import Lane
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.direct_requests import Asked, down, node, ready
from tests.simulation.world import LATENCY, Member, World

TP = TopicPartition("orders", 0)


@contextmanager
def living(world: World) -> Iterator[tuple[KafkaConsumer, Member]]:
    """A consumer that has been in use: its coordinator and its leaders are known."""
    with world.consumer() as consumer:
        consumer.commit_sync({TP: OffsetAndMetadata(1)})
        consumer.end_offsets(TP)
        yield consumer, world.members[-1]


def lanes(member: Member) -> set[Lane]:
    """Those that have a connection."""
    return {lane for _, lane in member.side.client._connections}


def calls_answer_at_once(world: World, consumer: KafkaConsumer) -> None:
    """A commit, a look-up of it, and of where a log ends: each within two trips."""
    for ask in (
        lambda: consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=0.3),
        lambda: consumer.committed(TP, timeout=0.3),
        lambda: consumer.end_offsets(TP, timeout=0.3),
    ):
        began = world.clock.time
        ask()
        assert world.clock.time - began < 5 * LATENCY


def test_a_fetch_that_is_parked_delays_no_call() -> None:
    """B217: with a 5 s long poll, commits and `end_offsets(0.3)` answer at once."""
    world = World()
    with living(world) as (consumer, member):
        began = world.clock.time
        world.control.delay("FindCoordinator", 5.0, times=1)
        fetch = Asked(world, member, node(world), lane=Lane.FETCH)
        world.clock.sleep(0.1)
        calls_answer_at_once(world, consumer)
        assert not fetch.ended
        world.clock.sleep(5.0)
        assert fetch.answer is not None
        assert fetch.at == pytest.approx(began + 5.0, abs=0.02)


def test_a_join_that_is_parked_delays_neither_calls_nor_fetches() -> None:
    """B217: while the others are waited for, for longer than a request may take."""
    world = World()
    with living(world) as (consumer, member):
        held = world.control.hold("FindCoordinator", times=1)
        join = Asked(world, member, node(world), lane=Lane.JOIN, patience=65.0)
        world.clock.sleep(40.0)
        calls_answer_at_once(world, consumer)
        fetch = Asked(world, member, node(world), lane=Lane.FETCH)
        world.clock.sleep(0.1)
        assert fetch.answer is not None
        assert not join.ended
        held.undo()
        world.clock.sleep(0.1)
        assert join.answer is not None


def test_each_lane_is_one_connection_of_its_own() -> None:
    """B217: to one broker five of them, however many requests there are."""
    world = World()
    with living(world) as (_, member):
        connects = member.network.connects
        for lane in Lane:
            for _ in range(3):
                Asked(world, member, node(world), lane=lane)
        world.clock.sleep(1.0)
        own = [
            each for (number, _), each in member.side.client._connections.items() if number == 1
        ]
        assert len({each.number for each in own}) == len(own) == len(Lane)
        assert all(ready(each) for each in own)
        assert member.network.connects - connects == 3


def test_a_lane_costs_nothing_until_it_is_used() -> None:
    """B217: a client that neither fetches nor joins has no connection for it, nor a timer."""
    world = World()
    with living(world) as (_, member):
        world.clock.sleep(60.0)
        assert lanes(member) == {Lane.GENERAL, Lane.COORDINATOR}
        assert member.network.connects == len(member.side.client._connections)


def test_a_request_may_take_as_long_as_it_was_given() -> None:
    """Contract 1: a JoinGroup waits for longer than `request.timeout.ms`, and not for ever."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    Asked(world, member, node(world), lane=Lane.JOIN)
    world.clock.sleep(1.0)
    connection = member.side.client._connections[1, Lane.JOIN]
    with world.control.hold("FindCoordinator"):
        began = world.clock.time
        join = Asked(world, member, node(world), lane=Lane.JOIN, patience=7.0)
        world.clock.sleep(6.9)
        assert ready(connection)
        world.clock.sleep(0.2)
    assert down(connection)
    assert join.at == pytest.approx(began + 7.0)
    assert type(join.error) is DisconnectException
    assert "did not answer FindCoordinator within the 7 s that it may take" in str(join.error)


def test_a_silence_adds_to_the_patience() -> None:
    """B208: a throttle puts off the end of a parked request as of any other."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    with world.control.throttle("FindCoordinator", 4.0, times=1):
        Asked(world, member, node(world), lane=Lane.JOIN)
        join = Asked(world, member, node(world), lane=Lane.JOIN, patience=3.0)
        world.clock.sleep(4.5)
    assert join.answer is not None


@pytest.mark.parametrize("lane", Lane)
def test_only_the_coordinators_own_connections_tell_that_it_is_gone(lane: Lane) -> None:
    """B219: a fetch or a look-up whose connection drops says nothing of the group."""
    world = World()
    with living(world) as (_, member):
        coordinator = member.side.coordinator
        assert coordinator is not None
        Asked(world, member, node(world), lane=lane)
        world.clock.sleep(0.1)
        with world.control.cut("FindCoordinator"):
            Asked(world, member, node(world), lane=lane)
            world.clock.sleep(0.1)
        gone = coordinator.name is None
        assert gone == (lane in {Lane.COORDINATOR, Lane.JOIN})


def test_the_join_lane_ends_with_its_round() -> None:
    """B217: brokers may count connections, and a member that is in needs none for joining."""
    world = World()
    with world.consumer() as consumer:
        consumer.subscribe("orders")
        consumer.wait_until_ready(10.0)
        client = world.members[-1].side.client
        assert client.is_ready(node(world), Lane.COORDINATOR)
        assert not client.is_ready(node(world), Lane.JOIN)


@pytest.mark.parametrize("lane", [Lane.FETCH, Lane.COORDINATOR, Lane.JOIN])
def test_a_refused_lane_goes_over_one_that_stands(
    lane: Lane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B217: nothing fails, records come, and a connection that is accepted later is used."""
    world = World()
    refusing = [True]
    connect = Connection.connected

    def refuse(self: Connection) -> None:
        if refusing[0] and self.lane is lane:
            self.lost(DisconnectException("the broker closed the connection"))
        else:
            connect(self)

    monkeypatch.setattr(Connection, "connected", refuse)
    world.control.append(TP, b"x")
    with world.consumer(auto_offset_reset="earliest") as consumer:
        consumer.subscribe("orders")
        consumer.wait_until_ready(10.0)
        assert [each.value for each in consumer.poll(2.0)] == [b"x"]
        consumer.commit_sync(timeout=2.0)
        assert consumer.health().unreachable_for is None
        for _ in range(15):
            consumer.poll(1.0)
        told = [each.event for each in caplog.records]  # type: ignore[attr-defined]
        # The lane for joining is not tried again before the next round.
        assert told == ([] if lane is Lane.JOIN else ["connection_refused"])
        refusing[0] = False
        for _ in range(15):
            consumer.poll(1.0)
        client = world.members[-1].side.client
        assert lane is Lane.JOIN or not client._connections[1, lane].has_stand_in
