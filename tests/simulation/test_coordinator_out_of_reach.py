"""A group's coordinator that stays away: what the log says of it (B219)."""

from collections.abc import Callable

import pytest

from prokurist.errors import TimeoutException
from prokurist.testing.cluster.steering import Fault
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OFFSETS = {TP: OffsetAndMetadata(1)}


def said(caplog: pytest.LogCaptureFixture, what: str) -> list[str]:
    """What was logged of it."""
    return [text for each in caplog.records if what in (text := each.getMessage())]


WAYS: dict[str, Callable[[World], Fault]] = {
    "dead": lambda world: world.control.kill(1),
    "frozen": lambda world: world.control.freeze(1),
    "hangs up": lambda world: world.control.cut("OffsetCommit", times=None),
    "not it": lambda world: world.control.fail("OffsetCommit", 16, times=None),
    "no coordinator": lambda world: world.control.fail("FindCoordinator", 15, times=None),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_told_of_once_a_minute_and_once_when_it_is_back(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B219: after a minute, no storm; recovery says so once, and nothing after that."""
    world = World()
    with world.consumer() as consumer:
        consumer.commit_sync(OFFSETS)
        fault = WAYS[way](world)
        world.control.disconnect()  # What is known of it is looked up again.
        began = world.clock.time
        while world.clock.time - began < 270.0:
            with pytest.raises(TimeoutException):
                consumer.commit_sync(OFFSETS, timeout=45.0)
        told = said(caplog, "out of reach")
        assert 3 <= len(told) <= 4
        assert "the coordinator of group g has been out of reach for 6" in told[0]
        assert not said(caplog, "again")
        fault.undo()
        for _ in range(3):
            consumer.commit_sync(OFFSETS)
        assert len(said(caplog, "serves group g again, after 2")) == 1
        assert len(said(caplog, "again")) == 1
        assert len(said(caplog, "out of reach")) == len(told)


def test_a_short_absence_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """B219: of half a minute the log tells as an outage of the cluster, not of the group."""
    world = World()
    with world.consumer() as consumer:
        consumer.commit_sync(OFFSETS)
        world.control.kill(1)
        world.at(world.clock.time + 30.0, lambda: world.control.restart(1))
        consumer.commit_sync(OFFSETS, timeout=60.0)
    told = [each.event for each in caplog.records]  # type: ignore[attr-defined]
    assert told == ["bootstrap_failed", "bootstrap_succeeded"]


def test_a_time_without_an_attempt_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    """B219: two single failures with ten idle minutes between them are no outage."""
    world = World()
    with world.consumer() as consumer:
        for _ in range(2):
            with (
                world.control.fail("OffsetCommit", 16, times=None),
                pytest.raises(TimeoutException),
            ):
                consumer.commit_sync(OFFSETS, timeout=0.5)
            world.clock.sleep(600.0)
        consumer.commit_sync(OFFSETS)
    assert not caplog.records


def test_an_answer_of_any_kind_is_its_return(caplog: pytest.LogCaptureFixture) -> None:
    """B219: a refusal comes from a coordinator that works; so does an asynchronous commit."""
    world = World()
    with world.consumer() as consumer:
        fault = world.control.fail("OffsetCommit", 16, times=None)
        with pytest.raises(TimeoutException):
            consumer.commit_sync(OFFSETS, timeout=100.0)
        fault.undo()
        consumer.commit_async(OFFSETS)
        world.clock.sleep(1.0)
        assert len(said(caplog, "again")) == 1
