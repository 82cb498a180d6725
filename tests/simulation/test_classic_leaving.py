"""Leaving a classic group in virtual time: who is told, in which order, and how soon."""

import logging

import pytest

from prokurist.errors import KafkaException
from prokurist.events.application_events import Leave
from prokurist.network_thread.membership.classic.state import ClassicState
from prokurist.types import GroupMembershipOperation, OffsetAndMetadata, TopicPartition
from tests.simulation.classic_members import (
    Heard,
    asked,
    consumer_in,
    group_of,
    joined,
    live,
    member_of,
    orders,
    settle,
)
from tests.simulation.world import World


def test_the_others_have_the_partitions_within_a_heartbeat() -> None:
    """B194: after a close they know at their next heartbeat, and not when a session ends."""
    world = World()
    one, other = joined(world, 2)
    one.close()
    assert settle(world, other) < 3.5
    assert other.assignment() == orders(0, 1, 2)


def test_the_last_commit_is_before_the_leave() -> None:
    """B178: in this order on the wire, both from the member that it was."""
    world = World()
    (consumer,) = joined(world)
    place = consumer.group_metadata()
    consumer.close()
    commit, leave = asked(world, "OffsetCommit")[-1], asked(world, "LeaveGroup")[-1]
    assert commit.at <= leave.at
    assert commit.session == leave.session
    assert commit.body.member_id == leave.body.members[0].member_id == place.member_id
    assert commit.body.generation_id_or_member_epoch == place.generation_id


def test_close_without_time_leaves_all_the_same() -> None:
    """B179: the leave is written where the connection is warm; no call waits for its answer."""
    world = World()
    (consumer,) = joined(world, heartbeat_interval_ms=1000)
    world.clock.sleep(2.0)
    began = world.clock.time
    consumer.close(0)
    assert world.clock.time - began <= 0.25
    world.clock.sleep(0.1)
    assert len(asked(world, "LeaveGroup")) == 1
    assert not group_of(world).members


def test_a_silent_coordinator_does_not_starve_the_leave() -> None:
    """B180: the commit is given up at its share; the leave is sent, and close is in time."""
    world = World()
    (consumer,) = joined(world)
    began = world.clock.time
    with world.control.answer_late("OffsetCommit", 1000.0):
        consumer.close(4.0)
    assert world.clock.time - began <= 4.0
    assert len(asked(world, "LeaveGroup")) == 1


def test_close_in_a_round_does_not_wait_for_the_group() -> None:
    """B183: JoinGroup is parked; the leave goes on another connection, at once."""
    world = World()
    one, other = joined(world, 2)
    other.enforce_rebalance()
    other.poll(0.05)
    began = world.clock.time
    other.close()
    assert world.clock.time - began < 0.1
    settle(world, one)
    assert one.assignment() == orders(0, 1, 2)


@pytest.mark.parametrize("way", ["close", "unsubscribe"])
def test_what_a_cooperative_member_has_read_is_committed_in_a_round_too(way: str) -> None:
    """B178, B183: in the name of the generation before, which counts until all have joined."""
    world = World()
    one, other = joined(world, 2, partition_assignment_strategy="cooperative-sticky")
    tp = min(other.assignment())
    other.seek(tp, 7)
    other.enforce_rebalance()
    other.poll(0.05)
    assert member_of(other).state is ClassicState.JOINING
    getattr(other, way)()
    world.clock.sleep(0.1)
    assert world.control.committed("g")[tp].offset == 7
    settle(world, one)


@pytest.mark.parametrize("way", ["close", "unsubscribe"])
def test_a_commit_in_revoked_at_the_end_goes_out_in_a_round_too(way: str) -> None:
    """B65, B159: there is no next poll to commit after, and the coordinator takes it."""
    world = World()
    (one,) = joined(
        world, partition_assignment_strategy="cooperative-sticky", enable_auto_commit=False
    )
    other = consumer_in(
        world,
        "other",
        partition_assignment_strategy="cooperative-sticky",
        enable_auto_commit=False,
    )

    class Committing(Heard):
        def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            other.commit_sync({tp: OffsetAndMetadata(7) for tp in partitions})
            super().on_partitions_revoked(partitions)

    heard = Committing()
    other.subscribe("orders", heard)
    settle(world, one, other)
    (*mine,) = other.assignment()
    other.enforce_rebalance()
    other.poll(0.05)
    assert member_of(other).state is ClassicState.JOINING
    getattr(other, way)()
    assert heard.what()[-1] == "revoked"
    assert {world.control.committed("g")[tp].offset for tp in mine} == {7}
    settle(world, one)


@pytest.mark.parametrize("listener", [False, True], ids=["automatic", "in revoked"])
def test_the_last_commit_follows_the_member_into_a_new_generation(*, listener: bool) -> None:
    """B178: the round has ended for the coordinator, and this member does not know it yet."""
    world = World()
    one, other = (
        consumer_in(
            world,
            name,
            partition_assignment_strategy="cooperative-sticky",
            enable_auto_commit=not listener,
        )
        for name in ("one", "other")
    )
    one.subscribe("orders")

    class Committing(Heard):
        def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            if listener:
                other.commit_sync({tp: OffsetAndMetadata(7) for tp in partitions})

    other.subscribe("orders", Committing())
    settle(world, one, other)
    tp = min(other.assignment())
    world.control.append(tp, *[b"v"] * 7)
    other.seek(tp, 7)
    one.close()
    with world.control.answer_late("SyncGroup", 0.5):
        live(world, other, until=lambda: member_of(other).state is ClassicState.SYNCING)
        world.clock.sleep(0.1)
        world.control.forget_requests()
        began = world.clock.time
        other.close()
    assert world.clock.time - began < 2.0
    assert world.control.committed("g")[tp].offset == 7
    tried = [each.body.generation_id_or_member_epoch for each in asked(world, "OffsetCommit")]
    assert tried[0] < tried[-1]


