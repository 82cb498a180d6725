"""confluent-kafka's face in virtual time: what a wrong argument, or a late one, ends with."""

from typing import Any

import pytest

from prokurist.compat.confluent_kafka import TopicPartition
from tests.simulation.reading import written
from tests.simulation.test_compat_confluent_kafka import assigned, consumer_in

ELSEWHERE = TopicPartition("orders", 44)


@pytest.mark.parametrize("number", [-1, 1_000_001])
def test_consume_is_for_a_million_at_most(number: int) -> None:
    """B380: a negative number would read nothing for ever."""
    with assigned(written(1)) as consumer:
        with pytest.raises(ValueError, match="between 0 and 1000000"):
            consumer.consume(number, 1.0)
        assert len(consumer.consume(1_000_000, 1.0)) == 1


@pytest.mark.parametrize("name", ["on_assign", "on_revoke", "on_lost"])
def test_a_callback_that_cannot_be_called_is_refused(name: str) -> None:
    """By `subscribe`, and not in a rebalance later."""
    wrong: Any = {name: 1}
    consumer = consumer_in(written(0), group_id="billing")
    with consumer, pytest.raises(TypeError, match=f"{name} is a function, not 1"):
        consumer.subscribe(["orders"], **wrong)


def test_a_topic_that_is_no_name_is_refused() -> None:
    """By a TypeError that names it."""
    topics: Any = ["orders", 1]
    consumer = consumer_in(written(0), group_id="billing")
    with consumer, pytest.raises(TypeError, match="a topic is a str, not 1"):
        consumer.subscribe(topics)


def test_pause_and_resume_pass_over_what_is_not_assigned() -> None:
    """B380: a rebalance may have taken what was paused."""
    here = TopicPartition("orders", 0)
    with assigned(written(2)) as consumer:
        consumer.pause([ELSEWHERE, here])
        assert consumer.poll(1.0) is None
        consumer.resume([ELSEWHERE, here])
        assert consumer.poll(1.0) is not None


def test_a_closed_consumer_has_no_positions() -> None:
    """As there."""
    consumer = assigned(written(1))
    consumer.close()
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.position([TopicPartition("orders", 0)])


def test_what_a_rebalance_has_taken_is_not_stored() -> None:
    """B398: and what is stored beside it is."""
    here, gone = TopicPartition("orders", 0, 1), TopicPartition("orders", 44, 1)
    with assigned(written(2), enable_auto_offset_store=False) as consumer:
        consumer.store_offsets(offsets=[gone, here])
        done = consumer.commit(asynchronous=False)
        assert done is not None
        assert [(each.partition, each.offset) for each in done] == [(0, 1)]
