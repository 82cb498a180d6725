"""`for record in consumer`: what counts as returned, and what ends the wait."""

import pytest

from prokurist import errors
from prokurist.types import OffsetAndMetadata
from tests.simulation.reading import A, B, drained, offsets, reader, written


def test_a_record_counts_when_the_next_one_is_asked_for() -> None:
    """B34, CONTRACT 6.6: a commit in the loop does not cover the record in hand."""
    world = written(5)
    with reader(world) as consumer:
        committed = []
        for record in consumer.records(idle_timeout=1.0):
            assert consumer.position(A) == record.offset
            consumer.commit_sync()
            committed.append(consumer.committed(A)[A])
        assert [each.offset for each in committed if each] == [0, 1, 2, 3, 4]
        assert consumer.position(A) == 5


def test_it_ends_when_nothing_has_come_for_so_long() -> None:
    """The time counts from the record before."""
    world = written(2)
    with reader(world) as consumer:
        world.at(world.clock.time + 1.5, lambda: world.control.append(A, b"late"))
        began = world.clock.time
        assert [each.offset for each in consumer.records(idle_timeout=2.0)] == [0, 1, 2]
        assert world.clock.time - began == pytest.approx(3.5, abs=0.1)


def test_it_waits_until_a_record_comes() -> None:
    """However long; and a wake-up ends it."""
    world = written(0)
    with reader(world) as consumer:
        began = world.clock.time
        world.at(began + 320.0, lambda: world.control.append(A, b"late"))
        assert next(iter(consumer)).value == b"late"
        world.at(world.clock.time + 50.0, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            next(iter(consumer))


def test_another_iteration_goes_on_where_one_was_left() -> None:
    """So does a poll: nothing comes twice, nothing is left out."""
    world = written(9)
    with reader(world, max_poll_records=4) as consumer:
        for record in consumer:
            if record.offset == 2:
                break
        assert consumer.position(A) == 2
        assert next(iter(consumer)).offset == 3
        assert offsets(consumer.poll(1.0)) == {A: [4, 5, 6, 7]}
        assert drained(consumer) == {A: [8]}


def test_polls_between_two_records() -> None:
    """The iteration goes on behind them."""
    world = written(9)
    with reader(world, max_poll_records=3) as consumer:
        records = iter(consumer)
        assert next(records).offset == 0
        assert offsets(consumer.poll(1.0)) == {A: [1, 2, 3]}
        assert next(records).offset == 4


@pytest.mark.parametrize("what", ["seek", "pause", "assign"])
def test_what_changes_between_two_records(what: str) -> None:
    """B80, B98, B99: it holds for the next record."""
    world = written(6, 6)
    with reader(world, A) as consumer:
        records = consumer.records(idle_timeout=1.0)
        assert [next(records).offset for _ in range(2)] == [0, 1]
        if what == "seek":
            consumer.seek(A, 5)
            assert [each.offset for each in records] == [5]
        elif what == "pause":
            consumer.pause(A)
            assert not list(records)
            consumer.resume(A)
            assert next(iter(consumer)).offset == 2
        else:
            consumer.assign(B)
            assert [(each.partition, each.offset) for each in records][:2] == [(1, 0), (1, 1)]


def test_errors_come_in_their_place() -> None:
    """B102: after the records before them; the position stays at the record."""
    world = written(2)
    world.control.append(A, b"x")
    with reader(world, value_deserializer=int) as consumer:
        got = []
        with pytest.raises(errors.RecordDeserializationException):
            got += [each.value for each in consumer]
        records = consumer.records()
        with pytest.raises(errors.RecordDeserializationException):
            next(records)
        assert consumer.position(A) == 2


def test_what_is_committed_by_itself() -> None:
    """B52, CONTRACT 6.6: only records after which another was asked for."""
    world = written(4)
    with reader(world, enable_auto_commit=True, auto_commit_interval_ms=1000) as consumer:
        for record in consumer:
            world.clock.sleep(2.0)
            if record.offset == 2:
                break
        assert consumer.committed(A) == {A: OffsetAndMetadata(2, "", 0)}


def test_what_was_handed_out_survives_a_new_leader() -> None:
    """B34: the position that a leader has to confirm lies behind what counts already.

    The network thread puts it there by itself, between two records.
    """
    world = written(6)
    with reader(world, A) as consumer:
        records = iter(consumer)
        assert [next(records).offset for _ in range(4)] == [0, 1, 2, 3]
        state = consumer._committable.assigned.rows[A]
        state.need_validation()
        assert state.position is not None
        assert state.position.offset == 4
        state.validated(None)
        assert next(records).offset == 4
        consumer.seek(A, 1)
        assert consumer.position(A) == 1
        assert [next(records).offset for _ in range(2)] == [1, 2]


def test_a_leader_that_moves_between_two_records() -> None:
    """B91, B106: the record in hand does not come again, and no commit covers it."""
    world = written(6, nodes=3)
    with reader(world) as consumer:
        records = consumer.records(idle_timeout=2.0)
        got = []
        for record in records:
            got.append(record.offset)
            world.control.move_leader(A)
            world.control.disconnect()
            world.clock.sleep(1.0)
            consumer.commit_sync()
            assert world.control.committed("g")[A].offset == record.offset
        assert got == [0, 1, 2, 3, 4, 5]


def test_a_poll_after_a_leader_has_moved() -> None:
    """B91: it goes on behind the record that an iteration has handed out last."""
    world = written(6, nodes=3)
    with reader(world) as consumer:
        for record in consumer:
            if record.offset == 2:
                break
        world.control.move_leader(A)
        world.control.disconnect()
        world.clock.sleep(1.0)
        assert drained(consumer) == {A: [3, 4, 5]}


def test_what_is_in_hand_when_one_seeks() -> None:
    """B80: after a seek a commit goes as far as that, regardless of records in hand."""
    world = written(6)
    with reader(world) as consumer:
        assert [next(iter(consumer)).offset for _ in range(2)] == [0, 1]
        consumer.seek(A, 4)
        consumer.commit_sync()
        assert world.control.committed("g")[A].offset == 4
