"""The end of a membership: unsubscribe, close, and brokers that cannot be told."""

import pytest

from prokurist import GroupMembershipOperation, OffsetAndMetadata, TopicPartition, errors
from prokurist.events.application_events import Leave
from tests.simulation.joining import (
    INTERVAL,
    Notes,
    grouped,
    heartbeats,
    joined,
    member,
    settle,
)
from tests.simulation.reading import drained

A = TopicPartition("orders", 0)
LEAVE, REMAIN = GroupMembershipOperation.LEAVE_GROUP, GroupMembershipOperation.REMAIN_IN_GROUP


def test_unsubscribe() -> None:
    """B153, B160: the listener hears of all of it before it returns, then the group."""
    world = grouped(records=5)
    heard_when: list[int] = []
    notes = Notes(revoked=lambda _: heard_when.append(heartbeats(world)[-1].member_epoch))
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=1.0)
        consumer.unsubscribe()
        assert notes.heard[-1] == ("revoked", [0, 1, 2, 3])
        assert heard_when[0] > 0
        assert heartbeats(world)[-1].member_epoch == -1
        assert not world.control.describe_group("g").members
        assert not consumer.assignment()
        assert not consumer.subscription()
        with pytest.raises(errors.IllegalStateException, match="nothing to read"):
            consumer.poll(1.0)
        asked = len(heartbeats(world))
        world.clock.sleep(30.0)
        assert len(heartbeats(world)) == asked


def test_unsubscribed_by_subscribing_to_nothing() -> None:
    """CONTRACT §3: `subscribe` and `assign` of nothing are `unsubscribe`."""
    world = grouped()
    with joined(world) as consumer:
        consumer.subscribe([])
        assert heartbeats(world)[-1].member_epoch == -1
        consumer.subscribe("orders")
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4
        consumer.assign(())
        assert heartbeats(world)[-1].member_epoch == -1
        consumer.assign(A)


def test_unsubscribe_of_one_that_was_put_out() -> None:
    """B160: lost, and not revoked; there is no group to leave."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=1.0)
        world.control.fail("ConsumerGroupHeartbeat", 110, times=1)
        world.clock.sleep(2 * INTERVAL)
        consumer.unsubscribe()
        assert notes.heard[-1] == ("lost", [0, 1, 2, 3])
        assert len(notes.heard) == 2
        assert heartbeats(world)[-1].member_epoch != -1


def test_unsubscribe_when_no_broker_answers() -> None:
    """CONTRACT §3: at the deadline it is done here, and no TimeoutException is raised."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=1.0)
        world.control.freeze()
        began = world.clock.time
        consumer.unsubscribe(2.0)
        assert world.clock.time - began == pytest.approx(2.0, abs=0.01)
        assert notes.heard[-1] == ("revoked", [0, 1, 2, 3])
        assert not consumer.assignment()
        world.control.thaw()


def test_unsubscribe_without_time() -> None:
    """CONTRACT §3: the leave is written if it can be."""
    world = grouped()
    with joined(world) as consumer:
        consumer.unsubscribe(0)
        world.clock.sleep(1.0)
        assert heartbeats(world)[-1].member_epoch == -1


def test_who_has_left_before_it_was_taken_up_is_out_all_the_same() -> None:
    """CONTRACT 3: at the deadline it is done locally, and no heartbeat goes on for ever."""
    world = grouped()
    with joined(world) as consumer:
        call = world.call("unsubscribe", 0.0)
        call.leave(world.clock.time)
        consumer._built().thread.mailbox.post(Leave(call))
        world.clock.sleep(1.0)
        count = len(heartbeats(world))
        world.clock.sleep(30.0)
        assert len(heartbeats(world)) == count


def test_no_wakeup_ends_unsubscribe() -> None:
    """B170: it has no effect on it, and is there for the next wait."""
    world = grouped()
    with joined(world) as consumer:
        consumer.wakeup()
        consumer.unsubscribe()
        assert heartbeats(world)[-1].member_epoch == -1
        consumer.subscribe("orders")
        with pytest.raises(errors.WakeupException):
            consumer.poll(1.0)


