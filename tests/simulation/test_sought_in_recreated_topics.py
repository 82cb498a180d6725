"""Places that were sought around the moment in which a topic is deleted and created again."""

import pytest

from prokurist import TopicPartition
from tests.simulation.test_recreated_topics import (
    AT_THE_END,
    COMMITS,
    NEW,
    OLD,
    A,
    old,
    read,
    reader,
    recreate,
)


def test_a_place_that_was_sought_while_the_metadata_said_nothing_new() -> None:
    """B196: it is of the topic that it was fetched of."""
    world = old(other=1)
    with reader(world, "by hand", **COMMITS) as consumer:
        consumer.assign([A, TopicPartition("other", 0)])
        assert read(consumer) == OLD
        consumer.assign(TopicPartition("other", 0))
        consumer.assign([A, TopicPartition("other", 0)])
        consumer.seek(A, 5)
        assert read(consumer) == OLD[5:]
        recreate(world)
        assert read(consumer) == NEW


def test_a_place_that_was_sought_of_the_old_one() -> None:
    """B196: it is none of the new one's, where a leader has answered for it."""
    world = old()
    with reader(world, "by hand", metadata_max_age_ms=1000, **COMMITS) as consumer:
        assert read(consumer) == OLD
        consumer.seek(A, len(OLD))
        assert read(consumer) == []
        recreate(world)
        assert read(consumer) == NEW


def test_a_place_that_was_sought_and_not_read(caplog: pytest.LogCaptureFixture) -> None:
    """B196: it stays, and the log says so; of which of both it was meant is not known."""
    world = old()
    with reader(world, "by hand", metadata_max_age_ms=1000, **COMMITS) as consumer:
        assert read(consumer) == OLD
        consumer.pause(A)
        consumer.seek(A, 5)
        recreate(world)
        assert read(consumer) == []
        assert consumer.position(A) == 5
        consumer.resume(A)
        assert read(consumer) == NEW[5:]
    [line] = [each.message for each in caplog.records if "created again" in each.message]
    assert line.endswith(
        "orders; places that were not read from yet are set again for orders-0"
    )


def test_a_seek_to_the_beginning_before_metadata_tell_of_the_new_one() -> None:
    """B196: the leader is asked by the name, and it has told of the new one already."""
    world = old()
    with reader(world, "by hand", auto_offset_reset="latest", **AT_THE_END) as consumer:
        consumer.seek_to_beginning()
        assert read(consumer) == OLD
        consumer.pause(A)
        read(consumer)
        recreate(world)
        consumer.seek_to_beginning()
        consumer.resume(A)
        assert read(consumer) == NEW
