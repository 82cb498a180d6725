"""kafka-python's face in virtual time: what it converts, and how long it waits."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from prokurist import errors as our_errors
from prokurist.compat.kafka import (
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from prokurist.compat.kafka.settings import consumer_settings, producer_settings
from tests.simulation.interrupting import interrupted_at
from tests.simulation.joining import Notes, grouped
from tests.simulation.producing import log_of, values_of
from tests.simulation.reading import A, B, written
from tests.simulation.returning import committed
from tests.simulation.world import BUILT, World


def consumer_in(world: World, **given: Any) -> KafkaConsumer:
    """A face of a consumer in virtual time."""
    keys: dict[str, Any] = {
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        **given,
    }
    rest, found = consumer_settings(keys)
    del rest["bootstrap_servers"]
    idle = keys.get("consumer_timeout_ms")
    return KafkaConsumer.over(world.consumer(None, **rest), found, world.clock, idle)


def assigned(world: World, *partitions: TopicPartition, **keys: Any) -> KafkaConsumer:
    """One that reads partitions from the beginning."""
    consumer = consumer_in(world, group_id="g", **keys)
    consumer.assign(partitions or (A,))
    return consumer


def producer_in(world: World, **keys: Any) -> KafkaProducer:
    """A face of a producer in virtual time."""
    rest, found = producer_settings(keys)
    del rest["bootstrap_servers"]
    return KafkaProducer.over(world.producer(None, **rest), found)


def test_a_poll_is_records_by_partition() -> None:
    """B332: with milliseconds, as tuples."""
    world = written(2, 1)
    with assigned(world, A, B) as consumer:
        found = consumer.poll(timeout_ms=1000)
        while sum(map(len, found.values())) < 3:
            for tp, more in consumer.poll(1000).items():
                found.setdefault(tp, []).extend(more)
        assert [each.offset for each in found[A]] == [0, 1]
        assert found[B][0].value == b"0" * 10
        assert found[B][0]._fields[:2] == ("topic", "partition")
        assert found[A][0].serialized_value_size == 10
        assert consumer.poll(timeout_ms=0) == {}
        assert consumer.position(A) == 2
        assert (consumer.highwater(A), consumer.paused()) == (2, set())
        consumer.pause(A)
        assert consumer.paused() == {A}
        consumer.resume(A)
        consumer.seek_to_beginning()
        some = consumer.poll(1000, max_records=1)
        assert sum(map(len, some.values())) == 1


def test_a_poll_of_some_returns_what_is_before_an_error() -> None:
    """B451: the next one raises; what was not returned is not committed."""
    world = written(0)
    world.control.append(A, *(b"%d" % each for each in range(5)), b"bad", b"6")
    keys = {"enable_auto_commit": True, "value_deserializer": int}
    with assigned(world, **keys) as consumer:
        [found] = consumer.poll(1000, max_records=500).values()
        assert [each.value for each in found] == [0, 1, 2, 3, 4]
        with pytest.raises(ValueError, match="bad"):
            consumer.poll(1000, max_records=500)
    assert committed(world) == 5


def test_a_poll_of_some_commits_nothing_that_it_has_not_returned() -> None:
    """B451: however long its records take to be made; a close in order commits all."""
    world = written(9)

    def slow(given: bytes) -> bytes:
        world.clock.sleep(1.0)
        return given

    keys = {"enable_auto_commit": True, "auto_commit_interval_ms": 100}
    with assigned(world, value_deserializer=slow, **keys) as consumer:
        [found] = consumer.poll(1000, max_records=7).values()
        assert committed(world) is None
        assert len(found) == 7
    assert committed(world) == 7


def test_an_iteration_ends_by_its_time() -> None:
    """B332: `consumer_timeout_ms`; and `next` of the consumer is one step of it."""
    world = written(3)
    with assigned(world, consumer_timeout_ms=2000) as consumer:
        assert next(consumer).offset == 0
        began = world.clock.time
        assert [each.offset for each in consumer] == [1, 2]
        assert world.clock.time - began == pytest.approx(2.0, abs=0.1)


def test_waits_without_a_timeout_end() -> None:
    """B333: by `default_api_timeout_ms`."""
    world = written(1)
    with assigned(world, default_api_timeout_ms=3000) as consumer:
        for node in world.cluster.state.brokers:
            world.control.freeze(node)
        for call in (
            lambda: consumer.commit({A: OffsetAndMetadata(1)}),
            lambda: consumer.committed(A),
            lambda: consumer.end_offsets([A]),
            lambda: consumer.beginning_offsets([A]),
            lambda: consumer.offsets_for_times({A: 1}),
            consumer.topics,
            lambda: consumer.partitions_for_topic("orders"),
        ):
            began = world.clock.time
            with pytest.raises(errors.KafkaTimeoutError) as raised:
                call()
            assert isinstance(raised.value.__cause__, our_errors.TimeoutException)
            assert world.clock.time - began == pytest.approx(3.0)


def test_a_commit_covers_the_record_in_hand() -> None:
    """B334: in an iteration, and what a poll has returned."""
    world = written(4, 2)
    with assigned(world, A, B) as consumer:
        taken = [next(consumer) for _ in range(5)]
        consumer.commit()
        done = {tp: sum(each.partition == tp.partition for each in taken) for tp in (A, B)}
        assert {tp: committed(world, tp) or 0 for tp in (A, B)} == done
        assert consumer.position(TopicPartition("orders", taken[-1].partition)) > 0
        while consumer.poll(1000):
            pass
        future = consumer.commit_async()
        consumer.poll(1000)
        consumer.poll(0)  # Its callback runs in a call after the answer.
        assert future.succeeded()
        assert (consumer.committed(A), consumer.committed(B)) == (4, 2)
        consumer.commit({A: OffsetAndMetadata(2, "note", -1)})
        assert consumer.committed(A, metadata=True) == OffsetAndMetadata(2, "note", -1)
        assert consumer.committed(TopicPartition("orders", 2)) is None


def test_close_without_a_last_commit() -> None:
    """B334: `autocommit=False`."""
    for autocommit, expected in ((True, 2), (False, None)):
        world = written(2)
        consumer = assigned(world, enable_auto_commit=True)
        while consumer.position(A) < 2:
            consumer.poll(1000)
        consumer.close(autocommit=autocommit)
        assert committed(world) == expected


def test_topics_without_a_group() -> None:
    """B332: all partitions are read, those that come too, and a topic that comes later."""
    world = written(1, 1, 1)
    with consumer_in(world, metadata_max_age_ms=5000) as consumer:
        consumer.subscribe(["orders", "later"])
        assert consumer.subscription() == {"orders", "later"}
        assert {next(consumer).partition for _ in range(3)} == {0, 1, 2}
        world.at(world.clock.time + 3.0, lambda: world.control.create_topic("later", 2))
        world.at(
            world.clock.time + 4.0,
            lambda: world.control.append(TopicPartition("later", 1), b"v"),
        )
        assert next(consumer).value == b"v"
        assert len(consumer.assignment()) == 5
        with pytest.raises(NotImplementedError, match="group_id"):
            consumer.subscribe(pattern="^ord")
        consumer.unsubscribe()
        assert consumer.subscription() is None


def test_a_group_with_a_pattern_and_a_listener() -> None:
    """B332: the listener hears, and a commit in it is made."""
    world = grouped(partitions=2, records=1)
    notes = Notes()
    consumer = consumer_in(world, group_id="g", consumer_timeout_ms=10000)
    consumer.subscribe(pattern="^ord", listener=notes)
    assert sorted(each.partition for each in consumer) == [0, 1]
    assert consumer.subscription() == {"orders"}
    assert consumer.assignment() == {A, B}
    consumer.close()
    with pytest.raises(errors.IllegalStateError):
        consumer.poll(0)


def test_what_a_deserializer_raises_comes_out() -> None:
    """B335: itself, as kafka-python has it."""
    world = written(1)
    consumer = assigned(world, value_deserializer=lambda _: int("x"))
    with consumer, pytest.raises(ValueError, match="invalid literal"):
        consumer.poll(1000)


def test_an_error_of_the_brokers_is_its_class() -> None:
    """B335: with its number, and our exception as the cause."""
    world = written(1)
    with assigned(world) as consumer:
        world.control.deny(topic="orders")
        with pytest.raises(errors.TopicAuthorizationFailedError) as raised:
            consumer.committed(A)
    assert isinstance(raised.value, errors.AuthorizationError)
    assert raised.value.errno == 29
    assert isinstance(raised.value.__cause__, our_errors.TopicAuthorizationException)


def test_what_is_sent_is_told_by_a_future() -> None:
    """B332: `get`, callbacks, and the partitioner's arguments."""
    world = World(topics={"orders": 3})
    seen: list[Any] = []

    def partitioner(*given: Any) -> int:
        seen.append(given)
        return 2

    producer = producer_in(
        world,
        key_serializer=str.encode,
        partitioner=partitioner,
        acks=-1,
        retries=float("inf"),
    )
    future = producer.send("orders", b"v", "k", headers=[("a", b"b")], timestamp_ms=7)
    future.add_callback(seen.append).add_errback(seen.append)
    found = future.get(timeout=5)
    assert (found.topic, found.partition, found.offset, found.timestamp) == ("orders", 2, 0, 7)
    assert future.is_done
    assert future.succeeded()
    assert not future.retriable()
    assert future.value == found
    assert seen == [(b"k", [0, 1, 2], [0, 1, 2]), found]
    assert producer.partitions_for("orders") == {0, 1, 2}
    producer.close()
    two = TopicPartition("orders", 2)
    assert values_of(world, two) == [b"v"]
    assert list(log_of(world, two)[0].headers) == [("a", b"b")]
    with pytest.raises(errors.IllegalStateError):
        producer.send("orders", b"w")


