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
    consumer = world.consumer(fetches=False, auto_offset_reset="earliest")
    consumer.commit_sync({A: OffsetAndMetadata(3, "", 0)})
    consumer.assign(A)
    return consumer


def test_what_is_committed_is_the_position() -> None:
    """B74: no leader is asked."""
    world = filled()
    with committed_at(world) as consumer:
        assert consumer.position(A) == 3
        assert not asked(world)
        consumer.commit_sync()
        assert consumer.committed(A) == {A: OffsetAndMetadata(3, "", 0)}


@pytest.mark.parametrize(("policy", "offset"), [("earliest", 1), ("latest", 5)])
@pytest.mark.parametrize("group", ["g", None])
def test_without_a_commit_the_policy_says(policy: str, offset: int, group: str | None) -> None:
    """B75: one ListOffsets a leader, for all that are missing; without a group at once.

    The epoch of the answer is not kept: nothing need have been written in it.
    """
    world = World()
    for tp in ORDERS:
        for number in range(5):
            world.control.append(tp, b"value", timestamp=1000 + number)
        world.control.delete_records(tp, 1)
    with world.consumer(fetches=False, auto_offset_reset=policy, group_id=group) as consumer:
        consumer.assign(ORDERS)
        assert [consumer.position(tp) for tp in ORDERS] == [offset] * 3
        assert asked(world) == [(1, [0, 1, 2])]
        assert len(world.cluster.journal.entries("OffsetFetch")) == (group is not None)
        assert {
            each.leader_epoch for each in consumer._committable.snapshot().offsets.values()
        } == {None}


def test_a_known_position_is_returned_at_once() -> None:
    """B12: with timeout 0, with a wake-up pending, and nothing sent."""
    world = World()
    with world.consumer(fetches=False) as consumer:
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
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
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
    """B76: without a group no request is needed to know that there is none."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none", group_id=None) as consumer:
        consumer.assign(A)
        with pytest.raises(errors.NoOffsetForPartitionException, match="orders-0"):
            consumer.position(A)
        assert not world.cluster.journal.received


def test_a_position_of_what_is_not_assigned() -> None:
    """B78: IllegalState that names the partition."""
    with World().consumer(fetches=False) as consumer:
        with pytest.raises(errors.IllegalStateException, match="orders-0"):
            consumer.position(A)
        with pytest.raises(errors.IllegalStateException, match="orders-0"):
            consumer.current_lag(A)


def test_a_topic_that_is_missing() -> None:
    """B79: TimeoutException at its time, saying what it waited for; then no request follows."""
    world = World()
    missing = TopicPartition("elsewhere", 0)
    with world.consumer(fetches=False, allow_auto_create_topics=False) as consumer:
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
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign([A, B])
        consumer.seek_to_end(A)
        consumer.seek_to_beginning(B)
        world.clock.sleep(1.0)
        assert not world.cluster.journal.received
        assert consumer.position(A) == 5
        assert consumer.position(B) == 1
        assert not world.cluster.journal.entries("OffsetFetch")


@pytest.mark.parametrize(
    ("back", "offset"),
    [("PT0.005S", 4), ("PT0.030S", 2), ("PT1H", 1), ("PT0S", 5)],
)
def test_a_policy_that_counts_back_from_now(back: str, offset: int) -> None:
    """B77: the first record that is younger; where none is, the next one to be written."""
    world = filled()
    with world.consumer(fetches=False, auto_offset_reset=f"by_duration:{back}") as consumer:
        # The records are of the milliseconds 1000, 1010 and so on, to 1040.
        world.members[0].side.lookups._time_of_day = lambda: 1045
        consumer.assign(A)
        assert consumer.position(A) == offset


def test_a_record_written_while_no_young_one_is_found() -> None:
    """B77: it is read, not passed over."""
    world = filled()
    with world.consumer(fetches=False, auto_offset_reset="by_duration:PT1S") as consumer:
        world.members[0].side.lookups._time_of_day = lambda: 9000
        consumer.assign(A)
        world.control.answer_late("ListOffsets", 1.0, times=1)

        def write() -> None:
            world.control.append(A, b"v", timestamp=8500)

        world.at(world.clock.time + 0.5, write)
        assert consumer.position(A) == 5


def test_the_leader_has_moved() -> None:
    """B83: fresh metadata, and only what has failed is asked again."""
    world = World(nodes=3)
    with world.consumer(fetches=False, auto_offset_reset="latest", group_id=None) as consumer:
        consumer.end_offsets(ORDERS)
        world.control.forget_requests()
        world.control.move_leader(A)
        consumer.assign(ORDERS)
        consumer.poll(1.0)
        assert [consumer.position(tp, 0) for tp in ORDERS] == [0, 0, 0]
        partitions = [numbers for _, numbers in asked(world)]
        assert sorted(partitions) == [[0], [0], [1], [2]]
        assert len(world.cluster.journal.entries("Metadata")) == 1


def test_what_has_succeeded_counts_at_once() -> None:
    """B84: in one answer, what was found is settled, and the rest is asked again."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="latest", group_id=None) as consumer:
        world.control.fail("ListOffsets", 78, times=20, partition=0)
        consumer.assign(ORDERS)
        consumer.poll(0.05)
        assert consumer.position(B, 0) == 0
        with pytest.raises(errors.TimeoutException):
            consumer.position(A, 0)
        assert asked(world)[0] == (1, [0, 1, 2])
        assert consumer.position(A) == 0
        assert {tuple(numbers) for _, numbers in asked(world)[1:]} == {(0,)}


