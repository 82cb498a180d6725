"""`read_range` in virtual time: its ends, its deadlines, and what it leaves alone."""

from typing import Any

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata
from tests.simulation.reading import A, B, drained, fetches, holding, offsets, written
from tests.simulation.world import World


def ranger(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer to which nothing is assigned."""
    keys.setdefault("auto_offset_reset", "earliest")
    return world.consumer(None, enable_auto_commit=False, **keys)


def read(consumer: KafkaConsumer, start: int, end: int, **keys: Any) -> list[int]:
    """The offsets of a range, in the order they came."""
    return [
        record.offset
        for records in consumer.read_range(A, start, end, **keys)
        for record in records
    ]


@pytest.mark.parametrize(("start", "end"), [(0, 20), (0, 1), (19, 20), (3, 17), (7, 7)])
def test_a_range_is_what_lies_between_its_ends(start: int, end: int) -> None:
    """From the first offset to before the second, whatever else there is."""
    with ranger(written(20)) as consumer:
        assert read(consumer, start, end) == list(range(start, end))
        assert consumer.assignment() == frozenset()


def test_a_range_that_ends_inside_a_batch_is_cut_there() -> None:
    """Both ends may lie in the middle of a batch, of the same one too."""
    world = World()
    world.control.append(A, *(b"%d" % nth for nth in range(10)))
    world.control.append(A, *(b"%d" % nth for nth in range(10)))
    with ranger(world) as consumer:
        assert read(consumer, 3, 17) == list(range(3, 17))
        assert read(consumer, 4, 6) == [4, 5]


def test_a_step_is_what_a_fetch_has_brought() -> None:
    """However many records `max.poll.records` says, and as columns too."""
    with ranger(written(20), max_poll_records=3) as consumer:
        (records,) = consumer.read_range(A, 0, 20)
        assert offsets(records) == {A: list(range(20))}
        (column,) = {columns.topic for columns in records.columns()}
        assert column == "orders"


def test_nothing_is_fetched_beyond_the_end() -> None:
    """Once the end is in hand, and not before it has been asked for."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 10)
        world.clock.sleep(1.0)
        assert not fetches(world)
        assert sum(map(len, steps)) == 10
        world.clock.sleep(1.0)
        assert max(asked[0] for _, asked in fetches(world)) < 10
        assert holding(world) == 0
