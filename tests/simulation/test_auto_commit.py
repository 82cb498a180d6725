"""Automatic commits: when, of which positions, and what comes of a refusal."""

import pytest

from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.returning import (
    INTERVAL,
    TP,
    commits,
    committed,
    offsets_of,
    reading,
    returns,
)
from tests.simulation.world import World

OTHER = TopicPartition("orders", 1)
LOADING = 14
TOO_LARGE = 12


def test_one_commit_an_interval_however_often_one_polls() -> None:
    """B52: of all positions, unchanged ones too; the first when the first interval is over."""
    world = World()
    with reading(world, OTHER) as consumer:
        consumer.seek(OTHER, 8)
        began = world.clock.time
        for _ in range(210):
            consumer.poll(0.1)
        assert [round(at - began) for at, _ in commits(world)] == [5, 10, 15, 20]
        assert {str(each) for _, each in commits(world)} == {str({TP: 3, OTHER: 8})}
        assert consumer.committed(TP) == {TP: OffsetAndMetadata(3)}


def test_a_long_poll_commits_while_it_waits() -> None:
    """B52: what was returned before it is done with, however long nothing comes."""
    world = World()
    with reading(world) as consumer:
        turns = consumer.health().turns
        consumer.poll(16.0)
        assert offsets_of(world) == [3, 3, 3]
        assert consumer.health().turns - turns < 40


def test_the_batch_that_is_worked_on_is_not_committed() -> None:
    """B52, CONTRACT §6.6: its offsets are taken when the next poll begins, never before."""
    world = World()
    with reading(world) as consumer:
        world.clock.sleep(2.0)
        consumer.poll(0)
        returns(consumer, 10)
        world.clock.sleep(30.0)
        assert not commits(world)
        consumer.poll(0)
        returns(consumer, 20)
        world.clock.sleep(30.0)
        assert offsets_of(world) == [10]


def test_nothing_consumed_is_nothing_sent() -> None:
    """B52: no request, and the interval starts again."""
    world = World()
    world.control.fail("ListOffsets", 5, times=None)
    with world.consumer(fetches=False) as consumer:
        consumer.assign(TP)
        began = world.clock.time
        while world.clock.time < began + 7.0:
            consumer.poll(0.1)
        consumer.seek(TP, 4)
        while not commits(world):
            consumer.poll(0.1)
        assert world.clock.time - began == pytest.approx(10.0, abs=0.3)


def test_no_second_one_while_the_first_is_in_flight() -> None:
    """B53: the next interval after its end picks up, with the positions of then."""
    world = World()
    with reading(world) as consumer:
        consumer.committed(TP)
        world.control.answer_late("OffsetCommit", 12.0, times=1)
        began = world.clock.time
        for second in range(21):
            returns(consumer, 100 + second)
            consumer.poll(1.0)
        assert [(round(at - began), each[TP]) for at, each in commits(world)] == [
            (5, 104),
            (20, 119),
        ]


def test_a_passing_failure_is_tried_again_after_the_backoff() -> None:
    """B54: not after a whole interval; between polls too, and with what it has."""
    world = World()
    with reading(world) as consumer:
        consumer.committed(TP)
        world.control.fail("OffsetCommit", LOADING, times=2)
        world.clock.sleep(INTERVAL)
        consumer.poll(0)
        returns(consumer, 10)
        world.clock.sleep(1.0)
        assert offsets_of(world) == [3, 3, 3]
        first, second, third = (at for at, _ in commits(world))
        assert 0.08 <= second - first <= 0.13
        assert 0.16 <= third - second <= 0.25
        assert committed(world) == 3


def test_a_lasting_failure_is_logged_and_the_next_interval_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B54: one attempt, nothing raised, and nothing forgotten."""
    world = World()
    with reading(world) as consumer:
        world.control.fail("OffsetCommit", TOO_LARGE, times=1)
        consumer.poll(INTERVAL + 1.0)
        assert offsets_of(world) == [3]
        consumer.poll(INTERVAL)
        assert "automatic commit failed" in caplog.text
        assert offsets_of(world) == [3, 3]
        assert committed(world) == 3


def test_no_try_goes_on_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    """B54: a snapshot has the time of a call; then it is logged, and a newer one is taken."""
    world = World()
    with reading(world, default_api_timeout_ms=20_000) as consumer:
        consumer.committed(TP)
        world.control.fail("OffsetCommit", LOADING, times=None)
        consumer.poll(24.0)
        assert set(offsets_of(world)) == {3}
        returns(consumer, 7)
        consumer.poll(7.0)
        assert "auto-commit" in caplog.text
        assert "20" in caplog.text
        assert offsets_of(world)[-1] == 7
        world.control.heal()


def test_a_later_commit_is_not_set_back_by_an_earlier_try() -> None:
    """The user's own commit overtakes a snapshot that waits for its next try (CONTRACT §6)."""
    world = World()
    with reading(world, OTHER) as consumer:
        consumer.seek(OTHER, 8)
        consumer.committed(TP)
        world.control.fail("OffsetCommit", LOADING, times=1)
        world.clock.sleep(INTERVAL)
        consumer.poll(0.01)
        consumer.commit_sync({TP: OffsetAndMetadata(50)})
        world.clock.sleep(1.0)
        assert committed(world) == 50
        assert committed(world, OTHER) == 8
        assert commits(world)[-1][1] == {OTHER: 8}