def test_a_silent_leader_holds_up_no_other() -> None:
    """B84: the position at the other one is known as soon as that has answered."""
    world = filled()
    with world.consumer(fetches=False, group_id=None) as consumer:
        consumer.end_offsets(ORDERS)
        world.control.freeze(world.control.leader(A)[0])
        consumer.assign(ORDERS)
        began = world.clock.time
        assert consumer.position(B) == 5
        assert consumer.position(C) == 5
        assert world.clock.time - began < 0.1


def test_without_a_leader_no_broker_is_asked() -> None:
    """B85: it waits for metadata, and asks the leader when there is one."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 1, replication=1)
    with world.consumer(fetches=False, group_id=None) as consumer:
        consumer.partitions_for("orders")
        leader = world.control.leader(A)[0]
        world.control.kill(leader)
        consumer.assign(A)
        consumer.poll(5.0)
        assert not asked(world)
        world.at(world.clock.time + 1.0, lambda: world.control.restart(leader))
        assert consumer.position(A, timeout=20) == 0
        assert [node for node, _ in asked(world)] == [leader]


def test_missing_rights_are_raised_at_once() -> None:
    """B86: not retried; a position of another topic is not concerned."""
    world = World(topics={"orders": 1, "secret": 1})
    secret = TopicPartition("secret", 0)
    with world.consumer(fetches=False) as consumer:
        consumer.assign([A, secret])
        with world.control.deny(topic="secret"):
            began = world.clock.time
            with pytest.raises(errors.TopicAuthorizationException) as caught:
                consumer.position(secret, timeout=60)
            assert caught.value.topics == ("secret",)
            assert consumer.position(A, timeout=60) == 0
            assert world.clock.time - began < 0.5


@pytest.mark.parametrize("act", ["assign", "seek", "unsubscribe", "recreate"])
def test_an_answer_that_is_no_longer_wanted(act: str) -> None:
    """B80, B90: dropped; and what is not asked for any more is not asked on."""
    world = filled()
    with world.consumer(fetches=False, auto_offset_reset="latest", group_id=None) as consumer:
        consumer.assign(A)
        world.control.answer_late("ListOffsets", 1.0, times=1)
        consumer.poll(0.5)
        assert len(asked(world)) == 1
        if act == "assign":
            consumer.assign(B)
        elif act == "seek":
            consumer.seek(A, 3)
        else:
            consumer.unsubscribe()
            if act == "recreate":
                consumer.assign(A)
                consumer.seek_to_beginning()
        world.clock.sleep(0.01)
        assert repr(world.members[0].side.lookups).endswith("(0 being looked up)")
        world.clock.sleep(2.0)
        if act == "seek":
            assert consumer.position(A, 0) == 3
        elif act == "recreate":
            assert consumer.position(A) == 1
        else:
            assert len(asked(world)) == 1


def test_all_who_wait_share_one_look_up() -> None:
    """B93: a position joins what a poll has set going, and tells of it in its report."""
    world = filled()
    with world.consumer(fetches=False, group_id=None) as consumer:
        consumer.end_offsets(A)
        world.control.forget_requests()
        world.control.answer_late("ListOffsets", 2.0, times=1)
        consumer.assign(A)
        consumer.poll(0.5)
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.position(A, timeout=0.5)
        (attempt,) = caught.value.attempts
        assert (attempt.request, attempt.outcome) == ("ListOffsets", "unanswered")
        assert consumer.position(A) == 5
        assert len(asked(world)) == 1


def test_errors_until_the_end_are_in_the_report() -> None:
    """B5: attempts, waits and the last error, as if the look-up had been its own."""
    world = World()
    with world.consumer(fetches=False, group_id=None) as consumer:
        world.control.fail("ListOffsets", 78, times=None)
        consumer.assign(A)
        consumer.poll(0)
        world.clock.sleep(1.0)
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.position(A, timeout=3.0)
        late = caught.value
        assert len(late.attempts) >= 3
        assert {each.outcome for each in late.attempts} == {"OffsetNotAvailableException"}
        assert type(late.last_error) is errors.OffsetNotAvailableException
        assert "retry backoff" in {each.reason for each in late.waits}
        consumer.unsubscribe()


def test_who_joins_late_hears_what_was_met() -> None:
    """B5, B93: the wait that the look-up is in, and its last error."""
    world = World()
    with world.consumer(
        group_id=None, retry_backoff_ms=10_000, retry_backoff_max_ms=10_000
    ) as consumer:
        world.control.fail("ListOffsets", 78, times=1)
        consumer.assign(A)
        consumer.poll(1.0)
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.position(A, timeout=0.5)
        assert [each.reason for each in caught.value.waits] == ["retry backoff"]
        assert type(caught.value.last_error) is errors.OffsetNotAvailableException
        assert not caught.value.attempts
        assert consumer.position(A) == 0


def test_an_error_that_a_position_has_raised_is_not_raised_again() -> None:
    """B76: it is raised once, by the first call."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign(A)
        consumer.poll(0)
        with pytest.raises(errors.NoOffsetForPartitionException):
            consumer.position(A)
        consumer.commit_sync({A: OffsetAndMetadata(4)})
        assert not consumer.poll(1.0)
        assert consumer.position(A, 0) == 4


