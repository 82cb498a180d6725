"""Look-ups of offsets in virtual time: leaders, edges, times, and who is asked what."""

import pytest

from prokurist import errors
from prokurist.events.application_events import Edge, LookUpOffsets
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import OffsetAndTimestamp, TopicPartition
from tests.simulation.looking_up import (
    BEGINNING,
    END,
    ORDERS,
    TP,
    asked,
    asked_metadata,
    filled,
    idle,
    look_up,
)
from tests.simulation.world import World


def test_the_edges_of_logs() -> None:
    """B75, B84: where each log begins and ends, one request to each leader, at once."""
    world = filled()
    member = world.client()
    began = world.clock.time
    assert look_up(world, member, dict.fromkeys(ORDERS, END)) == dict.fromkeys(ORDERS, 5)
    # Connecting and asking for metadata, then connecting and asking the leaders:
    # as long for three of them as for one.
    assert world.clock.time - began < 0.02
    assert sorted(asked(world)) == [(1, [0]), (2, [1]), (3, [2])]
    ends = dict.fromkeys(ORDERS, BEGINNING)
    assert look_up(world, member, ends) == dict.fromkeys(ORDERS, 1)
    assert asked_metadata(world) == 1
    assert idle(member)


def test_times_find_the_first_record_at_or_after_them() -> None:
    """B87: offset, timestamp and leader epoch; None beyond the last record."""
    world = filled()
    member = world.client()
    moments = {ORDERS[0]: 1015, ORDERS[1]: 0, ORDERS[2]: 1041}
    assert look_up(world, member, moments) == {
        ORDERS[0]: OffsetAndTimestamp(2, 1020, 0),
        ORDERS[1]: OffsetAndTimestamp(1, 1010, 0),
        ORDERS[2]: None,
    }


def test_edges_and_times_mix() -> None:
    """B75: what a reset needs is asked of each leader in one request."""
    world = filled()
    for tp in ORDERS:
        world.control.move_leader(tp, 1)
    member = world.client()
    moments: dict[TopicPartition, Edge | int] = {
        ORDERS[0]: BEGINNING,
        ORDERS[1]: END,
        ORDERS[2]: 1030,
    }
    found = look_up(world, member, moments)
    assert found == {ORDERS[0]: 1, ORDERS[1]: 5, ORDERS[2]: OffsetAndTimestamp(3, 1030, 0)}
    assert asked(world) == [(1, [0, 1, 2])]


@pytest.mark.parametrize("release", ["2.4", "2.8", "3.9", "4.3"])
def test_older_protocols_answer_the_same(release: str) -> None:
    """Capped to what an older Kafka speaks, the answers are the same."""
    world = filled()
    member = world.client(cap=Versions.of_kafka(release))
    assert look_up(world, member) == {TP: 5}
    assert look_up(world, member, {TP: 1030}) == {TP: OffsetAndTimestamp(3, 1030, 0)}


@pytest.mark.parametrize("read_committed", [False, True])
def test_the_isolation_level_is_the_brokers_business(*, read_committed: bool) -> None:
    """B89: read_committed asks for the last stable offset."""
    world = filled()
    member = world.client()
    look_up(world, member, read_committed=read_committed)
    (entry,) = world.cluster.journal.entries("ListOffsets")
    assert entry.body.isolation_level == int(read_committed)


def test_of_nothing_nothing_is_asked() -> None:
    """B14: no partitions, an empty answer, no request; without any time too."""
    world = World()
    member = world.client()
    assert look_up(world, member, {}, timeout=0.0) == {}
    assert not world.cluster.journal.received


@pytest.mark.parametrize("warm", [False, True])
def test_without_time_nothing_is_sent(*, warm: bool) -> None:
    """B11: TimeoutException at once, and no request, even on a warm connection."""
    world = filled()
    member = world.client()
    if warm:
        look_up(world, member)
    received = world.cluster.journal.received
    call = world.call("end_offsets", 0.0)
    member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    world.clock.sleep(1.0)
    with pytest.raises(errors.TimeoutException, match="timeout 0"):
        call.result()
    assert world.cluster.journal.received == received
    assert idle(member)


def test_the_broker_is_told_how_much_time_there_is() -> None:
    """CONTRACT 4: from v10 on the request's own timeout is the attempt limit."""
    world = filled()
    member = world.client(request_timeout_ms=4000)
    look_up(world, member, timeout=60.0)
    look_up(world, member, timeout=1.5)
    first, second = world.cluster.journal.entries("ListOffsets")
    assert first.version >= 10
    assert [entry.body.timeout.total_seconds() for entry in (first, second)] == [4.0, 1.5]


def test_only_the_failed_rest_is_asked_again() -> None:
    """B83, B84: successes stand; the rest comes again, after fresh metadata and a backoff."""
    world = filled()
    member = world.client()
    for tp in ORDERS:
        world.control.move_leader(tp, 1)
    look_up(world, member)
    world.control.forget_requests()
    world.control.fail("ListOffsets", 6, times=1, partition=1)
    assert look_up(world, member, dict.fromkeys(ORDERS, END)) == dict.fromkeys(ORDERS, 5)
    assert asked(world) == [(1, [0, 1, 2]), (1, [1])]
    first, second = world.cluster.journal.entries("ListOffsets")
    (metadata,) = world.cluster.journal.entries("Metadata")
    assert first.at < metadata.at < second.at
    assert 0.08 <= second.at - first.at <= 0.13


