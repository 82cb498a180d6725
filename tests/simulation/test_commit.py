"""Commits and look-ups in virtual time: the real network thread, a modelled cluster."""

import math

import pytest

from prokurist import errors
from prokurist.events.application_events import Close, Commit, LookUpCommitted, Withdraw
from prokurist.network_thread.thread import Life
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import Member, World

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
AT_7 = {TP: OffsetAndMetadata(7, "done", 0)}


def commit(world: World, member: Member, timeout: float = 5.0, offsets: object = None) -> None:
    """Commit, as `commit_sync` does."""
    wanted = AT_7 if offsets is None else offsets
    world.ask(member, Commit(world.call("commit_sync", timeout), wanted))  # type: ignore[arg-type]


def committed(
    world: World, member: Member, *tps: TopicPartition, timeout: float = 5.0
) -> object:
    """Look up, as `committed` does."""
    return world.ask(member, LookUpCommitted(world.call("committed", timeout), tps or (TP,)))


def on_the_wire(world: World, api: ApiName) -> list[float]:
    """When requests of an API reached a broker."""
    return [entry.at for entry in world.cluster.journal.entries(api)]


def idle(member: Member) -> bool:
    """Nothing is pending anywhere but what an idle client has."""
    return not len(member.side.calls) and not member.side.client.waiting


def test_a_commit_is_read_back() -> None:
    """B33, B66: exactly these offsets, metadata and leader epoch included."""
    world = World()
    member = world.client()
    commit(world, member)
    kept = world.control.committed("g")[TP]
    assert (kept.offset, kept.metadata, kept.leader_epoch) == (7, "done", 0)
    assert committed(world, member, TP, OTHER) == {TP: AT_7[TP], OTHER: None}
    assert idle(member)


@pytest.mark.parametrize("release", ["2.4", "3.0", "3.9", "4.3"])
def test_older_protocols_carry_the_same(release: str) -> None:
    """Capped to what an older Kafka speaks, a commit is read back all the same."""
    world = World()
    member = world.client(cap=Versions.of_kafka(release))
    commit(world, member)
    expected = OffsetAndMetadata(7, "done", 0)
    assert committed(world, member) == {TP: expected}


def test_no_answer_ends_the_call_and_keeps_the_connection() -> None:
    """B2, B3, B8: on time, abandoned, its late answer dropped, no reconnect."""
    world = World()
    member = world.client()
    committed(world, member)
    connects = member.network.connects
    with world.control.answer_late("OffsetFetch", 2.0, times=1):
        began = world.clock.time
        with pytest.raises(errors.TimeoutException) as caught:
            committed(world, member, timeout=0.5)
        assert world.clock.time == pytest.approx(began + 0.5)
    assert [a.outcome for a in caught.value.attempts] == ["unanswered"]
    assert not caught.value.may_have_happened
    world.clock.sleep(0.01)
    assert idle(member)
    assert committed(world, member, timeout=5.0) == {TP: None}
    assert world.clock.time == pytest.approx(began + 2.0, abs=0.1)
    assert member.network.connects == connects


def test_the_coordinator_cannot_be_found() -> None:
    """B1, B73: TimeoutException at the deadline, not at 30 s, and none later on the wire."""
    world = World()
    member = world.client()
    world.control.fail("FindCoordinator", 15, times=None)
    began = world.clock.time
    with pytest.raises(errors.TimeoutException, match="for the group's coordinator") as caught:
        commit(world, member, timeout=1.0)
    assert world.clock.time == pytest.approx(began + 1.0)
    assert type(caught.value.last_error) is errors.CoordinatorNotAvailableException
    assert not caught.value.attempts
    world.clock.sleep(60)
    assert not on_the_wire(world, "OffsetCommit")
    asked = len(on_the_wire(world, "FindCoordinator"))
    world.clock.sleep(60)
    assert len(on_the_wire(world, "FindCoordinator")) == asked


