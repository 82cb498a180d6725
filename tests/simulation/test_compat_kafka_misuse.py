"""kafka-python's face in virtual time: wrong arguments, and what would otherwise be silent."""

import json
import re
from typing import Any

import pytest

from prokurist.compat.kafka import OffsetAndMetadata, TopicPartition, errors
from prokurist.compat.kafka.settings import consumer_settings
from tests.simulation.joining import grouped
from tests.simulation.producing import log_of, values_of
from tests.simulation.reading import A, B, written
from tests.simulation.returning import committed
from tests.simulation.test_compat_kafka import assigned, consumer_in, producer_in
from tests.simulation.world import World


def read_in_a_block(world: World, error: Exception | None) -> None:
    """Read all in a `with` block, which may end with an error."""
    with assigned(world, enable_auto_commit=True) as consumer:
        while consumer.position(A) < 2:
            consumer.poll(1000)
        if error is not None:
            raise error


def test_a_block_that_an_error_leaves_commits_nothing() -> None:
    """B382: what was returned in it was not worked on."""
    world = written(2)
    with pytest.raises(KeyError, match="work"):
        read_in_a_block(world, KeyError("work"))
    assert committed(world) is None
    read_in_a_block(world, None)
    assert committed(world) == 2


@pytest.mark.parametrize(
    "pattern",
    [
        "^ord",
        re.compile("^ord"),
        re.compile("ORD", re.IGNORECASE),
        "(?i)ORD",
        "no|ord",
        re.compile("ord  # the shop's", re.VERBOSE),
    ],
    ids=repr,
)
def test_a_pattern_of_any_form_is_read(pattern: Any) -> None:
    """B383: also a compiled one, which was looked for by its repr."""
    world = grouped(partitions=2, records=1)
    with consumer_in(world, group_id="g", consumer_timeout_ms=10000) as consumer:
        consumer.subscribe(pattern=pattern)
        assert sorted(each.partition for each in consumer) == [0, 1]


def test_what_cannot_be_subscribed_to_is_refused() -> None:
    """B383: nothing, and topics beside a pattern."""
    with consumer_in(grouped(), group_id="g") as consumer:
        empty: tuple[Any, ...] = ((), [], None)
        for nothing in empty:
            with pytest.raises(ValueError, match="unsubscribe"):
                consumer.subscribe(nothing)
        with pytest.raises(errors.IllegalStateError, match="not to both"):
            consumer.subscribe(["orders"], pattern="^ord")
        with pytest.raises(re.error, match="unterminated character set"):
            consumer.subscribe(pattern="[")
        assert consumer.subscription() is None


def test_wrong_arguments_of_a_consumer_end_as_there() -> None:
    """B383: seeks of what is not assigned, polls, and commits."""
    other = TopicPartition("orders", 2)
    with consumer_in(written(1), group_id="g") as consumer:
        for seek in (consumer.seek_to_beginning, consumer.seek_to_end):
            with pytest.raises(ValueError, match="nothing is assigned yet"):
                seek()
            with pytest.raises(ValueError, match="orders-2 is not assigned"):
                seek(other)
        with pytest.raises(ValueError, match="orders-2 is not assigned"):
            consumer.seek(other, 1)
        consumer.assign([A])
        with pytest.raises(ValueError, match="timeout_ms"):
            consumer.poll(-1)
        with pytest.raises(ValueError, match="max_records"):
            consumer.poll(0, max_records=0)
        with pytest.raises(TypeError, match="max_records"):
            consumer.poll(0, max_records="3")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="OffsetAndMetadata"):
            consumer.commit({A: 3})  # type: ignore[dict-item]
        with pytest.raises(TypeError, match="TopicPartition"):
            consumer.committed([A])  # type: ignore[arg-type]


def test_a_consumer_without_a_group_commits_nothing() -> None:
    """B383: automatic commits have no effect, commits are refused."""
    with consumer_in(written(1), enable_auto_commit=True) as consumer:
        consumer.assign([A])
        assert len(consumer.poll(1000)[A]) == 1
        for call in (consumer.commit, consumer.commit_async, lambda: consumer.committed(A)):
            with pytest.raises(errors.IllegalStateError, match="group_id"):
                call()