@pytest.mark.parametrize("code", [3, 5, 6, 9, 56, 74, 75, 78])
def test_a_leader_that_is_none_any_more(code: int) -> None:
    """B83: stale metadata is fetched again, then the new leader is asked."""
    world = filled()
    member = world.client()
    look_up(world, member)
    before = asked_metadata(world)
    world.control.fail("ListOffsets", code, times=1)
    world.control.move_leader(TP, 2)
    assert look_up(world, member) == {TP: 5}
    assert [node for node, _ in asked(world)] == [1, 1, 2]
    assert asked_metadata(world) == before + 1


def test_a_leader_that_moved_is_found_by_its_epoch() -> None:
    """B83: the question carries the epoch that we believe in; the broker fences a stale one."""
    world = filled()
    member = world.client()
    look_up(world, member)
    world.control.move_leader(TP, 2)
    world.control.move_leader(TP, 1)
    assert look_up(world, member) == {TP: 5}
    epochs = [
        entry.body.topics[0].partitions[0].current_leader_epoch
        for entry in world.cluster.journal.entries("ListOffsets")
    ]
    assert epochs == [0, 0, 2]


def test_a_leader_that_is_not_known_is_waited_for() -> None:
    """B85: no other broker is asked in its place, and the report says what was waited for."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 1, replication=1)
    world.control.kill(1)
    member = world.client()
    began = world.clock.time
    with pytest.raises(errors.TimeoutException) as caught:
        look_up(world, member, timeout=3.0)
    assert world.clock.time == pytest.approx(began + 3.0)
    assert not asked(world)
    assert "for the leader of orders-0" in str(caught.value)
    assert type(caught.value.last_error) is errors.LeaderNotAvailableException
    world.clock.sleep(1.0)
    assert idle(member)
    call = world.call("end_offsets", 10.0)
    member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    world.clock.sleep(2.0)
    world.control.restart(1)
    began = world.clock.time
    assert world.clock.wait(call.waiter, call.deadline.at)
    assert call.result() == {TP: 0}
    assert world.clock.time - began < 1.5
    assert [node for node, _ in asked(world)] == [1]


@pytest.mark.parametrize("tp", [TopicPartition("nothing", 0), TopicPartition("orders", 7)])
def test_what_is_not_there_is_asked_for_until_the_deadline(tp: TopicPartition) -> None:
    """B79: TimeoutException at the deadline, with the last error and the name."""
    world = World()
    member = world.client()
    began = world.clock.time
    with pytest.raises(errors.TimeoutException, match=f"does not know {tp}") as caught:
        look_up(world, member, {tp: END, TP: END}, timeout=3.0)
    assert world.clock.time == pytest.approx(began + 3.0)
    assert type(caught.value.last_error) is errors.UnknownTopicOrPartitionException
    # What was there was asked for once, and the rest with a backoff, not in a loop.
    assert asked(world) == [(1, [0])]
    assert 4 <= asked_metadata(world) <= 9
    world.clock.sleep(1.0)
    assert idle(member)


def test_a_topic_that_comes_into_being_meanwhile() -> None:
    """B79: unknown is no reason to give up early."""
    world = World(topics={})
    member = world.client()
    call = world.call("end_offsets", 10.0)
    member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    world.clock.sleep(2.0)
    world.control.create_topic("orders")
    assert world.clock.wait(call.waiter, call.deadline.at)
    assert call.result() == {TP: 0}


def test_several_share_the_wait_for_metadata() -> None:
    """B20: one question for all who wait, and each ends at its own deadline."""
    world = World()
    member = world.client()
    world.control.hold("Metadata", times=1)
    began = world.clock.time
    calls = [world.call("end_offsets", timeout) for timeout in (0.9, 0.3, 0.6)]
    for call in calls:
        member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    ends = []
    for call in sorted(calls, key=lambda each: each.deadline):
        world.clock.wait(call.waiter, call.deadline.at + 1)
        ends.append(round(world.clock.time - began, 6))
    assert ends == [0.3, 0.6, 0.9]
    assert asked_metadata(world) == 1


def test_interest_ends_with_the_call() -> None:
    """B198: later metadata requests do not name the topic, and the snapshot forgets it."""
    world = World(topics={"orders": 3, "payments": 1})
    member = world.client(metadata_max_age_ms=10_000)
    member.side.assigned.assign([TP._replace(topic="payments")])
    look_up(world, member)
    world.control.forget_requests()
    world.clock.sleep(11.0)
    (entry,) = world.cluster.journal.entries("Metadata")
    assert [topic.name for topic in entry.body.topics] == ["payments"]
    assert set(member.side.metadata.cluster.topics) == {"payments"}