def test_a_record_that_is_not_delivered_is_told_so() -> None:
    """B333, B335: `flush` and `get` end, the future has the error."""
    world = World(topics={"orders": 1})
    producer = producer_in(world, delivery_timeout_ms=4000, request_timeout_ms=2000)
    producer.send("orders", b"v").get()
    for node in world.cluster.state.brokers:
        world.control.freeze(node)
    began = world.clock.time
    future = producer.send("orders", b"w")
    failed: list[Exception] = []
    future.add_errback(failed.append)
    with pytest.raises(errors.KafkaTimeoutError):
        producer.flush(timeout=1)
    assert not future.is_done
    with pytest.raises(errors.KafkaTimeoutError):
        future.get()
    assert world.clock.time - began <= 5.1
    assert future.failed()
    assert future.retriable()
    assert isinstance(failed[0], errors.KafkaTimeoutError)
    assert isinstance(future.exception, errors.KafkaTimeoutError)
    producer.close(0)


def take_polls(consumer: KafkaConsumer, got: list[Any]) -> None:
    """Read by polls."""
    for _ in range(3):
        got.append(consumer.poll(500))  # noqa: PERF401 - each is got by itself


def take_steps(consumer: KafkaConsumer, got: list[Any]) -> None:
    """Read by an iteration."""
    for _ in range(3):
        got.append(next(consumer, None))  # noqa: PERF401 - each is got by itself


