"""Polls of so many records, and pieces of work that several polls make up."""

import pytest

from prokurist import errors
from prokurist.types import OffsetAndMetadata
from tests.simulation.reading import A, offsets, reader, written
from tests.simulation.returning import committed


def test_a_poll_may_be_of_fewer_records() -> None:
    """B455: than `max.poll.records`, or of more; not of none."""
    world = written(9)
    with reader(world, max_poll_records=4) as consumer:
        assert offsets(consumer.poll(1.0, max_records=2)) == {A: [0, 1]}
        assert offsets(consumer.poll(1.0, max_records=6)) == {A: [2, 3, 4, 5, 6, 7]}
        for most, kind in ((0, ValueError), (True, TypeError), ("1", TypeError)):
            with pytest.raises(kind, match="max_records"):
                consumer.poll(0, max_records=most)  # type: ignore[arg-type]


def test_more_behind_a_poll_is_one_piece_of_work() -> None:
    """B455: none of it counts as done before the next poll, and all of it may be taken back."""
    world = written(4)
    keys = {"enable_auto_commit": True, "auto_commit_interval_ms": 100}
    with reader(world, **keys) as consumer:
        assert offsets(consumer.poll(1.0, max_records=2)) == {A: [0, 1]}
        world.clock.sleep(1.0)
        assert offsets(consumer.poll_more(1.0, max_records=1)) == {A: [2]}
        world.at(world.clock.time + 2.0, lambda: world.control.append(A, b"late"))
        assert offsets(consumer.poll_more(1.0)) == {A: [3]}
        assert offsets(consumer.poll_more(5.0)) == {A: [4]}
        assert not consumer.poll_more(1.0)
        assert committed(world) is None
        assert consumer.progress()[A].returned == OffsetAndMetadata(5, "", 0)
        consumer.take_back()
        assert consumer.progress()[A].returned is None
        assert offsets(consumer.poll(1.0)) == {A: [0, 1, 2, 3, 4]}
        consumer.poll(1.0)
        consumer.poll(1.0)
        assert consumer.progress()[A].committed == committed(world) == 5
        assert consumer.progress()[A].end_met == 5


@pytest.mark.parametrize("validated", [True, False])
def test_what_is_taken_back_comes_again_from_another_leader(validated: bool) -> None:  # noqa: FBT001
    """B535: one that was elected meanwhile, whether it has confirmed the position or not."""
    world = written(4, nodes=2)
    keys = {"enable_auto_commit": True, "auto_commit_interval_ms": 100}
    with reader(world, metadata_max_age_ms=1000, **keys) as consumer:
        assert offsets(consumer.poll(1.0, max_records=1)) == {A: [0]}
        assert offsets(consumer.poll(1.0, max_records=1)) == {A: [1]}
        assert offsets(consumer.poll_more(1.0, max_records=1)) == {A: [2]}
        world.control.move_leader(A)
        held = None if validated else world.control.hold("OffsetForLeaderEpoch")
        world.clock.sleep(2.0)  # The new leader is heard of, and asked.
        assert offsets(consumer.poll_more(3.0)) == ({A: [3]} if validated else {})
        consumer.take_back()
        assert consumer.progress()[A].returned == OffsetAndMetadata(1, "", 0)
        if held is not None:
            held.undo()
        assert offsets(consumer.poll(2.0)) == {A: [1, 2, 3]}
        consumer.poll(0.5)
        assert committed(world) == 4


def test_an_interrupt_takes_back_what_came_of_a_former_leader() -> None:
    """B535: Ctrl-C in `poll_more`, behind an election in it."""
    world = written(2, nodes=2)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with reader(world, metadata_max_age_ms=1000) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        world.at(world.clock.time + 1.0, lambda: world.control.move_leader(A))
        world.at(world.clock.time + 5.0, interrupt)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll_more(9.0)
        assert offsets(consumer.poll(2.0)) == {A: [0, 1]}


def test_what_is_taken_back_after_a_seek_stays() -> None:
    """B535: what was returned after it comes again, from there."""
    world = written(6)
    with reader(world) as consumer:
        assert offsets(consumer.poll(1.0, max_records=1)) == {A: [0]}
        consumer.seek(A, 4)
        consumer.take_back()
        assert offsets(consumer.poll(1.0, max_records=1)) == {A: [4]}
        consumer.seek(A, 2)
        assert offsets(consumer.poll_more(1.0, max_records=1)) == {A: [2]}
        assert offsets(consumer.poll_more(1.0, max_records=1)) == {A: [3]}
        consumer.take_back()
        assert offsets(consumer.poll(1.0)) == {A: [2, 3, 4, 5]}


def test_what_is_taken_back_of_a_log_that_was_cut_back() -> None:
    """B535: reading goes on where the logs part, if that is before."""
    world = written(6, nodes=2)
    with reader(world, metadata_max_age_ms=1000) as consumer:
        assert offsets(consumer.poll(1.0, max_records=3)) == {A: [0, 1, 2]}
        assert offsets(consumer.poll(1.0, max_records=2)) == {A: [3, 4]}
        world.control.truncate(A, 2)
        world.control.move_leader(A)
        world.clock.sleep(2.0)
        assert not consumer.poll_more(1.0)
        consumer.take_back()
        world.control.append(A, b"new")
        assert offsets(consumer.poll(2.0)) == {A: [2]}


def test_a_call_with_nothing_to_read_is_named() -> None:
    """Its error says which call it was."""
    world = written(1)
    with world.consumer(None) as consumer:
        for call in (consumer.poll, consumer.poll_more, consumer.wait_until_ready):
            with pytest.raises(errors.IllegalStateException, match=f"^{call.__name__} with"):
                call(1.0)


def test_what_next_returned_may_be_taken_back() -> None:
    """B455: it comes again, and an earlier poll's records count as done."""
    world = written(4)
    keys = {"enable_auto_commit": True, "auto_commit_interval_ms": 100}
    with reader(world, **keys) as consumer:
        assert offsets(consumer.poll(1.0, max_records=2)) == {A: [0, 1]}
        for _ in range(2):
            record = consumer.next(1.0)
            assert record is not None
            assert record.offset == 2
            consumer.take_back()
        consumer.take_back()
        assert consumer.progress()[A].returned == OffsetAndMetadata(2, "", 0)
    assert committed(world) == 2


def test_an_error_behind_a_poll_waits_for_the_next() -> None:
    """B455: more of it is nothing, at once."""
    world = written(3)

    def made(given: bytes) -> bytes:
        if given == b"bad":
            raise ValueError(given)
        return given

    with reader(world, value_deserializer=made) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1, 2]}
        world.control.append(A, b"bad")
        began = world.clock.time
        assert not consumer.poll_more(9.0)
        assert world.clock.time - began < 2.0
        with pytest.raises(errors.RecordDeserializationException):
            consumer.poll(1.0)
