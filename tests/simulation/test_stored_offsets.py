"""Offsets that are stored: what commits commit with `enable.auto.offset.store=false`."""

from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.errors import IllegalStateException
from tests.simulation.joining import Notes, grouped
from tests.simulation.reading import A, B, written
from tests.simulation.returning import committed, offsets_of
from tests.simulation.world import World

PROTOCOLS = ("consumer", "classic")
INTERVAL = 5.0


def storing(world: World, *partitions: TopicPartition, **keys: Any) -> KafkaConsumer:
    """A consumer that commits what is stored, every five seconds."""
    keys.setdefault("enable_auto_commit", True)
    keys.setdefault("auto_commit_interval_ms", int(INTERVAL * 1000))
    keys.setdefault("auto_offset_reset", "earliest")
    consumer = world.consumer(enable_auto_offset_store=False, **keys)
    if partitions:
        consumer.assign(partitions)
    return consumer


def member(world: World, protocol: str, listener: object = None, **keys: Any) -> KafkaConsumer:
    """The same in a group."""
    consumer = storing(world, group_protocol=protocol, **keys)
    consumer.subscribe("orders", listener)  # type: ignore[arg-type]
    return consumer


def test_an_automatic_commit_commits_what_is_stored_alone() -> None:
    """B281: nothing before something is stored; then that, however much was returned."""
    world = written(10)
    with storing(world, A) as consumer:
        records = list(consumer.poll(1.0))
        assert len(records) == 10
        consumer.poll(3 * INTERVAL)
        assert offsets_of(world, A) == []
        consumer.store_offsets(records[3])
        consumer.poll(INTERVAL)
        assert offsets_of(world, A) == [4]
        consumer.store_offsets({A: 6})
        consumer.store_offsets({A: OffsetAndMetadata(7, "so far")})
        consumer.poll(INTERVAL)
        assert offsets_of(world, A) == [4, 7]
        assert consumer.committed(A) == {A: OffsetAndMetadata(7, "so far")}


def test_records_of_a_poll_are_stored_as_they_come() -> None:
    """B281: all of them, several in any order, or one; one past the last of each partition."""
    world = written(4, 4)
    with storing(world, A, B) as consumer:
        records = consumer.poll(1.0)
        in_any_order = sorted(records, key=lambda each: -each.offset)
        consumer.store_offsets(in_any_order[2:])
        consumer.commit_sync()
        assert (committed(world, A), committed(world, B)) == (3, 3)
        consumer.store_offsets(records)
        consumer.commit_sync()
        assert (committed(world, A), committed(world, B)) == (4, 4)


def test_close_commits_what_is_stored() -> None:
    """B282: at the end of a block, and also where an error ends it: it was said to be done."""
    for error in (None, ValueError("work has failed")):
        world = written(10)
        consumer = storing(world, A)
        try:
            with consumer:
                records = list(consumer.poll(1.0))
                consumer.store_offsets(records[3])
                if error is not None:
                    raise error
        except ValueError:
            pass
        assert offsets_of(world, A) == [4]


def test_a_commit_without_offsets_commits_what_is_stored() -> None:
    """B283: with automatic commits and without; of nothing stored it is no request."""
    world = written(10)
    with storing(world, A, enable_auto_commit=False) as consumer:
        records = list(consumer.poll(1.0))
        consumer.commit_sync()
        assert offsets_of(world, A) == []
        consumer.store_offsets(records[1])
        consumer.commit_sync()
        told: list[Any] = []
        consumer.store_offsets(records[2])
        consumer.commit_async(callback=lambda *each: told.append(each))
        consumer.commit_sync({})
        assert offsets_of(world, A) == [2, 3]
        assert told == [({A: OffsetAndMetadata(3, "", 0)}, None)]
        consumer.store_offsets(records[8])
    assert committed(world, A) == 3


def test_what_was_stored_before_a_seek_is_not_committed() -> None:
    """B284: reading goes on elsewhere, and what is done there is another matter."""
    world = written(10)
    with storing(world, A) as consumer:
        consumer.store_offsets(list(consumer.poll(1.0)))
        consumer.seek(A, 2)
        consumer.poll(2 * INTERVAL)
        assert offsets_of(world, A) == []
        consumer.store_offsets({A: 5})
    assert offsets_of(world, A) == [5]


def test_storing_is_refused() -> None:
    """B285: of a partition that is not assigned, with nothing stored; where all is stored."""
    world = written(10)
    with storing(world, A) as consumer:
        with pytest.raises(IllegalStateException, match="store_offsets of orders-1"):
            consumer.store_offsets({A: 3, B: 3})
        for wrong in ("orders", 3, [3], {A: "3"}, {A: True}):
            with pytest.raises(TypeError):
                consumer.store_offsets(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="offset"):
            consumer.store_offsets({A: -1})
    assert offsets_of(world, A) == []
    with pytest.raises(IllegalStateException, match=r"^store_offsets of a client"):
        consumer.store_offsets({A: 3})
    with world.consumer() as consumer:
        consumer.assign(A)
        with pytest.raises(IllegalStateException, match=r"set enable.auto.offset.store=false"):
            consumer.store_offsets({A: 3})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_stored_is_committed_before_a_partition_goes(protocol: str) -> None:
    """B286: and nothing beyond it, for the next owner reads that again."""
    world = grouped(partitions=2, records=6)
    with member(world, protocol) as first:
        for record in first.poll(5.0):
            if record.offset == 3:
                first.store_offsets(record)
        with member(world, protocol) as second:
            got: list[tuple[int, int]] = []
            for _ in range(100):
                first.poll(0.1)
                got += [(each.partition, each.offset) for each in second.poll(0.1)]
            assert len(first.assignment()) == len(second.assignment()) == 1
            (tp,) = second.assignment()
            assert got == [(tp.partition, 4), (tp.partition, 5)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_a_listener_stores_is_committed_before_a_partition_goes(protocol: str) -> None:
    """B286: in on_partitions_revoked, of a rebalance, of unsubscribe and of close."""

    def store(partitions: frozenset[TopicPartition]) -> None:
        first.store_offsets(dict.fromkeys(partitions, 5))

    world = grouped(partitions=2, records=6)
    first = member(world, protocol, Notes(revoked=store))
    with first:
        first.poll(5.0)
        first.store_offsets({A: 2, B: 2})
        with member(world, protocol) as second:
            got: list[int] = []
            for _ in range(100):
                first.poll(0.1)
                got += [each.offset for each in second.poll(0.1)]
            assert got == [5]
            (kept,) = first.assignment()
            first.unsubscribe()
            assert offsets_of(world, kept)[-1] == 5
            world.clock.sleep(0.1)
            first.subscribe("orders", Notes(revoked=store))
            for _ in range(100):
                first.poll(0.1)
                second.poll(0.1)
            (owned,) = first.assignment()
            first.store_offsets({owned: 3})
            first.close()
            assert offsets_of(world, owned)[-2:] == [3, 5]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_is_committed_of_what_was_lost(protocol: str) -> None:
    """B287: what was stored of it went with it."""
    world = grouped(partitions=1, records=6)
    notes = Notes()
    with member(world, protocol, notes, max_poll_interval_ms=10_000) as consumer:
        consumer.store_offsets(consumer.poll(5.0))
        world.clock.sleep(30.0)
        consumer.poll(5.0)
        assert [what for what, _ in notes.heard] == ["assigned", "lost", "assigned"]
        consumer.poll(3 * INTERVAL)
    assert offsets_of(world, A) == []
