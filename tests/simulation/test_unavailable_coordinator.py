"""A coordinator that is in reach, and cannot write what it is asked to write."""

import logging

import pytest

from prokurist import OffsetAndMetadata, TopicPartition
from prokurist.errors import TimeoutException
from prokurist.testing.cluster.apis import ApiName
from tests.simulation.world import World

TP = TopicPartition("orders", 0)


def test_a_coordinator_that_cannot_write_is_told_of_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B422: named again and again, it refuses each commit, and answers heartbeats."""
    caplog.set_level(logging.INFO)
    world = World()
    world.control.append(TP, b"x")
    with world.consumer(auto_offset_reset="earliest", auto_commit_interval_ms=1000) as consumer:
        consumer.subscribe("orders")
        while not consumer.poll(1.0):
            pass
        consumer.commit_sync()
        caplog.clear()
        fault = world.control.fail("OffsetCommit", 15, times=None)
        for _ in range(110):
            consumer.poll(1.0)
        told = [(vars(each)["event"], each.getMessage()) for each in caplog.records]
        turn = ["coordinator_lost", "coordinator_found"]
        assert [name for name, _ in told if name in turn] == turn * 2
        (first, second) = [text for name, text in told if name == "coordinator_unavailable"]
        assert "has answered for 5 s that it cannot (COORDINATOR_NOT_AVAILABLE)" in first
        assert "has answered for 66 s that" in second
        assert not [name for name, _ in told if name == "coordinator_unreachable"]
        fault.undo()
        for _ in range(5):
            consumer.poll(1.0)
        (ends,) = [
            each for each in caplog.records if vars(each)["event"] == "coordinator_available"
        ]
        assert "writes for group g again, after 11" in ends.getMessage()


def test_a_coordinator_that_was_lost_is_told_of_when_another_is_found(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B422: whatever was held back of the one before, the log ends with who it is."""
    caplog.set_level(logging.INFO)
    world = World(nodes=3)
    with world.consumer(enable_auto_commit=False) as consumer:
        for node in (1, 1, 2, 1):
            world.control.move_coordinator("g", node)
            world.control.fail("OffsetFetch", 16, times=1)
            consumer.committed(TP, timeout=5.0)
    told = [vars(each) for each in caplog.records]
    turns = [each["node"] for each in told if each["event"] == "coordinator_found"]
    assert [each[:8] for each in turns] == ["broker 1", "broker 1", "broker 2", "broker 1"]


def test_calls_that_end_before_its_answers_do_not_hide_what_they_say(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B422: it refuses after 5 s what has waited for its log, and calls have ended by then."""
    caplog.set_level(logging.INFO)
    world = World()
    with world.consumer(enable_auto_commit=False) as consumer:
        consumer.assign([TP])
        consumer.commit_sync({TP: OffsetAndMetadata(1)})
        refused = world.control.fail("OffsetCommit", 15, times=None)
        late = world.control.answer_late("OffsetCommit", 5.0)
        for _ in range(6):
            with pytest.raises(TimeoutException):
                consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=3.0)
        assert events_of(caplog).count("coordinator_unavailable") == 1
        refused.undo()
        late.undo()
        world.clock.sleep(20.0)
        consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=3.0)
    assert events_of(caplog).count("coordinator_available") == 1


@pytest.mark.parametrize("session", [10, 45])
def test_heartbeats_leave_it_the_time_to_refuse(
    caplog: pytest.LogCaptureFixture, session: int
) -> None:
    """B422: with Kafka 4 heartbeats wait for its log as well, behind commits and as long."""
    caplog.set_level(logging.INFO)
    world = World()
    world.control.append(TP, b"x")
    with world.consumer(
        auto_offset_reset="earliest",
        auto_commit_interval_ms=1000,
        session_timeout_ms=session * 1000,
    ) as consumer:
        consumer.subscribe("orders")
        while not consumer.poll(1.0):
            pass
        consumer.commit_sync()
        caplog.clear()
        faults = [
            fault
            for api in ("OffsetCommit", "Heartbeat")
            for fault in (
                world.control.fail(api, 15, times=None),
                world.control.answer_late(api, 5.0),
            )
        ]
        for second in range(150):
            world.control.append(TP, b"y")
            consumer.poll(1.0)
            world.clock.sleep(1.0)
            assert second < 16 or "coordinator_unavailable" in events_of(caplog)
        assert events_of(caplog).count("coordinator_unavailable") in (2, 3)
        assert "coordinator_unreachable" not in events_of(caplog)
        # Now and then its time is over before that of the commit that it stands behind.
        assert events_of(caplog).count("connection_lost") <= 2
        for each in faults:
            each.undo()
        for _ in range(10):
            consumer.poll(1.0)
            world.clock.sleep(1.0)
        assert events_of(caplog).count("coordinator_available") == 1


def test_one_that_refuses_is_not_out_of_reach(caplog: pytest.LogCaptureFixture) -> None:
    """B422: it does not answer at times, and says in between that it cannot write."""
    caplog.set_level(logging.INFO)
    world = World()
    with world.consumer(enable_auto_commit=False) as consumer:
        consumer.assign([TP])
        consumer.commit_sync({TP: OffsetAndMetadata(1)})
        for _ in range(4):
            world.control.drop("OffsetCommit", times=1)
            consumer.commit_async({TP: OffsetAndMetadata(2)})
            world.clock.sleep(31.0)
            world.control.fail("OffsetCommit", 15)
            consumer.commit_async({TP: OffsetAndMetadata(2)})
            world.clock.sleep(1.0)
    told = events_of(caplog)
    assert told.count("connection_lost") == 4
    assert told.count("coordinator_unavailable") == 2
    assert "coordinator_unreachable" not in told


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_heartbeats_that_are_taken_again_end_what_heartbeats_alone_have_met(
    caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    """B422: an idle member commits nothing, and two short refusals are no long one."""
    caplog.set_level(logging.INFO)
    beat: ApiName = "Heartbeat" if protocol == "classic" else "ConsumerGroupHeartbeat"
    world = World()
    with world.consumer(group_protocol=protocol) as consumer:
        consumer.subscribe("orders")
        consumer.wait_until_ready(10.0)
        for _ in range(2):
            world.control.fail(beat, 15)
            world.clock.sleep(40.0)
        assert "coordinator_unavailable" not in events_of(caplog)
        refused = world.control.fail(beat, 15, times=None)
        world.clock.sleep(15.0)
        assert events_of(caplog).count("coordinator_unavailable") == 1
        refused.undo()
        world.clock.sleep(15.0)
        assert events_of(caplog).count("coordinator_available") == 1


def events_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The names of what was logged, in order."""
    return [vars(each)["event"] for each in caplog.records]
