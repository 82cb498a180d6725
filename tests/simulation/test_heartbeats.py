"""Heartbeats of the consumer protocol: what is said, when, and what comes of the answers."""

import logging

import pytest

from prokurist import SubscriptionPattern, errors
from prokurist.testing.cluster.group_settings import GroupSettings
from tests.simulation.joining import (
    INTERVAL,
    ORDERS,
    Notes,
    grouped,
    heartbeats,
    joined,
    member,
    moments,
    numbers,
    settle,
)

UNKNOWN_MEMBER, FENCED_EPOCH = 25, 110


def test_the_first_says_everything_and_later_ones_what_has_changed() -> None:
    """B135: epoch 0 and all static fields; then only what is new."""
    world = grouped()
    with joined(world, group_instance_id="i", client_rack="r", group_remote_assignor="range"):
        world.clock.sleep(10.0)
        first, ack, *others = heartbeats(world)
        assert (first.member_epoch, first.instance_id, first.rack_id) == (0, "i", "r")
        assert (first.server_assignor, first.subscribed_topic_names) == ("range", ("orders",))
        assert first.topic_partitions == ()
        assert len(ack.topic_partitions[0].partitions) == 4
        assert len(others) >= 3
        for each in others:
            unchanged = (each.topic_partitions, each.subscribed_topic_names, each.rack_id)
            assert unchanged == (None, None, None)
            assert each.server_assignor is None


def test_everything_is_said_again_after_a_disconnect() -> None:
    """B135, B140: with what is owned; and the member stays what it was."""
    world = grouped()
    with joined(world) as consumer:
        before = consumer.group_metadata()
        world.control.cut("ConsumerGroupHeartbeat")
        world.clock.sleep(2 * INTERVAL)
        again = heartbeats(world)[-2:]
        said = next(each for each in again if each.subscribed_topic_names is not None)
        assert said.member_epoch == before.generation_id
        assert len(said.topic_partitions[0].partitions) == 4
        assert consumer.group_metadata() == before


def test_the_broker_says_how_often_counted_from_sending() -> None:
    """B136, B139: an answer that takes its time does not put the next one off."""
    world = grouped()
    with joined(world):
        world.clock.sleep(INTERVAL)
        world.control.delay("ConsumerGroupHeartbeat", 1.0)
        world.clock.sleep(5 * INTERVAL)
        gaps = [b - a for a, b in zip(moments(world)[2:], moments(world)[3:], strict=False)]
        assert gaps
        assert all(gap == pytest.approx(INTERVAL, abs=0.01) for gap in gaps)


def test_one_heartbeat_while_the_first_is_not_answered() -> None:
    """B137, B265: no interval is known yet, and nothing spins."""
    world = grouped()
    held = world.control.hold("ConsumerGroupHeartbeat")
    with member(world) as consumer:
        consumer.poll(5.0)
        turns = world.members[0].network.turns
        for _ in range(10):
            consumer.poll(1.0)
        assert len(heartbeats(world)) == 1
        assert world.members[0].network.turns - turns < 60
        held.undo()
        consumer.poll(1.0)
        assert consumer.assignment()


def test_an_interval_of_nothing_is_not_believed() -> None:
    """B137: five seconds count where a broker names none."""
    world = grouped()
    world.control.configure_groups(GroupSettings(consumer_heartbeat_interval=0.0))
    with joined(world) as consumer:
        settle(consumer, seconds=20.0)
        assert 4 <= len(heartbeats(world)) < 10


def test_a_change_is_said_at_once_and_after_what_is_in_flight() -> None:
    """B138: the acknowledgement waits for no interval; another subscription for no answer."""
    world = grouped(payments=2)
    with joined(world) as consumer:
        joins, ack = moments(world)[:2]
        assert ack - joins < 0.1
        world.clock.sleep(INTERVAL / 2)
        held = world.control.hold("ConsumerGroupHeartbeat", times=1)
        consumer.subscribe(["orders", "payments"])
        consumer.poll(0.1)
        asked = len(heartbeats(world))
        consumer.subscribe(["payments"])
        consumer.poll(0.1)
        assert len(heartbeats(world)) == asked, "one at a time"
        held.undo()
        consumer.poll(0.5)
        assert heartbeats(world)[asked].subscribed_topic_names == ("payments",)
        settle(consumer, seconds=2 * INTERVAL)
        assert {tp.topic for tp in consumer.assignment()} == {"payments"}


