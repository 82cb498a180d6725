"""Joining a classic group in virtual time: ids, rounds, and what a parked JoinGroup hinders."""

import logging

import pytest

from prokurist import errors
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.types import OffsetAndMetadata, TopicPartition
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
    settled,
)
from tests.simulation.world import World

TP = TopicPartition("orders", 0)


def test_the_second_join_has_the_id_of_the_first_and_no_pause_before_it() -> None:
    """B119: MEMBER_ID_REQUIRED is answered at once with the id that came along."""
    world = World()
    (consumer,) = joined(world)
    first, second = asked(world, "JoinGroup")
    assert first.body.member_id == ""
    assert second.body.member_id == consumer.group_metadata().member_id
    assert second.at - first.at < 0.01
    assert consumer.assignment() == orders(0, 1, 2)


@pytest.mark.parametrize("release", ["2.4", "3.0", "3.9", "4.3"])
def test_older_protocols_join_as_well(release: str) -> None:
    """KIP-559, KIP-800, KIP-814: what a version lacks is left out, and nothing else."""
    world = World()
    consumers = []
    for number in range(2):
        consumer = consumer_in(world, f"c{number}", Versions.of_kafka(release))
        consumer.subscribe("orders")
        consumers.append(consumer)
    settle(world, *consumers)
    assert sorted(len(each.assignment()) for each in consumers) == [1, 2]
    consumers[0].close()
    settle(world, consumers[1])
    assert consumers[1].assignment() == orders(0, 1, 2)


def test_joining_begins_with_a_poll_and_goes_on_without() -> None:
    """B123: subscribe sends nothing; after one poll(0) the rest is background."""
    world = World()
    consumer = consumer_in(world, "it")
    consumer.subscribe("orders")
    world.clock.sleep(5.0)
    assert not asked(world, "JoinGroup")
    consumer.poll(0)
    world.clock.sleep(1.0)
    assert consumer.assignment() == orders(0, 1, 2)


def test_one_long_poll_joins_and_has_positions() -> None:
    """B114: the poll that joins goes on to look positions up, and not the one after it."""
    world = World()
    consumer = consumer_in(world, "it", auto_offset_reset="earliest")
    consumer.subscribe("orders")
    world.at(world.clock.time + 1.0, consumer.wakeup)
    with pytest.raises(errors.WakeupException):
        consumer.poll(60.0)
    assert consumer.position(TP, timeout=0) == 0


def test_members_share_and_their_commits_say_who_they_are() -> None:
    """B46, B157: the generation and the id that `group_metadata` shows are on the wire."""
    world = World()
    one, other = joined(world, 2)
    assert one.assignment() | other.assignment() == orders(0, 1, 2)
    assert not one.assignment() & other.assignment()
    (mine,) = [each for each in (one, other) if TP in each.assignment()]
    mine.commit_sync({TP: OffsetAndMetadata(3)})
    commit = asked(world, "OffsetCommit")[-1]
    place = mine.group_metadata()
    assert commit.body.generation_id_or_member_epoch == place.generation_id == 2
    assert commit.body.member_id == place.member_id
    mine.unsubscribe()
    assert mine.group_metadata().generation_id == -1
    assert mine.group_metadata().member_id == ""


def test_a_parked_join_hinders_nothing_else_and_may_last() -> None:
    """B125, B217: its answer takes longer than request.timeout.ms; commits answer at once."""
    world = World()
    (one,) = joined(world, request_timeout_ms=5000)
    late = consumer_in(world, "late", request_timeout_ms=5000)
    late.subscribe("orders")
    late.poll(0)
    world.clock.sleep(10.0)
    (parked,) = asked(world, "JoinGroup", "late")[1:]
    assert parked.answered is None
    began = world.clock.time
    late.committed(TP, timeout=0.3)
    late.end_offsets(TP, timeout=0.3)
    one.commit_sync({TP: OffsetAndMetadata(3)}, timeout=0.3)
    assert world.clock.time - began < 0.1
    world.clock.sleep(100.0)
    settle(world, one, late)
    assert asked(world, "JoinGroup", "late")[1:] == [parked]


def test_nothing_is_said_while_a_join_is_parked() -> None:
    """B125: the coordinator knows that we wait; heartbeats go on with the answer."""
    world = World()
    one, other = joined(world, 2, heartbeat_interval_ms=1000)
    one.enforce_rebalance()
    one.poll(0.1)
    before = len(asked(world, "Heartbeat", "c0"))
    live(world, one, seconds=10.0)
    assert len(asked(world, "Heartbeat", "c0")) == before
    settle(world, one, other)
    live(world, one, other, seconds=3.0)
    assert len(asked(world, "Heartbeat", "c0")) > before


def test_a_frozen_member_does_not_hold_up_a_poll() -> None:
    """Issue 6: while another member does not come to join, poll(0.2) takes 0.2 s."""
    world = World()
    one, frozen = joined(world, 2)
    late = consumer_in(world, "late")
    late.subscribe("orders")
    for _ in range(50):
        for each in (one, late):
            began = world.clock.time
            each.poll(0.2)
            assert world.clock.time - began == pytest.approx(0.2, abs=0.001)
    assert frozen.group_metadata().generation_id == 2  # It has not noticed yet.