def test_a_retriable_error_is_retried_after_its_backoff() -> None:
    """B4, B43: loading is patience, and the coordinator stays who it is."""
    world = World()
    member = world.client()
    committed(world, member)
    world.control.fail("OffsetCommit", 14, times=2)
    began = world.clock.time
    commit(world, member)
    first, second, third = on_the_wire(world, "OffsetCommit")
    assert 0.08 <= second - first <= 0.125
    assert 0.16 <= third - second <= 0.245
    assert world.clock.time - began < 0.4
    assert len(on_the_wire(world, "FindCoordinator")) == 1
    assert world.control.committed("g")[TP].offset == 7


def test_errors_until_the_end_are_counted_and_the_last_is_the_cause() -> None:
    """B5: the last error as cause, and the number of attempts."""
    world = World()
    member = world.client()
    world.control.fail("OffsetCommit", 14, times=None)
    with pytest.raises(errors.TimeoutException) as caught:
        commit(world, member, timeout=3.0)
    late = caught.value
    assert len(late.attempts) == len(on_the_wire(world, "OffsetCommit")) > 3
    assert type(late.__cause__) is errors.CoordinatorLoadInProgressException
    assert not late.may_have_happened
    assert "retry backoff" in str(late)


@pytest.mark.parametrize("code", [15, 16, 7])
def test_the_coordinator_has_moved(code: int) -> None:
    """B44, B45: forgotten, looked up again, and the commit goes to the new one."""
    world = World(nodes=2)
    member = world.client()
    commit(world, member)
    old = world.control.coordinator("g")
    assert old is not None
    world.control.fail("OffsetCommit", code, times=1)
    world.control.move_coordinator("g", 3 - old)
    commit(world, member, offsets={TP: OffsetAndMetadata(8)})
    assert len(on_the_wire(world, "FindCoordinator")) == 2
    assert world.cluster.journal.entries("OffsetCommit")[-1].node == 3 - old
    assert world.control.committed("g")[TP].offset == 8


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (12, errors.OffsetMetadataTooLarge),
        (22, errors.CommitFailedException),
        (25, errors.CommitFailedException),
        (28, errors.InvalidCommitOffsetSizeException),
        (29, errors.TopicAuthorizationException),
        (30, errors.GroupAuthorizationException),
        (82, errors.CommitFailedException),
        (32000, errors.UnknownServerException),
    ],
)
def test_a_fatal_error_is_raised_at_once(code: int, error: type[Exception]) -> None:
    """B6, B46, B49, B50: one attempt, the error itself, no waiting for the deadline."""
    world = World()
    member = world.client()
    world.control.fail("OffsetCommit", code, times=None)
    began = world.clock.time
    with pytest.raises(error):
        commit(world, member, timeout=60.0)
    assert world.clock.time - began < 0.1
    assert len(on_the_wire(world, "OffsetCommit")) == 1
    assert idle(member)


def test_all_topics_that_are_refused_are_in_one_error() -> None:
    """B48: one error that lists all of them."""
    world = World(topics={"a": 1, "b": 1, "c": 1})
    member = world.client()
    world.control.deny(topic="a")
    world.control.deny(topic="c")
    offsets = {TopicPartition(topic, 0): OffsetAndMetadata(1) for topic in "abc"}
    with pytest.raises(errors.TopicAuthorizationException) as caught:
        commit(world, member, offsets=offsets)
    assert caught.value.topics == ("a", "c")


@pytest.mark.parametrize("code", [3, 100])
def test_what_the_coordinator_does_not_know_is_named(code: int) -> None:
    """B218: each partition that it refuses, and no other; at the deadline, in the paragraph."""
    world = World()
    member = world.client()
    wanted = {tp: OffsetAndMetadata(1) for tp in (TP, OTHER, TopicPartition("orders", 2))}
    for number in (0, 2):
        world.control.fail("OffsetCommit", code, times=None, partition=number)
    with pytest.raises(
        errors.TimeoutException, match="orders-0, orders-2: the coord"
    ) as caught:
        commit(world, member, 1.0, wanted)
    assert "orders-1:" not in str(caught.value.last_error)
    assert isinstance(caught.value.last_error, errors.UnknownTopicOrPartitionException) == (
        code == 3
    )


