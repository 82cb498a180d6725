"""Look-ups of what was committed, in virtual time: who shares a request with whom."""

import pytest

from prokurist import errors
from prokurist.events.application_events import Commit, CommitOnce, LookUpCommitted, Withdraw
from prokurist.events.call import Call
from prokurist.testing.cluster.journal import Entry
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.looking_up import ORDERS, TP
from tests.simulation.world import Member, World

B = ORDERS[1]


def begin(
    world: World, member: Member, *partitions: TopicPartition, timeout: float = 5.0
) -> Call:
    """A look-up that is on its way."""
    call = world.call("committed", timeout)
    member.thread.mailbox.post(LookUpCommitted(call, partitions or (TP,)))
    return call


def commit(world: World, member: Member, offset: int, *, once: bool = False) -> Call:
    """A commit that is on its way."""
    call = world.call("commit_async" if once else "commit_sync", 5.0)
    kind = CommitOnce if once else Commit
    member.thread.mailbox.post(kind(call, {TP: OffsetAndMetadata(offset)}))
    return call


def result(world: World, call: Call) -> object:
    """What a call comes to."""
    if not world.clock.wait(call.waiter, call.deadline.at):
        call.leave(world.clock.time)
    return call.result()


def on_the_wire(world: World) -> list[Entry]:
    """The look-ups that reached a broker."""
    return world.cluster.journal.entries("OffsetFetch")


def test_two_equal_look_ups_share_a_request() -> None:
    """B68: before it is written; each has its answer, in its own order."""
    world = World()
    member = world.client()
    result(world, commit(world, member, 7))
    world.control.disconnect()
    world.clock.sleep(1.0)
    calls = [begin(world, member, TP, B), begin(world, member, B, TP)]
    expected = {TP: OffsetAndMetadata(7), B: None}
    assert [result(world, call) for call in calls] == [expected, expected]
    assert [list(call.result()) for call in calls] == [[TP, B], [B, TP]]
    assert len(on_the_wire(world)) == 1


def test_one_that_is_written_is_not_joined() -> None:
    """B68: its answer may be older than the question."""
    world = World()
    member = world.client()
    result(world, commit(world, member, 7))
    world.control.answer_late("OffsetFetch", 1.0, times=1)
    first = begin(world, member)
    world.clock.sleep(0.1)
    second = begin(world, member)
    result(world, second)
    result(world, first)
    assert len(on_the_wire(world)) == 2


@pytest.mark.parametrize("once", [True, False])
def test_none_after_a_commit_joins_one_before_it(*, once: bool) -> None:
    """B66, B68: not even while neither is written; it reads what was committed."""
    world = World()
    member = world.client()
    result(world, commit(world, member, 7))
    world.control.disconnect()
    world.clock.sleep(1.0)
    before = begin(world, member)
    committing = commit(world, member, 8, once=once)
    after = begin(world, member)
    assert result(world, after) == {TP: OffsetAndMetadata(8)}
    assert result(world, before) == {TP: OffsetAndMetadata(7)}
    result(world, committing)
    assert len(on_the_wire(world)) == 2


def test_different_sets_have_requests_of_their_own() -> None:
    """B69: a part of another set, too; all complete."""
    world = World()
    member = world.client()
    calls = [begin(world, member, TP), begin(world, member, TP, B), begin(world, member, B)]
    assert [set(result(world, call)) for call in calls] == [{TP}, {TP, B}, {B}]  # type: ignore[call-overload]
    assert len(on_the_wire(world)) == 3


@pytest.mark.parametrize("way", ["withdrawn", "by its own time", "by the network thread"])
def test_the_end_of_one_is_not_the_end_of_the_other(way: str) -> None:
    """B68, B24: whichever leaves first, in any way; each by its own deadline."""
    world = World()
    member = world.client()
    result(world, commit(world, member, 7))
    world.control.freeze()
    world.control.disconnect()
    first, second = begin(world, member, timeout=0.5), begin(world, member, timeout=20.0)
    began = world.clock.time
    if way == "withdrawn":
        world.clock.sleep(0.2)
        first.leave(world.clock.time, KeyboardInterrupt())
        member.thread.mailbox.post(Withdraw(first))
        world.clock.sleep(0.01)
    elif way == "by its own time":
        with pytest.raises(errors.TimeoutException):
            result(world, first)
        world.clock.sleep(0.01)
    else:
        world.clock.sleep(0.6)
        with pytest.raises(errors.TimeoutException):
            first.result()
    assert second.is_open
    assert len(member.side.calls) == 1
    world.control.thaw()
    assert result(world, second) == {TP: OffsetAndMetadata(7)}
    assert world.clock.time - began < 12.0


