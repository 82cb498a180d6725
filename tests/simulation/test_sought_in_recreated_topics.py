"""Places that were sought around the moment in which a topic is deleted and created again."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from prokurist import OffsetAndMetadata, TopicPartition
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
    write,
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


@pytest.mark.parametrize("place", ["committed", "latest"])
def test_a_place_while_a_broker_that_lags_names_the_former_one(place: str) -> None:
    """B91, B196: what leaders of the former one say says nothing about the topic by its id."""
    world = old(nodes=2)
    if place == "committed":
        with world.consumer() as another:
            another.commit_sync({A: OffsetAndMetadata(10, "", 0)})
    policy = "latest" if place == "latest" else "none"
    with reader(world, "consumer", auto_offset_reset=policy) as consumer:
        metadata = world.members[-1].side.metadata
        take, lags = metadata._take, True

        def lagging(answer: Any) -> None:
            topics = tuple(replace(each, topic_id=UUID(int=7)) for each in answer.topics)
            take(replace(answer, topics=topics) if lags else answer)

        metadata._take = lagging  # type: ignore[method-assign]
        metadata.request_update()
        assert read(consumer, 8.0) == []
        assert len(world.cluster.journal.entries("Metadata")) <= 30
        # What has been asked so far knew the log as the former one: it was shorter.
        write(world, 4)
        lags = False
        assert read(consumer) == ([10, 11] if place == "committed" else [])
        write(world, 1)
        assert read(consumer) == [12]