def test_a_full_group_refuses_the_newcomer_alone() -> None:
    """B126: fatal to him, in every poll until unsubscribe; the others keep their parts."""
    world = World()
    world.cluster.state.group_settings = GroupSettings(max_size=1)
    (one,) = joined(world)
    other = consumer_in(world, "other", max_poll_interval_ms=50_000)
    other.subscribe("orders")
    for _ in range(2):
        with pytest.raises(errors.GroupMaxSizeReachedException, match=r"group\.max\.size"):
            live(world, one, other, seconds=5.0)
    assert one.assignment() == orders(0, 1, 2)
    live(world, one, seconds=60.0)  # Longer than max.poll.interval.ms, which it is out of.
    with pytest.raises(errors.GroupMaxSizeReachedException):
        other.poll(0)
    other.unsubscribe()
    one.close()
    other.subscribe("orders")
    settle(world, other)


def test_no_assignor_in_common_is_fatal_to_the_newcomer_alone() -> None:
    """B132: the error names what was offered and the key, and stays until unsubscribe."""
    world = World()
    (one,) = joined(world, partition_assignment_strategy="roundrobin")
    other = consumer_in(world, "other", partition_assignment_strategy="range,sticky")
    other.subscribe("orders")
    offered = (
        r"offers partition\.assignment\.strategy=range, sticky and protocol type consumer:"
    )
    for _ in range(2):
        with pytest.raises(errors.InconsistentGroupProtocolException, match=offered):
            live(world, one, other, seconds=5.0)
    assert one.assignment() == orders(0, 1, 2)
    other.close()


def test_a_session_that_the_broker_does_not_allow_is_fatal() -> None:
    """CONTRACT 4: INVALID_SESSION_TIMEOUT, with the value and the broker's keys."""
    world = World()
    consumer = consumer_in(world, "it", session_timeout_ms=100, heartbeat_interval_ms=50)
    consumer.subscribe("orders")
    with pytest.raises(errors.InvalidSessionTimeoutException, match=r"timeout\.ms=100"):
        consumer.poll(5.0)


def test_another_subscription_joins_again_at_the_next_poll() -> None:
    """B128, eager: everything is given up, and what is subscribed to comes."""
    world = World(topics={"orders": 3, "bills": 1})
    heard = Heard()
    (consumer,) = joined(world)
    consumer.subscribe(["bills"], heard)
    world.clock.sleep(5.0)
    assert len(asked(world, "SyncGroup")) == 1
    live(world, consumer, until=lambda: "assigned" in heard.what())
    assert heard.said == [
        ("revoked", orders(0, 1, 2)),
        ("assigned", frozenset({TopicPartition("bills", 0)})),
    ]
    assert asked(world, "JoinGroup")[-1].body.reason == "other topics are subscribed to"


def test_what_is_subscribed_to_in_a_round_counts_after_it() -> None:
    """B128: the round that is under way ends with what it began with; another follows."""
    world = World(topics={"orders": 3, "bills": 1})
    one, other = joined(world, 2)
    one.enforce_rebalance()
    one.poll(0.05)
    one.subscribe(["bills"])
    one.poll(0.05)
    bills = frozenset({TopicPartition("bills", 0)})
    live(world, one, other, until=lambda: one.assignment() == bills, seconds=10.0)
    assert one.assignment() == bills
    settle(world, one, other)
    assert other.assignment() == orders(0, 1, 2)


def test_a_rebalance_is_enforced_at_the_next_poll() -> None:
    """B131: with the user's reason for the broker's log."""
    world = World()
    (consumer,) = joined(world)
    consumer.enforce_rebalance("because")
    world.clock.sleep(5.0)
    assert consumer.group_metadata().generation_id == 1
    live(world, consumer, until=lambda: consumer.group_metadata().generation_id == 2)
    assert asked(world, "JoinGroup")[-1].body.reason == "because"
    assert consumer.assignment() == orders(0, 1, 2)


def test_a_commit_during_a_round_keeps_the_membership() -> None:
    """B65: RebalanceInProgress, nothing on the wire; after the round it goes through."""
    world = World()
    one, other = joined(world, 2)
    other.enforce_rebalance()
    live(world, other, until=lambda: member_of(other).state.value == "joining", seconds=5)
    began = len(asked(world, "OffsetCommit"))
    with pytest.raises(errors.RebalanceInProgressException):
        other.commit_sync({TP: OffsetAndMetadata(3)})
    assert len(asked(world, "OffsetCommit")) == began
    settle(world, one, other)
    other.commit_sync({next(iter(other.assignment())): OffsetAndMetadata(3)})


def test_that_there_is_another_protocol_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """ADR 8: one line when the cluster offers `consumer`, and a field of `health`."""
    world = World()
    consumer = consumer_in(world, "c", heartbeat_interval_ms=1000)
    assert consumer.health().consumer_protocol is None
    consumer.subscribe("orders")
    with caplog.at_level(logging.INFO, "prokurist"):
        settle(world, consumer)
        assert consumer.health().consumer_protocol is False
        for level in (1, 2, 2):
            world.control.finalize("group.version", level)
            world.control.disconnect()
            live(world, consumer, seconds=3.0)
    assert consumer.health().consumer_protocol is True
    assert caplog.text.count("group.protocol=consumer") == 1


def test_a_wish_for_a_round_that_has_begun_is_met_by_it() -> None:
    """B131: no second round follows for what was said before the group let the member in."""
    world = World()
    consumer = consumer_in(world, "one")
    consumer.subscribe("orders")
    held = world.control.hold("JoinGroup")
    consumer.poll(0.5)
    consumer.enforce_rebalance("asked for while it joins")
    consumer.poll(0.5)
    held.undo()
    live(world, consumer, seconds=10.0)
    assert settled(world, consumer)
    assert group_of(world).generation == 1
