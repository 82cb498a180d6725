"""Deadlines, pauses and attempts as a caller meets them, in virtual time."""

from itertools import pairwise

import pytest

from prokurist import errors
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
AT_7 = {TP: OffsetAndMetadata(7)}


def pauses(world: World, api: ApiName) -> list[float]:
    """Seconds between one request and the next, as the broker saw them."""
    arrived = [entry.at for entry in world.cluster.journal.entries(api)]
    return [later - earlier for earlier, later in pairwise(arrived)]


def test_each_attempt_ends_at_request_timeout_and_the_next_has_a_new_connection() -> None:
    """B7, B32: several attempts, one after the other; the call ends at its own time."""
    world = World()
    with world.consumer(request_timeout_ms=1000) as consumer:
        consumer.committed(TP)
        network = world.members[0].network
        connects, began = network.connects, world.clock.time
        with (
            world.control.drop("OffsetCommit"),
            pytest.raises(errors.TimeoutException) as caught,
        ):
            consumer.commit_sync(AT_7, timeout=5)
        assert world.clock.time == pytest.approx(began + 5.0)
        # Four of one second each, and pauses of 0.1, 0.2 and 0.4 s between them.
        ended = caught.value.attempts
        assert len(ended) == 4
        for attempt in ended:
            assert attempt.outcome == "disconnected"
            assert attempt.ended is not None
            assert attempt.ended - attempt.started == pytest.approx(1.0, abs=0.01)
        assert all(a.ended is not None and a.ended <= b.started for a, b in pairwise(ended))
        assert network.connects - connects >= len(ended) - 1
        assert caught.value.may_have_happened


def test_the_pauses_between_attempts_grow_to_their_cap() -> None:
    """B4, B29: 100, 200, 400, 800, 1000, 1000 ms, each ±20 %, as the broker sees them."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.fail("OffsetCommit", 14, times=7)
        consumer.commit_sync(AT_7)
        expected = [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]
        for pause, base in zip(pauses(world, "OffsetCommit"), expected, strict=True):
            assert 0.8 * base <= pause - 0.002 <= min(1.2 * base, 1.0) + 0.001


def test_after_a_success_the_first_pause_is_the_base_again() -> None:
    """B30: what the call before it met does not lengthen it."""
    world = World()
    with world.consumer() as consumer:
        for _ in range(3):
            world.cluster.journal.clear()
            world.control.fail("OffsetCommit", 14, times=3)
            consumer.commit_sync(AT_7)
            first = pauses(world, "OffsetCommit")[0]
            assert 0.08 <= first <= 0.125


def test_no_backoff_is_no_pause_and_no_spinning() -> None:
    """B31: an error is retried without delay; a silent broker costs hardly a turn."""
    world = World()
    with world.consumer(retry_backoff_ms=0) as consumer:
        consumer.committed(TP)
        world.control.fail("OffsetCommit", 14, times=20)
        began = world.clock.time
        consumer.commit_sync(AT_7)
        assert world.clock.time - began < 0.1
        world.control.freeze()
        network = world.members[0].network
        turns = network.turns
        with pytest.raises(errors.TimeoutException):
            consumer.committed(TP, timeout=20)
        assert network.turns - turns < 10


def test_one_request_at_a_time_for_one_call() -> None:
    """B32: while it is in flight it is not sent again, however long that takes."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        with world.control.answer_late("OffsetCommit", 20.0):
            consumer.commit_sync(AT_7)
        assert len(world.cluster.journal.entries("OffsetCommit")) == 1


def test_a_commit_of_nothing_waits_for_earlier_ones() -> None:
    """B15: their callbacks have run when it returns, and it sends nothing itself."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        told: list[object] = []
        began = world.clock.time
        with world.control.answer_late("OffsetCommit", 2.0, times=1):
            consumer.commit_async(AT_7, lambda _, error: told.append(error))
            consumer.commit_sync({})
        assert world.clock.time - began >= 2.0
        assert told == [None]
        assert len(world.cluster.journal.entries("OffsetCommit")) == 1


def test_a_result_that_came_in_time_is_kept_by_a_caller_who_comes_late() -> None:
    """B19: answered in time, while his thread was busy past the deadline: no timeout."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.at(world.clock.time + 0.0005, lambda: world.clock.sleep(3.0))
        assert consumer.committed(TP, timeout=0.5) == {TP: None}


@pytest.mark.parametrize("found", [True, False], ids=["coordinator known", "unknown"])
def test_errors_of_the_group_name_it(*, found: bool) -> None:
    """B49: GroupAuthorization names the group, for commits and for look-ups."""
    world = World()
    with world.consumer(group_id="billing") as consumer:
        if found:
            consumer.committed(TP)
        world.control.deny(group="billing")
        with pytest.raises(errors.GroupAuthorizationException, match="billing") as caught:
            consumer.commit_sync(AT_7)
        assert caught.value.group_id == "billing"
        with pytest.raises(errors.GroupAuthorizationException, match="billing"):
            consumer.committed(TP)


def test_a_wakeup_during_close_does_not_end_it() -> None:
    """B170, B186: nor the commit that it waits for."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    told: list[object] = []
    world.control.answer_late("OffsetCommit", 2.0, times=1)
    consumer.commit_async(AT_7, lambda _, error: told.append(error))
    began = world.clock.time
    for after in (0.0, 0.5, 1.0):
        world.at(began + after, consumer.wakeup)
    consumer.wakeup()
    consumer.close()
    assert world.clock.time >= began + 2.0
    assert told == [None]
    assert world.control.committed("g")[TP].offset == 7


def test_an_interrupt_in_close_is_raised_when_everything_is_closed() -> None:
    """B187: it cuts the wait short, and takes nothing along."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    world.control.freeze()
    consumer.commit_async(AT_7)
    began = world.clock.time

    def interrupt() -> None:
        raise KeyboardInterrupt

    world.at(began + 0.5, interrupt)
    with pytest.raises(KeyboardInterrupt):
        consumer.close()
    assert world.clock.time == pytest.approx(began + 0.5, abs=0.01)
    assert not consumer.health().alive
    assert world.members[0].network.open == 0


def test_leaving_a_with_block_closes_with_the_default_timeout() -> None:
    """B177: 30 s, though `request.timeout.ms` would allow more."""
    world = World()
    with world.consumer(request_timeout_ms=100_000) as consumer:
        consumer.committed(TP)
        world.control.freeze()
        consumer.commit_async(AT_7)
        began = world.clock.time
    assert began + 25.0 < world.clock.time <= began + 30.0
    assert not consumer.health().alive


def test_who_assigns_by_hand_is_no_member_and_can_commit() -> None:
    """B156: minutes of polling and a commit; no join, no heartbeat."""
    world = World()
    with world.consumer() as consumer:
        consumer.assign(TP)
        consumer.poll(200.0)
        consumer.commit_sync(AT_7)
        asked = {entry.api for entry in world.cluster.journal.entries()}
        assert "OffsetCommit" in asked
        assert not asked & {
            "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "ConsumerGroupHeartbeat",
        }  # fmt: skip