def test_an_iteration_ends_with_the_consumer() -> None:
    """B383: one that the loop closes ends the loop."""
    consumer = assigned(written(3))
    offsets = []
    for record in consumer:
        offsets.append(record.offset)
        consumer.close()
    assert offsets == [0]
    assert list(consumer) == []


def test_a_look_for_a_topic_creates_none() -> None:
    """B384: `partitions_for_topic`, though `allow_auto_create_topics` is true."""
    world = written(1, 1)
    with consumer_in(world) as consumer:
        assert consumer.partitions_for_topic("missing") == set()
        assert consumer.partitions_for_topic("missing") == set()
        assert consumer.topics() == {"orders"}
        assert consumer.partitions_for_topic("orders") >= {0, 1}


def test_automatic_commits_are_told() -> None:
    """B384: to `default_offset_commit_callback`, with kafka-python's offsets."""
    told: list[tuple[Any, Any]] = []
    world = written(2)
    with assigned(
        world,
        enable_auto_commit=True,
        auto_commit_interval_ms=1000,
        default_offset_commit_callback=lambda *given: told.append(given),
    ) as consumer:
        while not told:
            consumer.poll(500)
    (offsets, error), *_ = told
    assert isinstance(offsets[A], OffsetAndMetadata)
    assert error is None
    rest, _ = consumer_settings({"default_offset_commit_callback": told.append})
    assert "_Committed(" in repr(rest["on_committed"])


def test_a_serializer_is_asked_for_none() -> None:
    """B385: so JSON's null is no tombstone, and None that it returns is one."""
    world = World(topics={"orders": 1})
    producer = producer_in(
        world,
        key_serializer=lambda key: None if key is None else str(key).encode(),
        value_serializer=lambda value: json.dumps(value).encode(),
    )
    producer.send("orders", None, key=5)
    producer.send("orders", {"a": 1})
    producer.close()
    assert values_of(world, A) == [b"null", b'{"a": 1}']
    assert [each.key for each in log_of(world, A)] == [b"5", None]


def test_a_record_that_cannot_be_sent_is_refused_by_send() -> None:
    """B385: one of nothing, and one that is too large."""
    producer = producer_in(World(topics={"orders": 1}), max_request_size=5000)
    with pytest.raises(ValueError, match="a value, or a key"):
        producer.send("orders")
    with pytest.raises(errors.MessageSizeTooLargeError, match=r"max\.request\.size"):
        producer.send("orders", b"x" * 9000)
    producer.close()


def test_two_partitions_are_told_apart() -> None:
    """B383: of several partitions the one that is not assigned is named."""
    with assigned(written(1, 1), A, B) as consumer:
        consumer.seek_to_end(A, B)
        with pytest.raises(ValueError, match="orders-7"):
            consumer.seek_to_end(A, TopicPartition("orders", 7))


def test_a_commit_callback_that_cannot_be_called_is_refused() -> None:
    """B408: at the call, where the commit's answer had raised it from a later one."""
    world = written(2)
    with assigned(world) as consumer:
        consumer.poll(1000)
        with pytest.raises(TypeError, match="callable, not 5"):
            consumer.commit_async(callback=5)  # type: ignore[arg-type]
        assert committed(world) is None


@pytest.mark.parametrize(
    ("time", "error"),
    [(-1, ValueError), (-2, ValueError), (-0.5, ValueError), ("latest", TypeError)],
)
def test_a_time_that_is_none_is_refused(time: Any, error: type[Exception]) -> None:
    """B408: at the call, as there; beginning and end have calls of their own."""
    with assigned(written(2)) as consumer, pytest.raises(error):
        consumer.offsets_for_times({A: time})


def test_a_time_may_have_a_fraction() -> None:
    """B408: which is cut off, as there."""
    with assigned(written(2)) as consumer:
        whole, cut = (consumer.offsets_for_times({A: time}) for time in (0, 0.9))
        assert whole == cut
        assert whole[A] is not None
