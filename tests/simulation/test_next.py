"""One record at a time: `next`, and whether reading has caught up."""

from typing import Any

import pytest

from prokurist import errors
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.joining import Notes, grouped
from tests.simulation.reading import A, B, drained, offsets, reader, written
from tests.simulation.returning import committed, offsets_of

PROTOCOLS = ("consumer", "classic")


def test_one_by_one_until_the_time_is_over() -> None:
    """B293: each as soon as there is one, None at the deadline, and on from there."""
    world = written(3)
    with reader(world) as consumer:
        got = [consumer.next(1.0) for _ in range(3)]
        assert [each.offset for each in got if each] == [0, 1, 2]
        began = world.clock.time
        assert consumer.next(2.0) is None
        assert world.clock.time - began == pytest.approx(2.0)
        assert consumer.next(0) is None
        began = world.clock.time
        world.at(began + 1.0, lambda: world.control.append(A, b"late"))
        late = consumer.next(5.0)
        assert late is not None
        assert late.value == b"late"
        assert world.clock.time - began == pytest.approx(1.0, abs=0.1)


def test_arguments_and_what_cannot_be_read() -> None:
    """B293: as poll has it."""
    world = written(1)
    with world.consumer() as consumer:
        with pytest.raises(errors.IllegalStateException, match="nothing to read"):
            consumer.next(1.0)
        for wrong in (-1, float("nan")):
            with pytest.raises(ValueError, match="timeout"):
                consumer.next(wrong)
        with pytest.raises(TypeError):
            consumer.next("1")  # type: ignore[arg-type]
    with pytest.raises(errors.IllegalStateException, match=r"^next of a client that is closed"):
        consumer.next(1.0)


def test_a_record_counts_when_the_next_one_is_asked_for() -> None:
    """B294: a commit between two covers what is done, by `next` and iterations in turn."""
    world = written(6)
    with reader(world) as consumer:
        for offset in range(6):
            record = consumer.next(1.0) if offset % 2 else next(iter(consumer))
            assert record is not None
            assert record.offset == consumer.position(A) == offset
            consumer.commit_sync()
            assert committed(world) == offset
        assert consumer.next(1.0) is None
        consumer.commit_sync()
        assert committed(world) == 6


def test_automatic_commits_between_quick_steps() -> None:
    """B294: in their interval, though no poll comes; of what is done."""
    world = written(12)
    with reader(world, enable_auto_commit=True, auto_commit_interval_ms=1000) as consumer:
        for offset in range(12):
            record = consumer.next(5.0)
            assert record is not None
            assert record.offset == offset
            world.clock.sleep(0.3)
        assert 2 <= len(offsets_of(world)) <= 4
        assert all(at in {3, 4, 5, 7, 8, 9, 10, 11, 12} for at in offsets_of(world))
        assert offsets_of(world) == sorted(offsets_of(world))
        assert (committed(world) or 0) < 12  # The last one is in hand yet.
    assert committed(world) == 12


def test_a_wake_up_between_quick_steps() -> None:
    """B295: the next one raises it, once, and no record is lost."""
    world = written(6)
    with reader(world) as consumer:
        assert [consumer.next(1.0).offset for _ in range(2)] == [0, 1]  # type: ignore[union-attr]
        consumer.wakeup()
        with pytest.raises(errors.WakeupException):
            consumer.next(1.0)
        assert consumer.position(A) == 2
        assert drained(consumer) == {A: [2, 3, 4, 5]}