def test_each_ledger_tells_what_the_look_up_did() -> None:
    """B5, B68: attempts, waits and the last error, also of who joined later."""
    world = World()
    member = world.client()
    world.control.fail("FindCoordinator", 15, times=3)
    world.control.fail("OffsetFetch", 14, times=None)
    calls = [begin(world, member, timeout=3.0)]
    world.clock.sleep(0.1)
    calls.append(begin(world, member, timeout=3.0))
    for call in calls:
        with pytest.raises(errors.TimeoutException) as caught:
            result(world, call)
        late = caught.value
        assert {each.request for each in late.attempts} == {"OffsetFetch"}
        assert len(late.attempts) == len(on_the_wire(world)) > 3
        assert type(late.last_error) is errors.CoordinatorLoadInProgressException
        assert {each.reason for each in late.waits} >= {
            "the group's coordinator",
            "retry backoff",
        }


def test_nothing_is_written_when_all_have_left() -> None:
    """B24: by their own time, which the network thread has not noticed yet."""
    world = World()
    member = world.client()
    result(world, commit(world, member, 7))
    world.control.disconnect()
    world.clock.sleep(1.0)
    calls = [begin(world, member), begin(world, member)]
    world.clock.sleep(0.0005)
    assert member.side.client.waiting == 1
    for call in calls:
        call.leave(world.clock.time, KeyboardInterrupt())
    world.clock.sleep(1.0)
    assert not on_the_wire(world)
    assert result(world, begin(world, member)) == {TP: OffsetAndMetadata(7)}


def test_a_position_and_a_caller_share_a_look_up() -> None:
    """B68, B93: what a poll has looked up in the background serves `committed`, too."""
    world = World()
    with world.consumer() as consumer:
        world.control.fail("FindCoordinator", 15, times=2)
        consumer.assign(TP)
        consumer.poll(0)
        assert consumer.committed(TP) == {TP: None}
        assert consumer.position(TP) == 0
        assert len(on_the_wire(world)) == 1


def test_a_transaction_that_is_open() -> None:
    """B70: UNSTABLE_OFFSET_COMMIT is retried until the deadline, which names it."""
    world = World()
    member = world.client()
    world.control.fail("OffsetFetch", 88, times=2, partition=0)
    assert result(world, begin(world, member)) == {TP: None}
    assert len(on_the_wire(world)) == 3
    world.control.fail("OffsetFetch", 88, times=None)
    with pytest.raises(errors.TimeoutException) as caught:
        result(world, begin(world, member, timeout=1.0))
    assert type(caught.value.last_error) is errors.UnstableOffsetCommitException


def test_what_was_committed_before_a_transaction_that_is_open() -> None:
    """B425: at once with `stable=False`, beside a look-up that waits for the transaction."""
    world = World()
    with world.consumer(group_id="billing") as consumer:
        consumer.commit_sync({TP: OffsetAndMetadata(5)})
        with world.control.unstable_offsets("billing", TP):
            with pytest.raises(errors.TimeoutException):
                consumer.committed(TP, 1.0)
            began = world.clock.time
            assert consumer.committed(TP, stable=False) == {TP: OffsetAndMetadata(5)}
            assert world.clock.time - began < 0.1
        assert consumer.committed(TP) == {TP: OffsetAndMetadata(5)}


def test_a_member_epoch_without_membership() -> None:
    """B71: a client that is no member is refused at once."""
    world = World()
    member = world.client()
    world.control.fail("OffsetFetch", 113, times=None)
    began = world.clock.time
    with pytest.raises(errors.StaleMemberEpochException):
        result(world, begin(world, member))
    assert world.clock.time - began < 0.1


def test_a_disconnect_in_flight() -> None:
    """B72: the coordinator is looked for again, and asked again; both who wait are served."""
    world = World(nodes=2)
    member = world.client()
    world.control.cut("OffsetFetch", times=1)
    calls = [begin(world, member), begin(world, member)]
    assert [result(world, call) for call in calls] == [{TP: None}] * 2
    assert len(on_the_wire(world)) == 2
    assert len(world.cluster.journal.entries("FindCoordinator")) == 2