@pytest.mark.parametrize("commit", ["commit_sync", "commit_async"])
def test_nothing_of_it_may_be_left_to_try(commit: str) -> None:
    """A snapshot that is overtaken as a whole has ended, and has committed nothing."""
    world = World()
    with reading(world) as consumer:
        consumer.committed(TP)
        world.control.fail("OffsetCommit", LOADING, times=1)
        world.clock.sleep(INTERVAL)
        consumer.poll(0.01)
        getattr(consumer, commit)({TP: OffsetAndMetadata(50)})
        world.clock.sleep(1.0)
        assert offsets_of(world) == [3, 50]
        assert consumer.health().waiting_calls == 0


def test_another_assignment_commits_the_old_positions() -> None:
    """B55, B61: without a wait; the interval starts again, and the same set changes nothing."""
    world = World()
    with reading(world) as consumer:
        returns(consumer, 10)
        world.clock.sleep(3.0)
        consumer.assign([TP])
        world.clock.sleep(0.1)
        assert not commits(world)
        began = world.clock.time
        consumer.assign([OTHER])
        assert world.clock.time == began
        consumer.seek(OTHER, 1)
        consumer.poll(4.8)
        assert [each for _, each in commits(world)] == [{TP: 10}]
        consumer.poll(0.4)
        assert [each for _, each in commits(world)] == [{TP: 10}, {OTHER: 1}]


def test_unsubscribing_commits_and_restarts_the_interval() -> None:
    """B55, B61: also without further polls; of nothing there is nothing to commit."""
    world = World()
    with reading(world) as consumer:
        returns(consumer, 10)
        consumer.unsubscribe()
        world.clock.sleep(1.0)
        assert offsets_of(world) == [10]
        consumer.unsubscribe()
        world.clock.sleep(3.5)
        consumer.assign(TP)
        consumer.seek(TP, 11)
        consumer.poll(0.6)
        assert offsets_of(world) == [10]
    assert offsets_of(world) == [10, 11]


def test_each_assignment_that_is_given_up_is_committed() -> None:
    """B61: the second does not push the first out while the coordinator is unknown."""
    world = World()
    with reading(world) as consumer, world.control.fail("FindCoordinator", 15, times=None):
        consumer.assign(OTHER)
        consumer.seek(OTHER, 8)
        consumer.unsubscribe()
        world.clock.sleep(1.0)
    assert committed(world) == 3
    assert committed(world, OTHER) == 8


def test_off_is_off() -> None:
    """B56: not at the interval, not when the assignment changes, not at the end."""
    world = World()
    with reading(world, enable_auto_commit=False) as consumer:
        consumer.poll(12.0)
        consumer.assign(OTHER)
        consumer.seek(OTHER, 8)
    assert not commits(world)


def test_without_a_group_it_is_off() -> None:
    """B57: no request is sent, and nothing fails."""
    world = World()
    with reading(world, group_id=None) as consumer:
        consumer.poll(12.0)
        consumer.unsubscribe()
    assert not commits(world)
    assert not world.cluster.journal.entries("FindCoordinator")


@pytest.mark.parametrize("timeout", [0.0, 3.0])
def test_without_an_interval_each_poll_commits_once(timeout: float) -> None:
    """An interval of zero: when a poll begins, and not again and again while it waits."""
    world = World()
    with reading(world, auto_commit_interval_ms=0) as consumer:
        world.clock.sleep(1.0)
        assert offsets_of(world) == [3]
        consumer.poll(timeout)
        world.clock.sleep(1.0)
        assert offsets_of(world) == [3, 3]


def test_due_and_the_coordinator_unknown_costs_no_turns() -> None:
    """B265: the look-up goes on at its own pace, and nothing turns for the commit itself."""
    world = World()
    with reading(world) as consumer:
        world.control.freeze()
        consumer.poll(INTERVAL + 1.0)
        turns = consumer.health().turns
        for _ in range(100):
            consumer.poll(0.1)
        # The search asks another broker once a second; a hundred polls add nothing to that.
        assert consumer.health().turns - turns <= 20
        assert not commits(world)
        world.control.thaw()
        world.clock.sleep(1.0)
        assert offsets_of(world) == [3]


@pytest.mark.mortal
def test_a_dead_thread_is_told_of_by_poll_and_not_by_unsubscribe(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CONTRACT 2.7: what cannot be committed any more is logged."""
    world = World()
    consumer = reading(world)
    nothing: list[None] = []
    world.members[0].side.timer.after(0.0, "a bug", nothing.pop)
    world.members[0].network.wake()
    world.clock.sleep(0.1)
    consumer.unsubscribe()
    consumer.close()
    assert "automatic commit failed" in caplog.text
