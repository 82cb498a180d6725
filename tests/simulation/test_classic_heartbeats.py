"""Keeping a place in a classic group in virtual time: heartbeats, polls, and being put out."""

import logging
from itertools import pairwise
from typing import Any

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.classic_members import (
    Heard,
    asked,
    consumer_in,
    group_of,
    joined,
    live,
    orders,
    settle,
    settled,
)
from tests.simulation.reading import value
from tests.simulation.world import World

TP = TopicPartition("orders", 0)


def alone(world: World, heard: Heard, **keys: Any) -> KafkaConsumer:
    """The only member of its group, with a listener."""
    consumer = consumer_in(world, "alone", **keys)
    consumer.subscribe("orders", heard)
    settle(world, consumer)
    return consumer


def put_out(world: World, consumer: KafkaConsumer) -> None:
    """Have the coordinator not count a member any more, as when its session is over."""
    place = consumer.group_metadata().member_id
    assert group_of(world).expire(place, world.clock.time)


def test_heartbeats_do_not_depend_on_the_application() -> None:
    """B120: once in heartbeat.interval.ms, counted from sending, without a poll."""
    world = World()
    joined(world, session_timeout_ms=6000, heartbeat_interval_ms=2000)
    world.clock.sleep(60.0)
    at = [each.at for each in asked(world, "Heartbeat")]
    assert len(at) == 30
    assert all(b - a == pytest.approx(2.0, abs=0.001) for a, b in pairwise(at))
    assert group_of(world).generation == 1


def test_an_idle_member_is_idle() -> None:
    """B265: a member that waits turns its loop for its heartbeats, and for nothing else."""
    world = World()
    (consumer,) = joined(world, heartbeat_interval_ms=3000, fetches=False)
    world.clock.sleep(10.0)
    turns = world.members[0].network.turns
    world.clock.sleep(60.0)
    assert world.members[0].network.turns - turns < 20 * 5
    assert consumer.assignment()


def test_a_round_waits_for_the_users_next_poll() -> None:
    """B120, B123: until then he commits in his generation, and nothing is taken from him."""
    world = World()
    heard = Heard()
    busy = alone(world, heard, enable_auto_commit=False)
    late = consumer_in(world, "late")
    late.subscribe("orders")
    late.poll(0)
    world.clock.sleep(20.0)  # It computes; heartbeats have heard of the round since.
    assert len(asked(world, "JoinGroup", "alone")) == 2
    assert heard.what() == ["assigned"]
    busy.commit_sync({TP: OffsetAndMetadata(3)})
    settle(world, busy, late)
    assert heard.said[1] == ("revoked", orders(0, 1, 2))
    assert late.assignment()


def test_without_a_listener_a_round_waits_for_the_poll_as_well() -> None:
    """B123: what was returned may be committed until then, and nothing is asked before."""
    world = World()
    (busy,) = joined(world, enable_auto_commit=False)
    late = consumer_in(world, "late")
    late.subscribe("orders")
    late.poll(0)
    world.clock.sleep(20.0)
    assert len(asked(world, "JoinGroup", "c0")) == 2
    busy.commit_sync({TP: OffsetAndMetadata(3)})
    busy.poll(0)
    world.clock.sleep(0.1)
    assert len(asked(world, "JoinGroup", "c0")) == 3
    settle(world, busy, late)


def test_a_long_listener_keeps_its_membership() -> None:
    """B122: longer than the session, shorter than the poll interval; a commit in it works."""
    world = World()
    consumer: KafkaConsumer

    def work() -> None:
        world.clock.sleep(20.0)
        consumer.commit_sync({TP: OffsetAndMetadata(3)})

    heard = Heard(revoked=work)
    consumer = alone(world, heard, session_timeout_ms=6000, heartbeat_interval_ms=2000)
    late = consumer_in(world, "late")
    late.subscribe("orders")
    settle(world, consumer, late, seconds=60.0)
    assert world.control.committed("g")[TP].offset == 3
    assert heard.what() == ["assigned", "revoked", "assigned"]


