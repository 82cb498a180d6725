"""Positions in virtual time: where reading goes on, and what it takes to know."""

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.looking_up import ORDERS, asked, filled
from tests.simulation.world import World

A, B, C = ORDERS


def committed_at(world: World) -> KafkaConsumer:
    """A consumer of one partition whose group has committed 3."""
    consumer = world.consumer(auto_offset_reset="earliest")
    consumer.commit_sync({A: OffsetAndMetadata(3, "", 0)})
    consumer.assign(A)
    return consumer


def test_what_is_committed_is_the_position() -> None:
    """B74: no leader is asked."""
    world = filled()
    with committed_at(world) as consumer:
        assert consumer.position(A) == 3
        assert not asked(world)


@pytest.mark.parametrize(("policy", "offset"), [("earliest", 1), ("latest", 5)])
@pytest.mark.parametrize("group", ["g", None])
def test_without_a_commit_the_policy_says(policy: str, offset: int, group: str | None) -> None:
    """B75: one ListOffsets a leader, for all that are missing; without a group at once."""
    world = World()
    for tp in ORDERS:
        for number in range(5):
            world.control.append(tp, b"value", timestamp=1000 + number)
        world.control.delete_records(tp, 1)
    with world.consumer(auto_offset_reset=policy, group_id=group) as consumer:
        consumer.assign(ORDERS)
        assert [consumer.position(tp) for tp in ORDERS] == [offset] * 3
        assert asked(world) == [(1, [0, 1, 2])]
        assert len(world.cluster.journal.entries("OffsetFetch")) == (group is not None)


def test_a_known_position_is_returned_at_once() -> None:
    """B12: with timeout 0, with a wake-up pending, and nothing sent."""
    world = World()
    with world.consumer() as consumer:
        consumer.assign([A, B])
        consumer.seek(A, 7)
        consumer.wakeup()
        assert consumer.position(A, timeout=0) == 7
        with pytest.raises(errors.WakeupException):
            consumer.position(B)
        with pytest.raises(errors.TimeoutException):
            consumer.position(B, timeout=0)


def test_no_commit_and_no_policy() -> None:
    """B76: raised at once, naming all such partitions; a commit mends it."""
    world = World()
    with world.consumer(auto_offset_reset="none") as consumer:
        consumer.commit_sync({B: OffsetAndMetadata(2)})
        consumer.assign(ORDERS)
        for _ in range(2):
            with pytest.raises(errors.NoOffsetForPartitionException) as caught:
                consumer.position(A)
            assert caught.value.partitions == (A, C)
        assert consumer.position(B) == 2
        consumer.commit_sync({A: OffsetAndMetadata(4)})
        assert consumer.position(A) == 4
        assert not asked(world)


def test_no_group_and_no_policy() -> None:
    """B76: without a group nobody has to be asked to know that there is none."""
    world = World()
    with world.consumer(auto_offset_reset="none", group_id=None) as consumer:
        consumer.assign(A)
        with pytest.raises(errors.NoOffsetForPartitionException, match="orders-0"):
            consumer.position(A)
        assert not world.cluster.journal.received


def test_a_position_of_what_is_not_assigned() -> None:
    """B78: IllegalState that names the partition."""
    with World().consumer() as consumer:
        with pytest.raises(errors.IllegalStateException, match="orders-0"):
            consumer.position(A)
        with pytest.raises(errors.IllegalStateException, match="orders-0"):
            consumer.current_lag(A)


def test_a_topic_that_is_missing() -> None:
    """B79: TimeoutException at its time, saying what it waited for; then nobody asks on."""
    world = World()
    missing = TopicPartition("elsewhere", 0)
    with world.consumer(allow_auto_create_topics=False) as consumer:
        consumer.assign(missing)
        began = world.clock.time
        with pytest.raises(errors.TimeoutException, match="elsewhere-0") as caught:
            consumer.position(missing, timeout=3)
        assert world.clock.time == pytest.approx(began + 3)
        assert "the leader of elsewhere-0" in {each.reason for each in caught.value.waits}
        assert [each.request for each in caught.value.attempts][:1] == ["OffsetFetch"]
        world.clock.sleep(0.01)
        assert consumer.health().waiting_calls == 0


def test_the_ends_of_a_log_are_looked_up_when_they_are_needed() -> None:
    """B82: seek_to_end is lazy, and position resolves it, without the group."""
    world = filled()
    with world.consumer(auto_offset_reset="none") as consumer:
        consumer.assign([A, B])
        consumer.seek_to_end(A)
        consumer.seek_to_beginning(B)
        world.clock.sleep(1.0)
        assert not world.cluster.journal.received
        assert consumer.position(A) == 5
        assert consumer.position(B) == 1
        assert not world.cluster.journal.entries("OffsetFetch")