@pytest.mark.parametrize("take", [take_polls, take_steps])
def test_an_interrupt_takes_no_records(
    take: Callable[[KafkaConsumer, list[Any]], None],
) -> None:
    """B525: those that the caller has not got come again, and no commit covers them."""

    def offsets(got: list[Any]) -> set[int]:
        every = [list(each.values()) if type(each) is dict else [[each]] for each in got]
        return {each.offset for lists in every for part in lists for each in part if each}

    for nth in count(0, 3):
        world = written(3)
        consumer = assigned(
            world, enable_auto_commit=True, auto_commit_interval_ms=100, consumer_timeout_ms=500
        )
        got: list[Any] = []
        went_on = interrupted_at(nth, take, consumer, got)
        if went_on and nth % 2:
            take(consumer, got)
            assert offsets(got) == {0, 1, 2}, nth
        consumer.close()
        assert set(range(committed(world) or 0)) <= offsets(got), nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def test_a_copy_of_a_producer_is_refused_in_the_faces_words() -> None:
    """B527: by `close`, too."""
    producer = producer_in(World(topics={"orders": 1}))
    producer._producer._process += 1
    for call in (producer.flush, producer.close):
        with pytest.raises(errors.IllegalStateError, match="after the fork"):
            call()
    producer._producer._process -= 1
    producer.close()