def test_a_last_commit_that_is_refused_in_the_present_generation_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B178: a warning, at once, and no exception: there is no newer one to wait for."""
    world = World()
    (one,) = joined(world)
    one.seek(TopicPartition("orders", 0), 7)
    world.control.fail("OffsetCommit", 22, times=None)
    began = world.clock.time
    one.close()
    assert world.clock.time - began < 0.1
    assert "closed without committing the last offsets" in caplog.text
    assert "another's" not in caplog.text


def test_no_automatic_commit_is_refused_because_of_a_round(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B52, B65: it waits for the round's end; a healthy group warns of nothing."""
    world = World()
    one, other = joined(
        world,
        2,
        partition_assignment_strategy="cooperative-sticky",
        auto_commit_interval_ms=500,
    )
    other.enforce_rebalance()
    with caplog.at_level(logging.WARNING):
        live(world, other, seconds=5.0)
        settle(world, one, other)
        live(world, one, other, seconds=2.0)
    assert not caplog.text
    generation = one.group_metadata().generation_id
    assert asked(world, "OffsetCommit")[-1].body.generation_id_or_member_epoch == generation


def test_a_listener_that_raises_does_not_keep_the_member_in() -> None:
    """B161, B185: revoked runs once, its error is raised, and the leave is sent."""
    world = World()

    def fail() -> None:
        raise ValueError("no")

    for way in ("close", "unsubscribe"):
        heard = Heard(revoked=fail)
        consumer = consumer_in(world, way)
        consumer.subscribe("orders", heard)
        settle(world, consumer)
        with pytest.raises(KafkaException) as caught:
            getattr(consumer, way)()
        assert "ValueError" in str(caught.value)
        assert heard.what() == ["assigned", "revoked"]
        assert len(asked(world, "LeaveGroup", way)) == 1


def test_unsubscribe_tells_the_listener_and_leaves_before_it_returns() -> None:
    """B160: revoked with everything, the group is empty, and another subscribe joins again."""
    world = World()
    heard = Heard()
    consumer = consumer_in(world, "c")
    consumer.subscribe("orders", heard)
    settle(world, consumer)
    consumer.unsubscribe()
    assert heard.said[-1] == ("revoked", orders(0, 1, 2))
    assert not group_of(world).members
    assert not consumer.assignment()
    world.clock.sleep(60.0)
    assert not asked(world, "Heartbeat")[20:]
    consumer.subscribe("orders", heard)
    settle(world, consumer)
    assert heard.said[-1] == ("assigned", orders(0, 1, 2))


def test_unsubscribe_of_one_that_was_put_out_is_a_loss() -> None:
    """B160, B161: lost, not revoked, where the group does not count the member any more."""
    world = World()
    heard = Heard()
    consumer = consumer_in(world, "c", heartbeat_interval_ms=1000)
    consumer.subscribe("orders", heard)
    settle(world, consumer)
    group_of(world).expire(consumer.group_metadata().member_id, world.clock.time)
    world.clock.sleep(2.0)
    consumer.unsubscribe()
    assert heard.what() == ["assigned", "lost"]


@pytest.mark.parametrize("instance", [None, "me"])
@pytest.mark.parametrize("how", list(GroupMembershipOperation))
def test_who_leaves_and_who_stays(instance: str | None, how: GroupMembershipOperation) -> None:
    """B192, B193, KIP-1092: a static member stays unless it is told to go."""
    world = World()
    consumer = consumer_in(world, "c", group_instance_id=instance)
    consumer.subscribe("orders")
    settle(world, consumer)
    consumer.close(membership=how)
    leaves = how is GroupMembershipOperation.LEAVE_GROUP or (
        how is GroupMembershipOperation.DEFAULT and instance is None
    )
    assert len(asked(world, "LeaveGroup")) == leaves
    assert bool(group_of(world).members) is not leaves


def test_who_has_left_before_it_was_taken_up_is_out_all_the_same() -> None:
    """CONTRACT 3: at the deadline it is done locally, and no heartbeat goes on for ever."""
    world = World()
    (consumer,) = joined(world, enable_auto_commit=False)
    side = consumer._built()
    call = world.call("unsubscribe", 0.0)
    call.leave(world.clock.time)
    side.thread.mailbox.post(Leave(call))
    world.clock.sleep(1.0)
    count = len(asked(world, "Heartbeat"))
    world.clock.sleep(30.0)
    assert len(asked(world, "Heartbeat")) == count
    assert not asked(world, "LeaveGroup")


def test_leaving_is_tried_once() -> None:
    """CONTRACT 4: never retried; the coordinator notices by itself."""
    world = World()
    (consumer,) = joined(world)
    with world.control.fail("LeaveGroup", 16, times=None):
        consumer.close()
    assert len(asked(world, "LeaveGroup")) == 1


def test_nothing_is_asked_of_the_group_after_it_was_left() -> None:
    """B156: who assigns by hand neither joins nor sends heartbeats, and can commit."""
    world = World()
    (consumer,) = joined(world)
    consumer.unsubscribe()
    count = len(asked(world, "Heartbeat")), len(asked(world, "JoinGroup"))
    consumer.assign(sorted(orders(0)))
    live(world, consumer, seconds=20.0)
    consumer.commit_sync()
    assert (len(asked(world, "Heartbeat")), len(asked(world, "JoinGroup"))) == count
