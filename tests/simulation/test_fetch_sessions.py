"""Fetch sessions, nearer replicas, old brokers: what is said to whom."""

import pytest

from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node, TopicPartition
from tests.simulation.reading import A, B, C, drained, fetches, offsets, reader, written
from tests.simulation.world import World


def sessions(world: World) -> list[tuple[int, int]]:
    """Of each fetch the session's id, and its number in it."""
    return [
        (entry.body.session_id, entry.body.session_epoch)
        for entry in world.cluster.journal.entries("Fetch")
    ]


def test_what_has_not_changed_is_not_said_again() -> None:
    """B109: the first fetch names everything, the others what has moved on."""
    world = written(3, 0)
    with reader(world, A, B) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        assert [each for _, each in fetches(world)][:3] == [{0: 0, 1: 0}, {0: 3}, {}]
        assert sessions(world)[:3] == [(0, 0), (1, 1), (1, 2)]
        world.control.append(B, b"x")
        assert drained(consumer) == {B: [0]}
        assert {1: 1} in [each for _, each in fetches(world)]


def test_what_is_buffered_stays_in_the_session() -> None:
    """B109: nothing is forgotten and asked for again because it waits to be returned."""
    world = written(9, 9)
    with reader(world, A, B, max_poll_records=1) as consumer:
        for _ in range(6):
            consumer.poll(1.0)
            world.clock.sleep(0.1)
        forgotten = [
            entry.body.forgotten_topics_data for entry in world.cluster.journal.entries("Fetch")
        ]
        assert not any(forgotten)


def test_what_is_paused_or_given_up_is_forgotten() -> None:
    """And asked for again after it."""
    world = written(0, 0)
    with reader(world, A, B) as consumer:
        consumer.poll(1.0)
        consumer.pause(A)
        consumer.poll(1.2)
        last = world.cluster.journal.entries("Fetch")[-1].body
        assert world.cluster.state.broker(1).fetch_sessions.kept[1].wanted.keys()
        consumer.resume(A)
        world.control.append(A, b"x")
        assert offsets(consumer.poll(2.0)) == {A: [0]}
        assert last.session_id == 1


@pytest.mark.parametrize("code", [70, 71, 106])
def test_a_refused_session_is_replaced(code: int) -> None:
    """B109: with one full fetch, at once; no record is lost."""
    world = written(2)
    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1]}
        world.control.fail("Fetch", code, times=1)
        world.control.append(A, b"x")
        began = world.clock.time
        assert offsets(consumer.poll(5.0)) == {A: [2]}
        world.clock.sleep(0.1)
        world.control.append(A, b"y")
        assert offsets(consumer.poll(5.0)) == {A: [3]}
        assert world.clock.time - began < 0.7
        assert [number for _, number in sessions(world)].count(0) == 2


def test_a_broker_without_room_for_sessions() -> None:
    """B109: every fetch is a full one."""
    world = written(2, 2)
    world.cluster.state.broker(1).fetch_sessions.slots = 0
    with reader(world, A, B) as consumer:
        assert drained(consumer) == {A: [0, 1], B: [0, 1]}
        assert set(sessions(world)) == {(0, 0)}


def test_sessions_are_ended_with_the_consumer() -> None:
    """B189: on each broker, without waiting for an answer."""
    world = written(1, 1, 1, nodes=3)
    consumer = reader(world, A, B, C)
    drained(consumer)
    assert all(world.control.fetch_sessions(node) for node in (1, 2, 3))
    began = world.clock.time
    consumer.close()
    assert world.clock.time - began < 0.1
    world.clock.sleep(2.0)
    ended = [
        entry
        for entry in world.cluster.journal.entries("Fetch")
        if entry.body.session_epoch == -1
    ]
    assert len(ended) == 3
    assert all(entry.body.session_id > 0 for entry in ended)


def in_racks(world: World, *racks: str) -> None:
    """Put brokers into racks, and let followers serve."""
    for number, rack in enumerate(racks, 1):
        broker = world.cluster.state.broker(number)
        broker.node = Node(number, broker.node.host, broker.node.port, rack)
    world.control.let_followers_serve()


def test_the_nearer_replica_is_read_from() -> None:
    """B110: for as long as metadata.max.age.ms; then the leader is asked again."""
    world = written(3, nodes=3)
    in_racks(world, "west", "east", "north")
    with reader(world, client_rack="east", metadata_max_age_ms=20_000) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        nodes = [node for node, _ in fetches(world)]
        assert nodes[0] == 1
        assert set(nodes[1:]) == {2}
        consumer.poll(25.0)
        assert [node for node, _ in fetches(world)].count(1) == 2


def test_out_of_range_at_the_nearer_replica() -> None:
    """B110: it may lag behind; the leader is asked, and no policy is applied."""
    world = written(3, nodes=3)
    in_racks(world, "west", "east", "north")
    with reader(world, client_rack="east", auto_offset_reset="none") as consumer:
        consumer.seek(A, 0)
        world.control.fail("Fetch", 1, times=1, node=2)
        assert drained(consumer) == {A: [0, 1, 2]}
        assert [node for node, _ in fetches(world)][:3] == [1, 2, 1]


@pytest.mark.parametrize("code", [3, 6, 56, 74])
def test_a_nearer_replica_that_knows_no_better(code: int) -> None:
    """B106, B110: what it says of leaders is stale: it is left, and the leader is asked."""
    world = written(3, nodes=3)
    in_racks(world, "west", "east", "north")
    with reader(world, client_rack="east") as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        asked = len(fetches(world))
        world.control.fail("Fetch", code, times=1, node=2)
        world.control.append(A, b"x")
        assert drained(consumer) == {A: [3]}
        nodes = [node for node, _ in fetches(world)][asked:]
        assert 1 in nodes
        assert nodes[nodes.index(1) - 1] == 2
        assert nodes[-1] == 2


@pytest.mark.parametrize("release", ["2.4", "2.7", "2.8", "3.1", "3.5", "3.7", "3.9", "4.3"])
def test_brokers_of_other_releases(release: str) -> None:
    """Each version of the protocol that they have brings the same records."""
    world = written(3, 3, 3, nodes=3)
    consumer = world.consumer(
        Versions.of_kafka(release), auto_offset_reset="earliest", max_poll_records=2
    )
    with consumer:
        consumer.assign([A, B, C])
        assert drained(consumer) == {tp: [0, 1, 2] for tp in (A, B, C)}
        world.control.move_leader(TopicPartition("orders", 1))
        world.control.append(B, b"x")
        assert drained(consumer, 3.0) == {B: [3]}


def test_a_recreated_topic() -> None:
    """Its new id begins a new session, and its records come."""
    world = written(3)
    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        world.control.recreate_topic("orders")
        for _ in range(5):
            world.control.append(A, b"new")
        assert drained(consumer, 5.0)[A][-1] == 4


def test_a_broker_that_throttles() -> None:
    """Nothing is asked of it while it wants to be left alone; other calls are answered."""
    world = written(2, 2, nodes=3)
    with reader(world, A, B) as consumer:
        fault = world.control.throttle("Fetch", 3.0, node=1)
        drained(consumer, 0.5)
        asked = len(world.cluster.journal.entries("Fetch", 1))
        world.control.append(B, b"x")
        assert offsets(consumer.poll(1.0)) == {B: [2]}
        assert len(world.cluster.journal.entries("Fetch", 1)) <= asked + 1
        fault.undo()
