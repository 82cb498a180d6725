"""What is told of states: once for each change, with the keys of the table, and no storms."""

import pytest

from prokurist.errors import OffsetOutOfRangeException
from prokurist.events.trace import Level
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.recorded_events import Told
from tests.simulation.joining import Notes
from tests.simulation.world import World

TP = TopicPartition("orders", 0)


def told_in(world: World) -> Told:
    """What the world's last client tells from now on."""
    told = Told()
    world.members[-1].side.trace.read_by(told, fine=False)
    return told


def test_a_broker_out_of_reach_is_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """However many tries fail meanwhile; and its end is a line, too."""
    world = World()
    with world.consumer() as consumer:
        consumer.assign(TP)
        consumer.seek(TP, 0)
        consumer.poll(1.0)
        told = told_in(world)
        world.control.kill(1)
        for _ in range(200):
            consumer.poll(1.0)
        world.control.restart(1)
        for _ in range(10):
            consumer.poll(1.0)
    assert told.names.count("broker_unreachable") > 20
    lines = [each.getMessage() for each in caplog.records]
    assert 2 <= sum("no connection to" in each for each in lines) <= 2 * 4
    assert sum("can be reached" in each for each in lines) in (1, 2)


def test_a_member_tells_what_it_is_given() -> None:
    """At INFO and above: found, joined, taken, positioned, the end; nothing for a record."""
    world = World()
    consumer = world.consumer(group_protocol="consumer", auto_offset_reset="earliest")
    told = told_in(world)
    with consumer:
        consumer.subscribe(["orders"])
        for _ in range(20):
            world.control.append(TP, b"x")
            consumer.poll(1.0)
        consumer.commit_sync()
    loud = [kind.name for kind, _ in told.entries if kind.level >= Level.INFO]
    assert loud == [
        "coordinator_found",
        "member_joined",
        "partitions_assigned",
        "positions_reset",
        "partitions_revoked",
        "client_closed",
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.parametrize("end", ["unsubscribe", "close"])
def test_what_the_user_gives_back_is_told_once(
    protocol: str,
    listens: bool,  # noqa: FBT001 - a parameter of the test
    end: str,
) -> None:
    """As what the group wants back; with or without a listener."""
    world = World()
    consumer = world.consumer(group_protocol=protocol)
    told = told_in(world)
    with consumer:
        consumer.subscribe("orders", Notes() if listens else None)
        consumer.poll(5.0)
        gone = consumer.assignment()
        getattr(consumer, end)()
    assert len(gone) == 3
    given_back = [values for kind, values in told.entries if kind.name == "partitions_revoked"]
    assert given_back == [{"partitions": gone, "count": 3}]
    assert "partitions_lost" not in told.names


@pytest.mark.parametrize("end", ["unsubscribe", "close"])
def test_what_was_lost_before_is_not_given_back(end: str) -> None:
    """One line says so: the one at the moment in which it was lost."""
    world = World()
    consumer = world.consumer(group_protocol="consumer")
    told = told_in(world)
    with consumer:
        consumer.subscribe("orders", Notes())
        consumer.poll(5.0)
        world.control.fail("ConsumerGroupHeartbeat", 110, times=None)
        world.clock.sleep(10.0)
        getattr(consumer, end)()
    assert told.names.count("partitions_lost") == 1
    assert "partitions_revoked" not in told.names


def test_leaders_that_move_are_told_of_together() -> None:
    """One telling for an answer, with the partitions that are read."""
    world = World(nodes=2)
    with world.consumer() as consumer:
        consumer.assign([TP, TopicPartition("orders", 1)])
        consumer.seek_to_beginning()
        consumer.poll(1.0)
        told = told_in(world)
        world.control.move_leader(TP)
        world.control.append(TP, b"x")
        assert consumer.poll(10.0)
    moved = [values for kind, values in told.entries if kind.name == "leaders_changed"]
    assert moved == [{"partitions": (TP,)}]


def test_an_offset_out_of_range_is_told_of_with_the_policy() -> None:
    """Records were lost: an operator has to know, under any policy."""
    world = World()
    with world.consumer(auto_offset_reset="none") as consumer:
        told = told_in(world)
        consumer.assign(TP)
        consumer.seek(TP, 100)
        with pytest.raises(OffsetOutOfRangeException):
            consumer.poll(5.0)
    (values,) = [values for kind, values in told.entries if kind.name == "offset_out_of_range"]
    assert (values["partition"], values["offset"]) == (TP, 100)


def test_a_reset_is_told_with_where_to() -> None:
    """It need not be what `auto.offset.reset` says: the user may have sought there."""
    world = World()
    for _ in range(2):
        world.control.append(TP, b"x")
    other = TopicPartition("orders", 1)
    consumer = world.consumer(auto_offset_reset="latest")
    told = told_in(world)
    with consumer:
        consumer.assign([TP, other])
        consumer.seek_to_beginning(TP)
        consumer.poll(1.0)
    resets = [keys for kind, keys in told.entries if kind.name == "positions_reset"]
    assert {keys["policy"]: keys["offsets"] for keys in resets} == {
        "earliest": {TP: 0},
        "latest": {other: 0},
    }


def test_each_phase_of_close_is_told_with_its_time() -> None:
    """In their order; so they show where the time of a `close` went."""
    world = World()
    consumer = world.consumer()
    consumer.commit_sync({TP: OffsetAndMetadata(1)})
    told = told_in(world)
    consumer.close()
    phases = [values["phase"] for kind, values in told.entries if "phase" in values]
    assert phases == [
        "last commit",
        "commits",
        "listener",
        "callbacks",
        "leave",
        "events",
        "network thread",
        "join",
        "interceptors",
    ]
    assert told.names[-1] == "client_closed"