def test_a_silent_broker_is_given_up_at_request_timeout_and_tried_again() -> None:
    """B7: several attempts, each ended at 1 s with a reconnect, TimeoutException at 5 s."""
    world = World()
    member = world.client(request_timeout_ms=1000)
    committed(world, member)
    connects = member.network.connects
    world.control.freeze()
    began = world.clock.time
    with pytest.raises(errors.TimeoutException) as caught:
        commit(world, member, timeout=5.0)
    assert world.clock.time == pytest.approx(began + 5.0)
    assert member.network.connects > connects
    assert caught.value.attempts[0].outcome == "disconnected"
    assert caught.value.attempts[0].ended == pytest.approx(1.0, abs=0.01)
    assert caught.value.may_have_happened


def test_what_was_not_written_is_not_written_later() -> None:
    """B24: a broker that is down during the call sees no commit when it comes back."""
    world = World()
    member = world.client()
    world.control.kill(1)
    with pytest.raises(errors.TimeoutException) as caught:
        commit(world, member, timeout=1.0)
    assert not caught.value.may_have_happened
    world.control.restart(1)
    world.clock.sleep(120)
    assert not on_the_wire(world, "OffsetCommit")
    commit(world, member)


def test_several_calls_end_each_at_its_own_deadline() -> None:
    """B20: none waits for the longest."""
    world = World()
    member = world.client()
    committed(world, member)
    world.control.freeze()
    began = world.clock.time
    calls = [world.call("committed", timeout) for timeout in (0.9, 0.3, 0.6)]
    for call in calls:
        member.thread.mailbox.post(LookUpCommitted(call, (TP,)))
    ends = {}
    for call in sorted(calls, key=lambda each: each.deadline):
        world.clock.wait(call.waiter, math.inf)
        ends[call.deadline.at] = world.clock.time
    assert [round(end - began, 6) for end in ends.values()] == [0.3, 0.6, 0.9]


def test_timeout_zero_writes_what_can_be_written_and_no_more() -> None:
    """B13, B21: with a warm connection the request goes out; the caller is told it may have."""
    world = World()
    member = world.client()
    committed(world, member)
    call = world.call("commit_sync", 0.0)
    member.thread.mailbox.post(Commit(call, AT_7))
    world.clock.sleep(0.01)
    with pytest.raises(errors.TimeoutException) as caught:
        call.result()
    assert caught.value.may_have_happened
    assert len(on_the_wire(world, "OffsetCommit")) == 1
    assert world.control.committed("g")[TP].offset == 7


def test_a_caller_who_leaves_early_is_worked_for_no_longer() -> None:
    """B24, B174: withdrawn before it was written, it never is; the client stays usable."""
    world = World()
    member = world.client()
    world.control.fail("FindCoordinator", 15, times=None)
    call = world.call("commit_sync", 60.0)
    member.thread.mailbox.post(Commit(call, AT_7))
    world.clock.sleep(0.5)
    call.leave(world.clock.time, KeyboardInterrupt())
    member.thread.mailbox.post(Withdraw(call))
    world.clock.sleep(0.01)
    assert idle(member)
    world.control.heal()
    world.clock.sleep(60)
    assert not on_the_wire(world, "OffsetCommit")
    commit(world, member)


def test_without_a_group_there_is_nothing_to_commit_to() -> None:
    """B51: InvalidGroupId, and no request."""
    world = World()
    member = world.client(group_id=None)
    with pytest.raises(errors.InvalidGroupIdException, match=r"set group\.id"):
        commit(world, member)
    assert not world.cluster.journal.received


