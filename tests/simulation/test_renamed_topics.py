"""Brokers that give a topic's id another name for a while."""

from typing import Any

import pytest

from prokurist import TopicPartition
from prokurist.testing.cluster.handlers import metadata
from tests.simulation.joining import Notes, grouped, member, settle
from tests.simulation.reading import drained

A = TopicPartition("orders", 0)


def renamed(patch: pytest.MonkeyPatch, former: str, name: str) -> None:
    """Have every broker answer Metadata with another name for a topic, under the same id."""
    describe = metadata.described

    def wrong(state: Any, topic: Any, context: Any) -> Any:
        told = describe(state, topic, context)
        return {**told, "name": name} if told.get("name") == former else told

    patch.setattr(metadata, "described", wrong)


@pytest.mark.parametrize("heard", [False, True])
def test_a_topic_that_is_given_another_name_is_read_on(
    monkeypatch: pytest.MonkeyPatch, *, heard: bool
) -> None:
    """B475: by brokers that give its id that name for a while; the loop turns on."""
    world = grouped(records=1)
    notes = Notes() if heard else None
    with member(world, listener=notes, metadata_max_age_ms=500) as consumer:
        assert len(drained(consumer)) == 4
        with monkeypatch.context() as patch:
            renamed(patch, "orders", "payments")
            settle(consumer, seconds=10.0)
        settle(consumer, seconds=5.0)
        assert {each.topic for each in consumer.assignment()} == {"orders"}
        world.control.append(A, b"x")
        assert drained(consumer, 3.0) == {A: [1]}


def test_a_topic_whose_first_name_was_wrong_is_read_under_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B475: what is held under the wrong one is given back."""
    world = grouped(records=1)
    notes = Notes()
    with monkeypatch.context() as patch:
        renamed(patch, "orders", "payments")
        consumer = member(world, listener=notes, metadata_max_age_ms=500)
        settle(consumer, seconds=10.0)
        assert {each.topic for each in consumer.assignment()} == {"payments"}
    with consumer:
        settle(consumer, seconds=5.0)
        assert {each.topic for each in consumer.assignment()} == {"orders"}
        assert [what for what, _ in notes.heard] == ["assigned", "revoked", "assigned"]
        world.control.append(A, b"x")
        assert drained(consumer, 3.0)[A][-1] == 1
