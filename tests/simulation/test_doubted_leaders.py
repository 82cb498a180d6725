"""Leaders in an older epoch than was read: for how long they are doubted (KIP-320)."""

import pytest

from prokurist import errors
from prokurist.network_thread.offsets.validation_manager import DOUBTED_FOR, FORGOTTEN_AFTER
from tests.simulation.looking_up import asked
from tests.simulation.test_validation import A, at, checked, written


@pytest.mark.parametrize(
    "backoff", [(10, 10), (100, 1_000), (12_000, 12_000), (30_000, 30_000)]
)
def test_an_epoch_that_is_newer_than_the_leaders(backoff: tuple[int, int]) -> None:
    """B91: fresh metadata first, as another may lead by now; in the end it is not known.

    For how long does not depend on how often it is asked, nor on the deadline of calls.
    """
    world = written()
    with world.consumer(
        fetches=False,
        auto_offset_reset="latest",
        retry_backoff_ms=backoff[0],
        retry_backoff_max_ms=backoff[1],
        default_api_timeout_ms=20_000,
    ) as consumer:
        consumer.end_offsets(A)
        consumer.assign(A)
        world.control.forget_requests()
        consumer.seek(A, at(8, 9))
        assert not consumer.poll(DOUBTED_FOR)
        with pytest.raises(errors.TimeoutException):
            consumer.position(A, 0)
        for _ in range(3):
            consumer.poll(1.3 * backoff[1] / 1000)
        assert consumer.position(A, 0) == 10
        metadata = len(world.cluster.journal.entries("Metadata"))
        assert metadata
        assert len(checked(world)) <= 2 + metadata
        assert metadata <= 2 + DOUBTED_FOR * 1000 / backoff[0] / 0.8


def test_an_epoch_that_is_newer_than_the_leaders_by_calls_that_are_short() -> None:
    """B91: positions asked for one after another go on with what the last one has learnt."""
    world = written()
    with world.consumer(fetches=False, auto_offset_reset="latest") as consumer:
        consumer.end_offsets(A)
        consumer.assign(A)
        consumer.seek(A, at(8, 9))
        began = world.clock.time
        while world.clock.time < began + DOUBTED_FOR - 1.5:
            with pytest.raises(errors.TimeoutException):
                consumer.position(A, 1.0)
            world.clock.sleep(0.2)
        world.clock.sleep(1.5)
        assert consumer.position(A, 1.0) == 10


def test_a_doubt_begins_again_when_it_was_left_for_long() -> None:
    """B91: one answer now and one of long ago are not two in a row."""
    world = written()
    with world.consumer(fetches=False, auto_offset_reset="latest") as consumer:
        consumer.end_offsets(A)
        consumer.assign(A)
        consumer.seek(A, at(8, 9))
        for _ in range(2):
            with pytest.raises(errors.TimeoutException):
                consumer.position(A, 1.0)
            world.clock.sleep(FORGOTTEN_AFTER + 1.0)
        assert consumer.position(A) == 10


def test_a_leader_that_does_not_know_that_it_was_deposed() -> None:
    """B91: its word against an epoch that is newer than its own throws away no position."""
    world = written()
    with world.consumer(fetches=False, auto_offset_reset="latest") as consumer:
        consumer.end_offsets(A)
        world.control.forget_requests()

        def be_heard() -> None:
            world.control.move_leader(A)
            world.control.append(A, b"v")

        # The group has read from the next leader, of whom this one does not know yet.
        consumer.assign(A)
        consumer.seek(A, at(11, 3))
        world.at(world.clock.time + 0.05, be_heard)
        assert consumer.position(A) == 11
        assert len(checked(world)) == 2
        assert not asked(world)


def test_brokers_that_learn_late_of_the_next_leader() -> None:
    """B91: nor does it in the next seconds, in which metadata name it again and again."""
    world = written()
    world.control.delay_metadata(DOUBTED_FOR - 1.0)
    world.control.move_leader(A)
    world.control.append(A, b"v")
    with world.consumer(fetches=False, auto_offset_reset="latest") as consumer:
        consumer.assign(A)
        consumer.seek(A, at(11, 3))
        assert consumer.position(A) == 11
        assert not asked(world)