@pytest.mark.parametrize("code", [15, 16])
def test_another_coordinator_is_looked_for_at_once_and_then_with_pauses(code: int) -> None:
    """B140: COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR."""
    world = grouped()
    with joined(world, retry_backoff_ms=400, retry_backoff_max_ms=400) as consumer:
        world.clock.sleep(INTERVAL)
        world.control.forget_requests()
        world.control.fail("ConsumerGroupHeartbeat", code, times=3)
        world.clock.sleep(1.9 * INTERVAL)
        gaps = [b - a for a, b in zip(moments(world), moments(world)[1:], strict=False)]
        assert gaps[0] < 0.05
        assert 0.3 < gaps[1] < 0.6
        assert 0.3 < gaps[2] < 0.6
        assert len(consumer.assignment()) == 4


def test_a_coordinator_that_loads_is_asked_again_after_a_pause() -> None:
    """CONTRACT §4: COORDINATOR_LOAD_IN_PROGRESS is no reason to look for another."""
    world = grouped()
    with joined(world) as consumer:
        world.control.forget_requests()
        world.control.fail("ConsumerGroupHeartbeat", 14, times=2)
        world.clock.sleep(2 * INTERVAL)
        assert len(heartbeats(world)) >= 3
        assert not world.cluster.journal.entries("FindCoordinator")
        assert len(consumer.assignment()) == 4


@pytest.mark.parametrize("code", [UNKNOWN_MEMBER, FENCED_EPOCH])
def test_put_out(code: int) -> None:
    """B141: everything is lost, and the member joins again from nothing."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=1.0)
        world.control.fail("ConsumerGroupHeartbeat", code, times=1)
        settle(consumer, seconds=2 * INTERVAL)
        assert notes.heard == [
            ("assigned", [0, 1, 2, 3]),
            ("lost", [0, 1, 2, 3]),
            ("assigned", [0, 1, 2, 3]),
        ]
        assert [each.member_epoch for each in heartbeats(world)].count(0) == 2


def test_put_out_without_a_listener_needs_no_poll() -> None:
    """B141: the application computes, and its partitions are not withheld from the group."""
    world = grouped()
    with joined(world) as consumer:
        world.control.fail("ConsumerGroupHeartbeat", FENCED_EPOCH, times=1)
        world.clock.sleep(2 * INTERVAL)
        assert [each.member_epoch for each in heartbeats(world)].count(0) == 2
        assert len(consumer.assignment()) == 4


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (30, errors.GroupAuthorizationException),
        (35, errors.UnsupportedVersionException),
        (42, errors.InvalidRequestException),
        (69, errors.GroupIdNotFoundException),
        (81, errors.GroupMaxSizeReachedException),
        (82, errors.FencedInstanceIdException),
        (112, errors.UnsupportedAssignorException),
        (128, errors.InvalidRegularExpression),
    ],
)
def test_a_fatal_refusal_stays(code: int, kind: type[Exception]) -> None:
    """B143, B126, B132: every poll raises it, no heartbeat follows, and one can leave it."""
    world = grouped()
    with member(world) as consumer:
        world.control.fail("ConsumerGroupHeartbeat", code, times=1)
        for _ in range(3):
            with pytest.raises(kind):
                consumer.poll(5.0)
        assert len(heartbeats(world)) == 1
        world.clock.sleep(20.0)
        assert len(heartbeats(world)) == 1
        consumer.unsubscribe()
        assert len(heartbeats(world)) == 1, "it is in no group to leave"
        consumer.subscribe("orders")
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4


def test_a_fatal_refusal_of_a_member_takes_its_partitions() -> None:
    """B143: lost, and no record of them any more; close works."""
    world = grouped(records=5)
    notes = Notes()
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=1.0)
        world.control.fail("ConsumerGroupHeartbeat", 81, times=1)
        world.clock.sleep(2 * INTERVAL)
        with pytest.raises(errors.GroupMaxSizeReachedException):
            consumer.poll(1.0)
        assert notes.heard[-1] == ("lost", [0, 1, 2, 3])
        assert not consumer.assignment()
        assert not consumer._member_identity.identity.is_counted


def test_a_broker_that_does_not_know_the_protocol() -> None:
    """B145: the error tells to use classic, or to upgrade."""
    world = grouped()
    world.control.withdraw("ConsumerGroupHeartbeat")
    with (
        member(world) as consumer,
        pytest.raises(errors.UnsupportedVersionException, match=r"classic, or upgrade"),
    ):
        consumer.poll(5.0)


def test_a_group_whose_coordinator_may_not_be_looked_up() -> None:
    """B218, B143: fatal to the membership, and not to the consumer."""
    world = grouped()
    with member(world) as consumer:
        refused = world.control.fail("FindCoordinator", 30, times=None)
        for _ in range(2):
            with pytest.raises(errors.GroupAuthorizationException, match="group g"):
                consumer.poll(5.0)
        refused.undo()
        consumer.unsubscribe()
        consumer.subscribe("orders")
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4


def test_a_topic_that_may_not_be_seen_surfaces_and_the_membership_goes_on() -> None:
    """B144: raised from poll, one for each heartbeat; and over when it is granted."""
    world = grouped()
    with joined(world) as consumer:
        refused = world.control.fail("ConsumerGroupHeartbeat", 29, times=None)
        with pytest.raises(errors.TopicAuthorizationException, match="orders"):
            consumer.poll(2 * INTERVAL)
        with pytest.raises(errors.TopicAuthorizationException):
            consumer.poll(2 * INTERVAL)
        refused.undo()
        settle(consumer, seconds=3 * INTERVAL)
        assert len(consumer.assignment()) == 4
        assert [each.member_epoch for each in heartbeats(world)].count(0) == 1


def test_an_instance_id_that_is_not_released_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CONTRACT §4: a crashed static member is refused until its session expires."""
    world = grouped()
    with joined(world, group_instance_id="i"):
        world.members[0].network.block("10.0.0.1", 9092)
        with member(world, group_instance_id="i") as again, caplog.at_level(logging.WARNING):
            crashed = world.members[0].thread.life
            world.members[0].network.jam()
            settle(again, seconds=50.0, each=1.0)
            assert len(again.assignment()) == 4, crashed
        world.members[0].network.unreachable.clear()
        world.members[0].network.unjam()
    assert sum("group.instance.id=i" in each.message for each in caplog.records) == 1