def test_calls_between_quick_steps() -> None:
    """B295: a seek, a pause, a poll hold for the next one."""
    world = written(9)
    with reader(world, max_poll_records=8) as consumer:
        assert [consumer.next(1.0).offset for _ in range(3)] == [0, 1, 2]  # type: ignore[union-attr]
        consumer.seek(A, 1)
        assert [consumer.next(1.0).offset for _ in range(2)] == [1, 2]  # type: ignore[union-attr]
        consumer.pause(A)
        assert consumer.next(1.0) is None
        consumer.resume(A)
        assert consumer.next(1.0).offset == 3  # type: ignore[union-attr]
        assert offsets(consumer.poll(1.0)) == {A: [4, 5, 6, 7, 8]}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_record_of_a_partition_that_goes(protocol: str) -> None:
    """B296: from the decision on, be it between two quick steps."""
    world = grouped(partitions=2, records=200)
    notes = Notes()
    keys: dict[str, Any] = {
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": True,
    }
    with world.consumer(**keys) as first, world.consumer(**keys) as second:
        first.subscribe("orders", notes)
        got: list[tuple[int, int]] = []
        for _ in range(20):
            record = first.next(5.0)
            assert record is not None
            got.append((record.partition, record.offset))
        second.subscribe("orders")
        for _ in range(150):
            second.poll(0)
            record = first.next(0.1)
            world.clock.sleep(0.1)
            if record is not None:
                assert TopicPartition(record.topic, record.partition) in first.assignment()
                got.append((record.partition, record.offset))
        assert len(first.assignment()) == len(second.assignment()) == 1
        (mine,) = first.assignment()
        own = [offset for partition, offset in got if partition == mine.partition]
        assert sorted(set(own)) == list(range(max(own) + 1))


def test_a_leader_that_moves_between_quick_steps() -> None:
    """B296: what is lent is read again behind the record in hand."""
    world = written(6, nodes=3)
    with reader(world) as consumer:
        got = []
        while (record := consumer.next(2.0)) is not None:
            got.append(record.offset)
            world.control.move_leader(A)
            world.control.disconnect()
            world.clock.sleep(1.0)
        assert got == [0, 1, 2, 3, 4, 5]


def test_caught_up() -> None:
    """B297: when all that leaders told of was returned; it sends no request."""
    world = written(6, 2)
    with reader(world, A, B, max_poll_records=3) as consumer:
        assert not consumer.at_end()
        polls = 0
        while not consumer.at_end():
            assert consumer.poll(1.0)
            polls += 1
        assert polls == 3
        assert consumer.at_end(A)
        world.control.append(A, b"more")
        consumer.poll(0.0)
        world.clock.sleep(1.0)
        assert not consumer.at_end()
        assert consumer.at_end(B)
        assert len(consumer.poll(1.0)) == 1
        assert consumer.at_end([A, B])
        consumer.seek_to_beginning(B)
        assert not consumer.at_end(B)
        with pytest.raises(errors.IllegalStateException, match="at_end of other-0"):
            consumer.at_end(TopicPartition("other", 0))
        consumer.assign(())
        assert not consumer.at_end()


def test_caught_up_of_an_empty_log_and_by_next() -> None:
    """B297: known with the first answer, and with the last record in hand."""
    world = written(0, 2)
    with reader(world, A) as consumer:
        assert consumer.next(1.0) is None
        assert consumer.at_end()
        consumer.assign(B)
        assert consumer.next(1.0) is not None
        assert not consumer.at_end()
        assert consumer.next(1.0) is not None
        assert consumer.at_end()
        consumer.commit_sync()
        assert consumer.committed(B) == {B: OffsetAndMetadata(1, "", 0)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_functions_hear_what_comes_and_goes(protocol: str) -> None:
    """B298: in the places of a listener's methods; a seek in `on_assigned` wins."""
    world = grouped(partitions=1, records=6)
    heard: list[str] = []
    consumer = world.consumer(group_protocol=protocol, auto_offset_reset="earliest")

    def assigned(partitions: frozenset[TopicPartition]) -> None:
        heard.append("assigned")
        for tp in partitions:
            consumer.seek(tp, 4)

    with consumer:
        consumer.subscribe(
            "orders", on_assigned=assigned, on_revoked=lambda _: heard.append("revoked")
        )
        record = consumer.next(10.0)
        assert record is not None
        assert record.offset == 4
    assert heard == ["assigned", "revoked"]


def test_a_deserializer_that_asks_for_the_topic_and_the_headers() -> None:
    """B299: as one of a schema registry does."""
    world = written(1)
    asked: list[object] = []

    def made(topic: str, headers: object, data: bytes) -> int:
        asked.append((topic, headers))
        return int(data)

    with reader(world, value_deserializer=made) as consumer:
        assert [each.value for each in consumer.poll(1.0)] == [0]
    assert asked == [("orders", [])]
