"""`max.poll.interval.ms`: who is inside a poll, who is late, and what becomes of him."""

import logging

import pytest

from prokurist import OffsetAndMetadata, TopicPartition, errors
from tests.simulation.joining import Notes, grouped, heartbeats, joined, member, settle

A = TopicPartition("orders", 0)


def test_the_interval_does_not_run_inside_a_poll() -> None:
    """B118: however long the poll is."""
    world = grouped()
    with joined(world, max_poll_interval_ms=2000) as consumer:
        consumer.poll(10.0)
        consumer.poll(10.0)
        assert not any(each.member_epoch < 0 for each in heartbeats(world))
        assert len(consumer.assignment()) == 4


def test_between_two_polls_a_member_stays_for_the_interval() -> None:
    """B120: heartbeats go on in the background."""
    world = grouped()
    with joined(world, max_poll_interval_ms=20_000) as consumer:
        before = consumer.group_metadata()
        for _ in range(4):
            world.clock.sleep(19.0)
            consumer.poll(0.0)
        assert consumer.group_metadata() == before
        assert len(heartbeats(world)) > 20


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_who_is_late_leaves_and_comes_back(
    static: bool,  # noqa: FBT001 - a parameter of the test
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B150, B121: told at once to the group, on the next poll to the listener; then joins."""
    world = grouped()
    notes = Notes()
    keys = {"group_instance_id": "i"} if static else {}
    with member(world, listener=notes, max_poll_interval_ms=5000, **keys) as consumer:
        settle(consumer, seconds=1.0)
        began = world.clock.time
        world.clock.sleep(20.0)
        left = next(
            entry
            for entry in world.cluster.journal.entries("ConsumerGroupHeartbeat")
            if entry.body.member_epoch < 0
        )
        assert left.body.member_epoch == (-2 if static else -1)
        assert 4.9 < left.at - began < 5.1
        assert heartbeats(world)[-1] is left.body, "and then it is quiet"
        assert notes.heard == [("assigned", [0, 1, 2, 3])]
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync({A: OffsetAndMetadata(1)})
        settle(consumer, seconds=1.0)
        assert notes.heard[1:] == [("lost", [0, 1, 2, 3]), ("assigned", [0, 1, 2, 3])]
    assert sum("max.poll.interval.ms" in each.message for each in caplog.records) == 1
    assert caplog.records[0].levelno == logging.WARNING


def test_who_is_late_has_what_he_had_taken_away_before_the_next_poll() -> None:
    """B150: not a record more, even if some are buffered."""
    world = grouped(records=50)
    with joined(world, max_poll_interval_ms=5000, max_poll_records=5) as consumer:
        consumer.poll(1.0)
        world.clock.sleep(10.0)
        held = world.control.hold("ConsumerGroupHeartbeat")
        assert not consumer.poll(2.0)
        held.undo()
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4


def test_a_listener_that_takes_long_is_inside_a_poll() -> None:
    """B122: longer than the session, and than the poll interval: commits in it work."""
    world = grouped()

    def assigned(_: object) -> None:
        world.clock.sleep(60.0)
        consumer.commit_sync({A: OffsetAndMetadata(1)})

    with member(
        world, listener=Notes(assigned=assigned), max_poll_interval_ms=50_000
    ) as consumer:
        consumer.poll(0.5)
        consumer.poll(0.5)
        assert world.control.committed("g")[A].offset == 1
        assert [each.member_epoch for each in heartbeats(world)].count(0) == 1
