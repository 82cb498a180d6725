"""Commits without a waiting call: their callbacks, their order, their end."""

import pytest

from prokurist import errors
from prokurist.consumer.commits_under_way import MOST_PENDING
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


class Told:
    """What callbacks were told."""

    def __init__(self) -> None:
        self.of: list[tuple[int, errors.KafkaException | None]] = []

    def __call__(
        self,
        offsets: dict[TopicPartition, OffsetAndMetadata],
        error: errors.KafkaException | None,
    ) -> None:
        """One more."""
        self.of.append((offsets[TP].offset, error))


def later(consumer: KafkaConsumer, offset: int, told: Told | None) -> None:
    """Commit an offset asynchronously."""
    consumer.commit_async({TP: OffsetAndMetadata(offset)}, told)


def test_a_callback_gets_the_offsets_and_no_error() -> None:
    """B35: on the application's thread, inside a later commit."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        later(consumer, 1, told)
        world.clock.sleep(1.0)
        assert not told.of
        assert consumer.committed(TP) == {TP: OffsetAndMetadata(1)}
        consumer.commit_sync({})
        assert told.of == [(1, None)]


def test_ten_and_then_a_synchronous_one() -> None:
    """B39: ten callbacks, in order, before `commit_sync` returns."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        for offset in range(10):
            later(consumer, offset, told)
        consumer.commit_sync({TP: OffsetAndMetadata(99)})
        assert told.of == [(offset, None) for offset in range(10)]
        assert consumer.committed(TP) == {TP: OffsetAndMetadata(99)}


def test_callbacks_keep_the_order_of_the_commits_not_of_the_answers() -> None:
    """§6.1: one that fails at once waits for one that is answered late."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.answer_late("OffsetCommit", 1.0, times=1)
        later(consumer, 1, told)
        world.clock.sleep(0.1)
        for offset in range(2, 5):
            later(consumer, offset, told)
        assert not told.of
        consumer.commit_sync({})
        assert [offset for offset, _ in told.of] == [1, 2, 3, 4]


@pytest.mark.parametrize("code", [14, 16, 15, 7, 3])
def test_a_passing_failure_is_told_as_one_and_not_tried_again(code: int) -> None:
    """B36: RetriableCommitFailed that wraps the cause; one attempt."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.fail("OffsetCommit", code, times=1)
        later(consumer, 1, told)
        consumer.commit_sync({})
        ((_, error),) = told.of
        assert type(error) is errors.RetriableCommitFailedException
        assert error.__cause__ is not None
        assert error.__cause__.error_code == code  # type: ignore[attr-defined]
        assert len(world.cluster.journal.entries("OffsetCommit")) == 1
        later(consumer, 2, told)
        consumer.commit_sync({})
        assert told.of[1] == (2, None)


def test_a_lasting_failure_is_told_as_itself() -> None:
    """B37: what no second try can mend comes as it is."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        world.control.fail("OffsetCommit", 12, times=1)
        later(consumer, 1, told)
        consumer.commit_sync({})
        assert type(told.of[0][1]) is errors.OffsetMetadataTooLarge


def test_a_failure_without_a_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """B38: and nothing else comes of it."""
    world = World()
    with world.consumer() as consumer:
        world.control.fail("OffsetCommit", 12, times=1)
        later(consumer, 1, None)
        consumer.commit_sync({TP: OffsetAndMetadata(2)})
        assert "asynchronous commit failed" in caplog.text
        assert consumer.committed(TP) == {TP: OffsetAndMetadata(2)}


def test_what_a_callback_raises_surfaces_once_and_the_others_still_run() -> None:
    """B40: raised by the call that ran it, after its own commit has ended."""
    world, told = World(), Told()

    def bad(*_: object) -> None:
        raise ZeroDivisionError

    with world.consumer() as consumer:
        consumer.commit_async({TP: OffsetAndMetadata(1)}, bad)
        later(consumer, 2, told)
        with pytest.raises(ZeroDivisionError):
            consumer.commit_sync({TP: OffsetAndMetadata(3)})
        assert world.control.committed("g")[TP].offset == 3
        assert not told.of
        consumer.commit_sync({})
        assert told.of == [(2, None)]


def test_a_commit_inside_a_callback() -> None:
    """B41: works, synchronous or not, without a deadlock."""
    world, told = World(), Told()
    with world.consumer() as consumer:

        def again(*_: object) -> None:
            consumer.commit_sync({TP: OffsetAndMetadata(5)})
            assert consumer.committed(TP) == {TP: OffsetAndMetadata(5)}
            later(consumer, 6, told)

        consumer.commit_async({TP: OffsetAndMetadata(1)}, again)
        consumer.commit_sync({})
        assert told.of == [(6, None)]


def test_held_until_the_coordinator_is_known() -> None:
    """B42: sent on its discovery; what waits costs no attempt."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        with world.control.fail("FindCoordinator", 15, times=None):
            later(consumer, 1, told)
            world.clock.sleep(5.0)
            assert not world.cluster.journal.entries("OffsetCommit")
        consumer.commit_sync({})
        assert told.of == [(1, None)]