def test_an_instance_id_that_is_never_released_is_fatal() -> None:
    """CONTRACT §4: after a minute."""
    world = grouped()
    world.control.fail("ConsumerGroupHeartbeat", 111, times=None)
    with member(world, group_instance_id="i") as consumer:
        began = world.clock.time
        with pytest.raises(errors.UnreleasedInstanceIdException):
            consumer.poll(100.0)
        assert 59.0 < world.clock.time - began < 63.0


def test_each_wait_for_an_instance_id_has_a_minute_of_its_own() -> None:
    """CONTRACT §4: what it has waited for before does not count."""
    world = grouped()
    with member(world, group_instance_id="i") as consumer:
        for _ in range(2):
            with world.control.fail("ConsumerGroupHeartbeat", 111, times=None):
                settle(consumer, seconds=40.0, each=1.0)
            settle(consumer, seconds=5.0)
            assert len(consumer.assignment()) == 4
            consumer.unsubscribe()
            consumer.subscribe("orders")


def test_a_pattern_for_the_broker() -> None:
    """B155: sent as it is; the topics are found by their ids."""
    world = grouped(partitions=2, other=2)
    with member(world, SubscriptionPattern("ord.*")) as consumer:
        settle(consumer, seconds=2 * INTERVAL)
        assert heartbeats(world)[0].subscribed_topic_regex == "ord.*"
        assert numbers(consumer.assignment()) == [0, 1]
        consumer.subscribe(["other"])
        settle(consumer, seconds=3 * INTERVAL)
        assert {tp.topic for tp in consumer.assignment()} == {"other"}


def test_a_pattern_that_the_broker_cannot_read() -> None:
    """B155: fatal, and it says which."""
    world = grouped()
    with (
        member(world, SubscriptionPattern("(")) as consumer,
        pytest.raises(errors.InvalidRegularExpression, match=r"'\('"),
    ):
        consumer.poll(5.0)


def test_who_assigns_by_hand_never_speaks_of_membership() -> None:
    """B156: no heartbeat, and he can commit."""
    world = grouped()
    with world.consumer(group_protocol="consumer") as consumer:
        consumer.assign(ORDERS)
        consumer.seek_to_beginning()
        consumer.poll(10.0)
        consumer.commit_sync()
        assert not heartbeats(world)
        assert len(world.control.committed("g")) == 4


def test_the_metadata_of_the_group_follows_the_membership() -> None:
    """B157: epoch and id while it lasts; none after unsubscribe."""
    world = grouped()
    with member(world) as consumer:
        assert consumer.group_metadata().generation_id == -1
        consumer.poll(0.5)
        told = consumer.group_metadata()
        (described,) = world.control.describe_group("g").members
        assert (told.member_id, told.generation_id) == (described.member_id, described.epoch)
        consumer.unsubscribe()
        assert consumer.group_metadata().generation_id == -1
        assert consumer.group_metadata().member_id == ""