def test_who_does_not_poll_leaves_and_joins_again_with_the_next_poll(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B121: out at max.poll.interval.ms; a commit then fails; lost, and not revoked."""
    world = World()
    heard = Heard()
    consumer = alone(world, heard, max_poll_interval_ms=10_000, enable_auto_commit=False)
    world.clock.sleep(9.9)
    assert not asked(world, "LeaveGroup")
    with caplog.at_level(logging.WARNING):
        world.clock.sleep(0.2)
    (leave,) = asked(world, "LeaveGroup")
    assert leave.body.members[0].reason == "max.poll.interval.ms is over"
    assert "max.poll.interval.ms=10000" in caplog.text
    with pytest.raises(errors.CommitFailedException):
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
    assert not asked(world, "OffsetCommit")
    world.clock.sleep(100.0)
    assert len(asked(world, "JoinGroup")) == 2
    settle(world, consumer)
    assert heard.said == [
        ("assigned", orders(0, 1, 2)),
        ("lost", orders(0, 1, 2)),
        ("assigned", orders(0, 1, 2)),
    ]


def test_a_poll_never_exceeds_the_interval_itself() -> None:
    """B118: a poll of 30 s with max.poll.interval.ms of 2 s keeps the place."""
    world = World()
    (consumer,) = joined(world, max_poll_interval_ms=2000, fetches=False)
    consumer.poll(30.0)
    assert not asked(world, "LeaveGroup")
    assert group_of(world).generation == 1
    world.clock.sleep(1.9)
    consumer.poll(0)
    world.clock.sleep(1.9)
    assert not asked(world, "LeaveGroup")


def test_a_silent_coordinator_is_looked_up_again() -> None:
    """B124: after session.timeout.ms without an answer, not before, and the place is kept."""
    world = World(nodes=2)
    joined(world, session_timeout_ms=6000, heartbeat_interval_ms=2000, fetches=False)
    world.control.move_coordinator("g", 2)
    began = world.clock.time
    looked = len(asked(world, "FindCoordinator"))
    with world.control.answer_late("Heartbeat", 1000.0, node=1):
        world.clock.sleep(5.0)
        assert len(asked(world, "FindCoordinator")) == looked
        world.clock.sleep(5.0)
        assert len(asked(world, "FindCoordinator")) > looked
        beats = [each for each in asked(world, "Heartbeat") if each.node == 2]
        assert beats
        assert 5.9 < beats[0].at - began < 9.0


def test_a_coordinator_that_restarts_is_joined_again() -> None:
    """B134: the same member, with what it had; the others notice nothing."""
    world = World(nodes=2)
    one, other = joined(world, 2)
    before = one.group_metadata(), other.group_metadata()
    coordinator = world.control.coordinator("g")
    assert coordinator is not None
    with world.control.kill(coordinator):
        live(world, one, other, seconds=20.0)
    live(world, one, other, seconds=20.0)
    assert settled(world, one, other)
    assert (one.group_metadata(), other.group_metadata()) == before


def test_who_is_not_counted_any_more_has_lost_everything() -> None:
    """B46, B64: UNKNOWN_MEMBER_ID; a commit of before fails; joined again as a new member."""
    world = World()
    heard = Heard()
    consumer = alone(world, heard, enable_auto_commit=False, heartbeat_interval_ms=1000)
    old = consumer.group_metadata()
    put_out(world, consumer)
    world.clock.sleep(1.5)
    with pytest.raises(errors.CommitFailedException):
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
    assert consumer.poll(0.0) is not None
    live(world, consumer, until=lambda: heard.what() == ["assigned", "lost", "assigned"])
    assert heard.what() == ["assigned", "lost", "assigned"]
    assert consumer.group_metadata().member_id not in ("", old.member_id)
    assert [each.body.member_id for each in asked(world, "JoinGroup")[2:3]] == [""]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_a_refused_commit_says_of_the_member_holds_at_once(asynchronous: bool) -> None:  # noqa: FBT001
    """B400: UNKNOWN_MEMBER_ID to a commit; the next poll calls `on_partitions_lost`."""
    world = World()
    for nth in range(100):
        world.control.append(TP, value(nth))
    heard = Heard()
    refused: list[BaseException | None] = []
    consumer = alone(
        world,
        heard,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=10,
        heartbeat_interval_ms=3000,
    )
    live(world, consumer, until=lambda: consumer.position(TP) >= 10)
    old = consumer.group_metadata()
    put_out(world, consumer)
    if asynchronous:
        consumer.commit_async(callback=lambda _, error: refused.append(error))
        world.clock.sleep(0.1)
    else:
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync()
    assert heard.what() == ["assigned"]
    assert not consumer.poll(0.0)
    assert heard.what() == ["assigned", "lost"]
    settle(world, consumer)
    assert heard.what() == ["assigned", "lost", "assigned"]
    assert consumer.group_metadata().member_id not in ("", old.member_id)
    assert [type(each) for each in refused] == [errors.CommitFailedException] * asynchronous


@pytest.mark.parametrize(
    ("code", "expected"), [(22, ["assigned", "lost"]), (27, ["assigned", "revoked"])]
)
def test_a_commit_of_another_generation_has_the_next_poll_join(
    code: int, expected: list[str]
) -> None:
    """B400: ILLEGAL_GENERATION loses everything, REBALANCE_IN_PROGRESS nothing."""
    world = World()
    heard = Heard()
    consumer = alone(world, heard, enable_auto_commit=False, heartbeat_interval_ms=3000)
    old = consumer.group_metadata()
    world.control.fail("OffsetCommit", code, times=1, whole=True)
    with pytest.raises((errors.CommitFailedException, errors.RebalanceInProgressException)):
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
    consumer.poll(0.0)
    consumer.poll(0.0)
    assert heard.what() == expected
    settle(world, consumer)
    assert heard.what() == [*expected, "assigned"]
    assert consumer.group_metadata().member_id == old.member_id


def test_a_refused_commit_that_tells_of_another_instance_is_the_end() -> None:
    """B400: FENCED_INSTANCE_ID is raised from every poll, as when a heartbeat brings it."""
    world = World()
    (consumer,) = joined(world, enable_auto_commit=False, group_instance_id="me")
    world.control.fail("OffsetCommit", 82, times=1, whole=True)
    with pytest.raises(errors.CommitFailedException):
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
    for _ in range(2):
        with pytest.raises(errors.FencedInstanceIdException, match=r"group\.instance\.id=me"):
            consumer.poll(0.0)


@pytest.mark.parametrize("end", ["close", "unsubscribe"])
def test_a_commit_refused_at_the_end_joins_no_more(end: str) -> None:
    """B400, B161: partitions are lost, and not revoked; nothing is asked of the group."""
    world = World()
    heard = Heard()
    refused: list[type[BaseException]] = []

    def work() -> None:
        put_out(world, consumer)
        try:
            consumer.commit_sync({TP: OffsetAndMetadata(3)})
        except errors.CommitFailedException as error:
            refused.append(type(error))

    if end == "unsubscribe":
        heard.then["revoked"] = work
    consumer = alone(world, heard, auto_offset_reset="earliest")
    world.control.append(TP, value(0))
    live(world, consumer, until=lambda: consumer.position(TP) == 1)
    joins = len(asked(world, "JoinGroup"))
    if end == "close":
        put_out(world, consumer)
        consumer.close(5.0)
        assert heard.what() == ["assigned", "lost"]
    else:
        consumer.unsubscribe()
        assert refused == [errors.CommitFailedException]
        consumer.subscribe("orders", heard)
    assert len(asked(world, "JoinGroup")) == joins
    if end == "unsubscribe":
        heard.then.clear()
        settle(world, consumer)


def test_of_another_generation_is_lost_too_and_the_id_stays() -> None:
    """CONTRACT 4: ILLEGAL_GENERATION resets the generation, and joins as who we are."""
    world = World()
    heard = Heard()
    consumer = alone(world, heard, heartbeat_interval_ms=1000)
    old = consumer.group_metadata()
    world.control.fail("Heartbeat", 22, times=1)
    live(world, consumer, until=lambda: heard.what() == ["assigned", "lost", "assigned"])
    assert heard.what() == ["assigned", "lost", "assigned"]
    assert consumer.group_metadata().member_id == old.member_id


def test_put_out_in_a_listener_no_commit_of_it_goes_through() -> None:
    """B142 for classic: fenced while the callback runs, its commits fail by themselves."""
    world = World()
    failed: list[type[BaseException]] = []

    def work() -> None:
        put_out(world, consumer)
        world.clock.sleep(5.0)
        try:
            consumer.commit_sync({TP: OffsetAndMetadata(3)})
        except errors.CommitFailedException as error:
            failed.append(type(error))

    heard = Heard(revoked=work)
    consumer = alone(world, heard, enable_auto_commit=False)
    consumer.enforce_rebalance()
    live(world, consumer, until=lambda: bool(failed))
    heard.then.clear()
    settle(world, consumer)
    assert failed == [errors.CommitFailedException]
    assert TP not in world.control.committed("g")


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_put_out_while_it_hears_what_goes(assignor: str) -> None:
    """CONTRACT 6.2: what is revoked is not lost as well; the rest of it is lost."""
    world = World(topics={"orders": 4})
    consumer: KafkaConsumer

    def revoked() -> None:
        if heard.what() == ["assigned", "revoked"]:
            put_out(world, consumer)
            world.clock.sleep(5.0)

    heard = Heard(revoked=revoked)
    consumer = alone(world, heard, partition_assignment_strategy=assignor)
    late = consumer_in(world, "late", partition_assignment_strategy=assignor)
    late.subscribe("orders")
    settle(world, consumer, late)
    gone = heard.said[1][1]
    lost = [tps for what, tps in heard.said if what == "lost"]
    if assignor == "range":
        assert (gone, lost) == (orders(0, 1, 2, 3), [])
    else:
        assert len(gone) == 2
        assert lost == [orders(0, 1, 2, 3) - gone]


def test_a_commit_never_outlives_its_membership() -> None:
    """B64: retried while the member is put out, it fails, and is not sent in another's name."""
    world = World()
    (consumer,) = joined(world, enable_auto_commit=False, heartbeat_interval_ms=1000)
    with world.control.fail("OffsetCommit", 14, times=None):
        put_out(world, consumer)
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync({TP: OffsetAndMetadata(3)}, timeout=30.0)
    world.clock.sleep(5.0)
    settle(world, consumer)
    assert len({each.body.member_id for each in asked(world, "OffsetCommit")}) == 1
    assert TP not in world.control.committed("g")


def test_an_automatic_commit_ends_with_its_generation() -> None:
    """B64: what is tried again is not sent once more when the group has rebalanced."""
    world = World()
    (consumer,) = joined(
        world,
        partition_assignment_strategy="cooperative-sticky",
        auto_commit_interval_ms=4000,
    )
    with world.control.fail("OffsetCommit", 14, times=None):
        live(world, consumer, seconds=5.0)
        tried = asked(world, "OffsetCommit")
        assert {each.body.generation_id_or_member_epoch for each in tried} == {1}
        consumer.enforce_rebalance()
        settle(world, consumer)
        began = world.clock.time
        live(world, consumer, seconds=8.0)
    later = [each for each in asked(world, "OffsetCommit") if each.at > began]
    assert {each.body.generation_id_or_member_epoch for each in later} == {2}


@pytest.mark.parametrize("callback", ["revoked", "assigned"])
def test_a_listener_that_raises_changes_nothing_of_the_assignment(callback: str) -> None:
    """B152, B162: the error from poll, with its cause; the partitions are given and taken."""
    world = World()

    def fail() -> None:
        raise ValueError("no")

    heard = Heard(**{callback: fail})
    consumer = consumer_in(world, "c", auto_offset_reset="earliest")
    consumer.subscribe("orders", heard)
    if callback == "revoked":
        settle(world, consumer)
        consumer.enforce_rebalance()
    with pytest.raises(KafkaException) as caught:
        live(world, consumer, seconds=5.0)
    assert isinstance(caught.value.__cause__, ValueError)
    heard.then.clear()
    settle(world, consumer)
    live(world, consumer, seconds=1.0)
    assert consumer.assignment() == orders(0, 1, 2)
    assert consumer.position(TP, timeout=0) == 0
    expected = ["assigned"] if callback == "assigned" else ["assigned", "revoked", "assigned"]
    assert heard.what() == expected