@pytest.mark.parametrize("closes", [False, True], ids=["unsubscribe", "close"])
def test_a_listener_that_raises_does_not_keep_us_in(
    closes: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """B185, B161: the group is left, and then it is raised; the listener is called once."""
    world = grouped()

    def refuse(_: object) -> None:
        raise ValueError("no")

    notes = Notes(revoked=refuse)
    consumer = member(world, listener=notes)
    settle(consumer, seconds=1.0)
    with pytest.raises(errors.KafkaException, match="no"):
        (consumer.close if closes else consumer.unsubscribe)()
    assert heartbeats(world)[-1].member_epoch == -1
    consumer.close()
    assert [what for what, _ in notes.heard].count("revoked") == 1


def test_a_background_error_that_was_not_raised_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B165: unsubscribe raises only what the listener does."""
    world = grouped()
    with joined(world) as consumer:
        world.control.fail("ConsumerGroupHeartbeat", 29, times=1)
        world.clock.sleep(2 * INTERVAL)
        consumer.unsubscribe()
        assert "unsubscribed before this was raised" in caplog.text


def test_an_error_about_what_is_subscribed_to_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B165: it is looked at before the subscription that it is about has ended."""
    world = grouped()
    world.control.fail("Metadata", 17, times=None, topic="a b")
    with member(world, ["a b"]) as consumer:
        consumer.poll(0.0)
        world.clock.sleep(1.0)
        consumer.unsubscribe()
        assert caplog.text.count("unsubscribed before this was raised") == 1
        assert "a b" in caplog.text


def test_a_topic_that_cannot_be() -> None:
    """B166: poll says so; unsubscribe and close still work."""
    world = grouped()
    world.control.fail("Metadata", 17, times=None, topic="a b")
    with member(world, ["a b"]) as consumer:
        with pytest.raises(errors.InvalidTopicException):
            consumer.poll(5.0)
        consumer.unsubscribe()


def test_close_commits_tells_and_leaves_in_this_order() -> None:
    """B178, B194, B161: and others have the partitions a heartbeat later."""
    world = grouped(records=5)
    notes = Notes()
    other = joined(world)
    consumer = member(world, listener=notes, enable_auto_commit=True)
    while len(consumer.assignment()) != 2:
        other.poll(0.1)
        consumer.poll(0.1)
    drained(consumer)
    world.control.forget_requests()
    consumer.close()
    wire = [entry.api for entry in world.cluster.journal.entries()]
    assert wire.index("OffsetCommit") < wire.index("ConsumerGroupHeartbeat")
    assert notes.heard[-1][0] == "revoked"
    assert heartbeats(world)[-1].member_epoch == -1
    settle(other, seconds=1.5 * INTERVAL)
    assert len(other.assignment()) == 4
    other.close()


def test_close_while_the_coordinator_is_silent_on_commits() -> None:
    """B180: the commit has its share, the leave is still sent, nothing is raised."""
    world = grouped(records=5)
    consumer = joined(world, enable_auto_commit=True)
    drained(consumer)
    world.control.fail("OffsetCommit", 14, times=None)
    began = world.clock.time
    consumer.close(4.0)
    assert world.clock.time - began <= 4.0 + 0.01
    assert heartbeats(world)[-1].member_epoch == -1


def test_close_while_all_brokers_are_silent() -> None:
    """B181, B180: by its time, without an exception, and the listener has heard."""
    world = grouped(records=5)
    notes = Notes()
    consumer = member(world, listener=notes, enable_auto_commit=True)
    drained(consumer)
    world.control.freeze()
    began = world.clock.time
    consumer.close(4.0)
    assert world.clock.time - began <= 4.0 + 0.3
    assert notes.heard[-1] == ("revoked", [0, 1, 2, 3])


def test_close_without_time_leaves_all_the_same() -> None:
    """B179: what can be written is written."""
    world = grouped()
    consumer = joined(world)
    consumer.close(0)
    assert heartbeats(world)[-1].member_epoch == -1


def test_close_while_partitions_change_hands() -> None:
    """B183: it waits for no broker."""
    world = grouped()
    with joined(world, listener=Notes()) as stuck, member(world) as joining:
        joining.poll(0.5)
        world.clock.sleep(2 * INTERVAL)
        began = world.clock.time
        stuck.close()
        joining.close()
        assert world.clock.time - began < 0.1


@pytest.mark.parametrize(
    ("instance", "how", "epochs"),
    [
        (None, REMAIN, []),
        (None, LEAVE, [-1]),
        ("i", GroupMembershipOperation.DEFAULT, [-2]),
        ("i", LEAVE, [-1]),
        ("i", REMAIN, [-2]),
    ],
)
def test_whether_the_group_is_told(
    instance: str | None, how: GroupMembershipOperation, epochs: list[int]
) -> None:
    """B192, B193: KIP-1092, and what a static member does of itself."""
    world = grouped()
    keys = {} if instance is None else {"group_instance_id": instance}
    consumer = joined(world, **keys)
    consumer.close(membership=how)
    assert [each.member_epoch for each in heartbeats(world) if each.member_epoch < 0] == epochs


def test_a_member_whose_first_heartbeat_is_in_flight_leaves() -> None:
    """B265: the coordinator may have counted it already."""
    world = grouped()
    held = world.control.hold("ConsumerGroupHeartbeat", times=1)
    consumer = member(world)
    consumer.poll(0.5)
    consumer.unsubscribe(0.5)
    held.undo()
    world.clock.sleep(1.0)
    assert [each.member_epoch for each in heartbeats(world)] == [0, -1]
    assert not world.control.describe_group("g").members
    consumer.close()


def test_without_a_poll_there_is_no_group_to_leave() -> None:
    """B123: joining begins with a poll."""
    world = grouped()
    with member(world):
        world.clock.sleep(10.0)
    assert not heartbeats(world)


def test_what_is_assigned_by_hand_and_what_is_subscribed_to_do_not_mix() -> None:
    """CONTRACT §3: IllegalState, either way round, and nothing has changed."""
    world = grouped()
    with joined(world) as consumer:
        with pytest.raises(errors.IllegalStateException, match="unsubscribe"):
            consumer.assign(A)
        assert len(consumer.assignment()) == 4
        consumer.unsubscribe()
        consumer.assign(A)
        with pytest.raises(errors.IllegalStateException, match="unsubscribe"):
            consumer.subscribe("orders")
        assert consumer.assignment() == {A}
        consumer.commit_sync({A: OffsetAndMetadata(1)})


def test_subscribing_needs_a_group() -> None:
    """InvalidGroupId, at once."""
    world = grouped()
    with (
        world.consumer(group_id=None, enable_auto_commit=False) as consumer,
        pytest.raises(errors.InvalidGroupIdException, match=r"group\.id"),
    ):
        consumer.subscribe("orders")


def test_enforce_rebalance_does_nothing_but_say_so(caplog: pytest.LogCaptureFixture) -> None:
    """CONTRACT §3: under KIP-848 a warning and no effect."""
    world = grouped()
    with joined(world) as consumer:
        consumer.enforce_rebalance("because")
        settle(consumer, seconds=1.0)
        assert "enforce_rebalance does nothing" in caplog.text
        consumer.unsubscribe()
        with pytest.raises(errors.IllegalStateException):
            consumer.enforce_rebalance()