def test_an_idle_client_is_idle() -> None:
    """B265: until connections are idle for too long, the loop does not turn."""
    world = World()
    member = world.client()
    commit(world, member)
    world.clock.sleep(1.0)
    turns = member.network.turns
    world.clock.sleep(150.0)
    assert member.network.turns <= turns + 1


@pytest.mark.parametrize("state", ["frozen", "killed", "coordinator unknown", "unreachable"])
def test_waiting_does_not_spin(state: str) -> None:
    """B265: in each kind of wait, a minute of it costs a few turns for each attempt."""
    world = World()
    member = world.client()
    commit(world, member)
    if state == "frozen":
        world.control.freeze()
    elif state == "killed":
        world.control.kill(1)
    elif state == "coordinator unknown":
        world.control.fail("OffsetCommit", 16, times=1)
        world.control.fail("FindCoordinator", 15, times=None)
    else:
        world.control.kill(1)
        world.control.restart(1)
        broker = world.cluster.state.broker(1).node
        member.network.block(broker.host, broker.port)
    turns = member.network.turns
    with pytest.raises(errors.TimeoutException):
        commit(world, member, timeout=60.0)
    assert member.network.turns - turns < 1000


def test_closing_ends_what_waits_and_leaves_nothing() -> None:
    """B176, B190: a pending call fails, later ones are refused, connections are gone."""
    world = World()
    member = world.client()
    commit(world, member)
    world.control.freeze()
    pending = world.call("committed", 30.0)
    member.thread.mailbox.post(LookUpCommitted(pending, (TP,)))
    world.clock.sleep(0.1)
    world.ask(member, Close(world.call("close", 5.0)))
    assert member.thread.life is Life.ENDED
    with pytest.raises(errors.IllegalStateException, match="closed"):
        pending.result()
    with pytest.raises(errors.IllegalStateException, match="closed"):
        commit(world, member)
    assert member.network.open == 0


@pytest.mark.mortal
def test_a_bug_ends_the_thread_loudly(caplog: pytest.LogCaptureFixture) -> None:
    """B267: every waiting call raises with the cause, and so does every later one."""
    world = World()
    member = world.client()
    commit(world, member)
    world.control.freeze()
    pending = world.call("committed", 30.0)
    member.thread.mailbox.post(LookUpCommitted(pending, (TP,)))
    world.clock.sleep(0.1)
    member.side.timer.after(0.0, "a bug", lambda: 1 // 0)  # type: ignore[arg-type]
    member.network.wake()
    world.clock.sleep(0.1)
    assert member.thread.life is Life.DEAD
    with pytest.raises(errors.NetworkThreadDiedException) as caught:
        pending.result()
    assert type(caught.value.__cause__) is ZeroDivisionError
    with pytest.raises(errors.NetworkThreadDiedException, match="bug in prokurist"):
        commit(world, member)
    assert member.network.open == 0
    assert "died of a bug" in caplog.text


def test_a_commit_taken_in_part_may_have_happened() -> None:
    """CONTRACT §2.5: one partition is committed, the other refused until the end."""
    world = World()
    member = world.client()
    world.control.fail("OffsetCommit", 14, times=None, partition=1)
    offsets = {TP: OffsetAndMetadata(7), OTHER: OffsetAndMetadata(8)}
    with pytest.raises(errors.TimeoutException) as caught:
        commit(world, member, timeout=1.0, offsets=offsets)
    assert caught.value.may_have_happened
    assert world.control.committed("g")[TP].offset == 7
    asked = world.cluster.journal.entries("OffsetCommit")
    assert len(asked) > 2


def test_a_commit_that_timed_out_on_the_broker_may_have_happened() -> None:
    """CONTRACT §4: REQUEST_TIMED_OUT may hide a commit that is in the log."""
    world = World()
    member = world.client()
    world.control.fail("OffsetCommit", 7, times=None)
    with pytest.raises(errors.TimeoutException) as caught:
        commit(world, member, timeout=1.0)
    assert caught.value.may_have_happened