def test_a_poll_takes_over_what_a_position_has_left() -> None:
    """B93: in the very turn in which that one's time is over; nothing is asked twice."""
    world = filled()
    with world.consumer(fetches=False, group_id=None) as consumer:
        consumer.end_offsets(A)
        world.control.forget_requests()
        world.control.answer_late("ListOffsets", 1.0, times=1)
        consumer.assign(A)
        with pytest.raises(errors.TimeoutException):
            consumer.position(A, timeout=0.5)
        consumer.poll(1.0)
        assert consumer.position(A, 0) == 5
        assert len(asked(world)) == 1


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_logs_end_where_the_isolation_says(isolation: str) -> None:
    """B94: for positions and lags, the leaders are asked for what may be read."""
    world = World()
    with world.consumer(fetches=False, isolation_level=isolation) as consumer:
        consumer.assign(A)
        assert consumer.position(A) == 0
        consumer.current_lag(A)
        world.clock.sleep(1.0)
        levels = [
            int(entry.body.isolation_level)
            for entry in world.cluster.journal.entries("ListOffsets")
        ]
        assert levels == [int(isolation == "read_committed")] * 2


def test_a_caller_who_has_left_and_sought_in_the_same_moment() -> None:
    """B90: between two looks of the network thread; nothing is begun, and no thread dies."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        consumer._positions.wanted = list  # type: ignore[method-assign]
        with pytest.raises(errors.TimeoutException):
            consumer.position(A, timeout=1.0)
        assert consumer.health().alive
        assert not world.cluster.journal.received