def test_never_sent_once_the_client_is_closed() -> None:
    """B42, B184: still unknown at close, its callback is told, before close returns."""
    world, told = World(), Told()
    consumer = world.consumer()
    world.control.fail("FindCoordinator", 15, times=None)
    later(consumer, 1, told)
    began = world.clock.time
    consumer.close(2.0)
    # The look-up goes on while another attempt of it would still be in time.
    assert began + 0.7 <= world.clock.time <= began + 1.5
    assert [type(error) for _, error in told.of] == [errors.RetriableCommitFailedException]
    assert not world.cluster.journal.entries("OffsetCommit")


def test_close_waits_for_what_is_under_way() -> None:
    """B184: outstanding commits finish within the budget, and their callbacks run."""
    world, told = World(), Told()
    consumer = world.consumer()
    for offset in range(3):
        later(consumer, offset, told)
    consumer.close()
    assert told.of == [(0, None), (1, None), (2, None)]
    assert world.control.committed("g")[TP].offset == 2


def test_close_raises_what_a_callback_raised_wrapped_and_closes_all_the_same() -> None:
    """CONTRACT §5: the first failure, and every callback runs."""
    world, told = World(), Told()
    consumer = world.consumer()

    def bad(*_: object) -> None:
        raise ZeroDivisionError("a user's")

    consumer.commit_async({TP: OffsetAndMetadata(1)}, bad)
    later(consumer, 2, told)
    with pytest.raises(errors.KafkaException, match="ZeroDivisionError") as caught:
        consumer.close()
    assert type(caught.value.__cause__) is ZeroDivisionError
    assert told.of == [(2, None)]
    assert not consumer.health().alive
    consumer.close()


def test_the_wait_for_earlier_ones_counts_against_the_timeout() -> None:
    """B26: with the broker frozen, `commit_sync` ends at its deadline, empty or not."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.freeze()
        later(consumer, 1, told)
        for offsets in ({}, {TP: OffsetAndMetadata(2)}):
            began = world.clock.time
            with pytest.raises(errors.TimeoutException):
                consumer.commit_sync(offsets, timeout=0.5)
            assert world.clock.time == pytest.approx(began + 0.5)
        assert not told.of


def test_a_wakeup_ends_the_wait_for_earlier_ones() -> None:
    """B169: in this phase too; the earlier commits go on."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.freeze()
        later(consumer, 1, told)
        world.at(world.clock.time + 0.2, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=30)
        world.control.thaw()
        consumer.commit_sync({})
        assert told.of == [(1, None)]


def test_there_is_a_bound_on_what_is_held() -> None:
    """CONTRACT §3: with the coordinator gone, older ones fail at once, in their order."""
    world, told = World(), Told()
    consumer = world.consumer()
    world.control.fail("FindCoordinator", 15, times=None)
    for offset in range(MOST_PENDING + 2):
        later(consumer, offset, told)
    consumer.close(0)
    assert [offset for offset, _ in told.of] == list(range(MOST_PENDING + 2))
    overtaken = [offset for offset, error in told.of if "under way already" in str(error)]
    assert overtaken == [MOST_PENDING - 1, MOST_PENDING]


def test_the_newest_of_many_is_committed() -> None:
    """One for each record, faster than the coordinator answers: what is stored is the last."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.freeze()
        for offset in range(3 * MOST_PENDING):
            later(consumer, offset, told)
        consumer.commit_async({OTHER: OffsetAndMetadata(7)})
        world.control.thaw()
        consumer.commit_sync({})
        assert [offset for offset, _ in told.of] == list(range(3 * MOST_PENDING))
        assert told.of[-1][1] is None
        committed = consumer.committed([TP, OTHER])
    assert committed == {
        TP: OffsetAndMetadata(3 * MOST_PENDING - 1),
        OTHER: OffsetAndMetadata(7),
    }


def test_a_storm_without_a_callback_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """B38: those that gave way are logged, not each of them."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.freeze()
        for offset in range(3 * MOST_PENDING):
            later(consumer, offset, None)
        world.control.thaw()
        consumer.commit_sync({})
    lines = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(lines) == 1
    assert "under way already" in lines[0]


def test_a_storm_is_over_when_it_is_over() -> None:
    """What was given up does not stand in the way of what comes later."""
    world, told = World(), Told()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.freeze()
        for offset in range(3 * MOST_PENDING):
            later(consumer, offset, told)
        world.control.thaw()
        consumer.commit_sync({})
        told.of.clear()
        for offset in range(MOST_PENDING):
            later(consumer, offset, told)
        consumer.commit_sync({})
    assert told.of == [(offset, None) for offset in range(MOST_PENDING)]


@pytest.mark.parametrize("callback", ["f", 3])
def test_a_callback_that_cannot_be_called_is_refused(callback: object) -> None:
    """Before anything happens."""
    with World().consumer() as consumer, pytest.raises(TypeError, match="callable"):
        consumer.commit_async({}, callback)  # type: ignore[arg-type]


def test_no_callback_runs_inside_its_own_call() -> None:
    """B35: not even where nothing has to be asked, so that it has ended at once."""
    world, told = World(), list[str]()
    with world.consumer() as consumer:
        consumer.commit_async({}, lambda *_: told.append("first"))
        assert not told
        consumer.commit_async({}, lambda *_: told.append("second"))
        assert told == ["first"]
    assert told == ["first", "second"]
