"""Many records in one call: B317 and B318, and what their handle tells."""

from typing import Any

import pyarrow as pa
import pytest

from prokurist import KafkaProducer, TopicPartition, errors
from tests.simulation.producing import TP, log_of, made, values_of
from tests.simulation.world import World


def partitions_of(world: World) -> list[TopicPartition]:
    """The partitions of the topic."""
    count = len(world.cluster.state.topics["orders"].partitions)
    return [TopicPartition("orders", number) for number in range(count)]


def in_logs(world: World) -> list[list[tuple[Any, ...]]]:
    """What the partitions of the topic hold."""
    return [
        [(each.key, each.value, each.headers, each.timestamp) for each in log_of(world, tp)]
        for tp in partitions_of(world)
    ]


def producer_of(world: World, **keys: Any) -> KafkaProducer:
    """A producer whose topic is known, and nothing in the log."""
    producer = world.producer(**keys)
    producer.partitions_for("orders", 5.0)
    return producer


@pytest.mark.parametrize("keyed", [False, True])
def test_they_go_where_a_send_of_each_has_them_go(*, keyed: bool) -> None:
    """B317: partition by partition the same records, in the same order."""
    values = [None if number % 7 == 3 else b"v%d" % number * 20 for number in range(300)]
    keys = [None if number % 5 == 2 else b"k%d" % number for number in range(300)]
    found = []
    for many in (True, False):
        world = World()
        with producer_of(world, batch_size=1000, linger_ms=50) as producer:
            if many:
                deliveries = producer.send_many(
                    "orders",
                    values,
                    keys=keys if keyed else None,
                    headers={"h": b"x"},
                    timestamp=9,
                )
                assert deliveries.count == deliveries.given == 300
                assert not deliveries.done()
                runs = deliveries.result(5.0)
                assert deliveries.done()
                assert sum(run.records for run in runs) == 300
            else:
                for value, key in zip(values, keys, strict=True):
                    producer.send(
                        "orders",
                        value,
                        key if keyed else None,
                        headers={"h": b"x"},
                        timestamp=9,
                    )
                producer.flush(5.0)
        found.append(in_logs(world))
    assert found[0] == found[1]


def table() -> Any:
    """A table in two chunks, with nulls, to be taken from its middle."""
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    chunks = [
        pa.table(
            {
                "key": pa.array([None, b"a", b"b", None, b"c"], pa.binary()),
                "value": pa.array(["one", "two", None, "", "five"], pa.large_string()),
                "when": pa.array([1_000, 2_999, None, 4_000, 5_000], pa.timestamp("us")),
                "more": pa.array([[], [{"key": "h", "value": b"1"}], None, [], []], headers),
                "number": pa.array(range(5)),
            }
        )
    ] * 2
    return pa.concat_tables(chunks).slice(1, 7)


def test_columns_are_sent_as_their_rows_would_be() -> None:
    """B317: of nulls, slices and several chunks."""
    found = []
    for columns in (True, False):
        world = World()
        with producer_of(world) as producer:
            if columns:
                deliveries = producer.send_batch(
                    "orders", table(), headers="more", timestamp="when"
                )
                assert deliveries.count == 7
                deliveries.result(5.0)
            else:
                for row in table().to_pylist():
                    when, value = row["when"], row["value"]
                    producer.send(
                        "orders",
                        None if value is None else value.encode(),
                        row["key"],
                        [(each["key"], each["value"]) for each in row["more"] or ()],
                        timestamp=None if when is None else when.microsecond // 1000,
                    )
                producer.flush(5.0)
        found.append([[row[:3] for row in rows] for rows in in_logs(world)])
        stamps = [row[3] for rows in in_logs(world) for row in rows]
        assert stamps.count(2) == 2
    assert found[0] == found[1]


def test_what_a_consumer_reads_as_columns_can_be_sent() -> None:
    """RecordColumns go back as they came."""
    world = World()
    with producer_of(world) as producer:
        producer.send_many("orders", [b"a", None], keys=[b"k", None], headers={"h": b"1"})
        producer.flush(5.0)
    consumer_world = in_logs(world)
    with world.consumer() as consumer:
        consumer.assign(partitions_of(world))
        consumer.seek_to_beginning()
        columns: list[Any] = []
        while sum(len(each.offsets) for each in columns) < 2:
            columns += consumer.poll(5.0).columns()
    other = World()
    with producer_of(other) as producer:
        for each in columns:
            sent = producer.send_batch(
                "orders",
                each,
                headers="headers",
                timestamp="timestamp",
                partition=each.partition,
            )
            assert sent.exception(5.0) is None
    assert in_logs(other) == consumer_world


def test_nothing_is_sent_of_nothing() -> None:
    """B317: no records, no requests; the handle is done."""
    world = World()
    with producer_of(world) as producer:
        for deliveries in (
            producer.send_many("orders", []),
            producer.send_batch("orders", table().slice(0, 0)),
        ):
            assert deliveries.done()
            assert deliveries.result(0) == []
            assert deliveries.failed() == []


def test_memory_that_ends_half_way() -> None:
    """B318: the count is exact; those are delivered, and none behind them is sent."""
    world = World()
    producer, sender = made(
        world, buffer_memory=20_000, batch_size=4000, max_block_ms=1000, linger_ms=0
    )
    with producer:
        world.control.freeze()
        began = world.clock.time
        values = [b"%3d" % number * 100 for number in range(200)]
        heard: list[int] = []
        deliveries = producer.send_many(
            "orders",
            values,
            partition=0,
            on_delivery=lambda where, _: heard.append(where.offset),
        )
        assert world.clock.time - began == pytest.approx(1.0, abs=0.1)
        assert 0 < deliveries.count < 200
        assert isinstance(deliveries.error, errors.BufferExhaustedException)
        world.control.thaw()
        with pytest.raises(errors.BufferExhaustedException):
            deliveries.result(10.0)
        failed = deliveries.failed()
        assert [place for place, _ in failed] == list(range(deliveries.count, 200))
        assert sum(run.records for run in deliveries.offsets()) == deliveries.count
        assert heard == list(range(1, deliveries.count + 1))
    assert values_of(world)[1:] == values[: deliveries.count]
    memory = sender.side.accumulator.memory
    assert memory.free == memory.total


def test_one_that_is_too_large_fails_alone() -> None:
    """Those before and behind it are delivered."""
    world = World()
    producer, _ = made(world, max_request_size=5000)
    with producer:
        heard: list[object] = []
        deliveries = producer.send_many(
            "orders",
            [b"a", b"x" * 6000, b"b"],
            partition=0,
            on_delivery=lambda _, error: heard.append(error),
        )
        assert deliveries.error is None
        assert deliveries.count == 3
        with pytest.raises(errors.RecordTooLargeException):
            deliveries.result(5.0)
        ((place, error),) = deliveries.failed()
        assert place == 1
        assert isinstance(error, errors.RecordTooLargeException)
        assert [(run.offset, run.records) for run in deliveries.offsets()] == [(1, 2)]
        assert len(heard) == 3
    assert values_of(world) == [b"warm", b"a", b"b"]


def test_batches_that_the_broker_has_split() -> None:
    """P42 holds for them: the handle follows its records into the parts."""
    world = World()
    world.control.configure_topic("orders", max_message_bytes=4000)
    producer, _ = made(world, batch_size=16_384)
    values = [b"%3d" % number * 30 for number in range(99)] + [b"y" * 5000, b"last"]
    with producer:
        deliveries = producer.send_many("orders", values, partition=0)
        error = deliveries.exception(10.0)
        assert isinstance(error, errors.RecordTooLargeException)
        assert [place for place, _ in deliveries.failed()] == [99]
        assert sum(run.records for run in deliveries.offsets()) == 100
        for run in deliveries.offsets():
            assert run.topic == TP.topic
    assert values_of(world)[1:] == [*values[:99], b"last"]


def test_a_wait_that_is_over() -> None:
    """The wait alone: the delivery goes on."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.freeze()
        deliveries = producer.send_many("orders", [b"a", b"b"], partition=0)
        began = world.clock.time
        with pytest.raises(errors.TimeoutException):
            deliveries.result(0.5)
        assert world.clock.time - began == pytest.approx(0.5)
        assert deliveries.failed() == []
        assert repr(deliveries) == "Deliveries(2 of 2 records, on their way)"
        world.control.thaw()
        assert [run.records for run in deliveries.result(30.0)] == [2]


def test_a_serializer_that_raises_has_nothing_sent() -> None:
    """What is given is made into bytes before the first record goes."""
    world = World()
    with producer_of(world, value_serializer=lambda value: value.encode()) as producer:
        with pytest.raises(errors.SerializationException):
            producer.send_many("orders", ["a", 7], partition=0)
        assert producer.send_many("orders", ["a", None], partition=0).result(5.0)
        with pytest.raises(errors.IllegalStateException, match="use send_many"):
            producer.send_batch("orders", table())
    assert values_of(world) == [b"a", None]


def test_an_interceptor_and_a_partitioner_see_each_record() -> None:
    """As in `send`."""

    class Heard:
        acknowledged = 0

        def on_acknowledgement(self, _metadata: object, _error: object) -> None:
            self.acknowledged += 1

    world = World()
    heard = Heard()
    producer = producer_of(
        world,
        interceptor_classes=[heard],
        partitioner_class=lambda _topic, key, _value, _cluster: len(key) % 2,
    )
    with producer:
        deliveries = producer.send_many("orders", [b"a", b"b"], keys=[b"1", b"22"])
        assert sorted(run.partition for run in deliveries.result(5.0)) == [0, 1]
    assert heard.acknowledged == 2


def test_a_topic_that_is_not_there_is_waited_for_once() -> None:
    """All waits of a call share one `max.block.ms`."""
    world = World()
    with world.producer(max_block_ms=1000) as producer:
        began = world.clock.time
        deliveries = producer.send_many("nowhere", [b"a"] * 5)
        assert world.clock.time - began == pytest.approx(1.0)
        assert deliveries.count == 0
        assert [place for place, _ in deliveries.failed()] == list(range(5))
        with pytest.raises(errors.TimeoutException):
            deliveries.result(0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: p.send_many("orders", b"one"), TypeError, "use send for one"),
        (lambda p: p.send_many("orders", "text"), TypeError, "values are many, not one str"),
        (lambda p: p.send_many("orders", [b"a", 7]), TypeError, "a value is bytes or None"),
        (lambda p: p.send_many("orders", [b"a"], keys=[]), ValueError, "0 keys for 1 value:"),
        (lambda p: p.send_many(7, [b"a"]), TypeError, "a topic is a str"),
        (lambda p: p.send_many("orders", [b"a"], timestamp=-1), ValueError, "timestamp"),
        (lambda p: p.send_many("orders", [b"a"], partition=-1), ValueError, "partition"),
        (lambda p: p.send_batch("orders", [b"a"]), TypeError, "Arrow's C interface"),
        (lambda p: p.send_batch("orders", table(), value="no"), ValueError, "no column 'no'"),
        (
            lambda p: p.send_batch("orders", table(), key="no"),
            ValueError,
            "the columns are: key, value",
        ),
        (
            lambda p: p.send_batch("orders", pa.table([[b"a"], [b"b"]], ["value", "value"])),
            ValueError,
            "2 columns are named 'value'",
        ),
        (lambda p: p.send_batch("orders", table(), value="number"), TypeError, "cast it"),
        (lambda p: p.send_batch("orders", table(), headers="key"), TypeError, "headers are"),
        (lambda p: p.send_batch("orders", table(), timestamp="key"), TypeError, "timestamps"),
        (
            lambda p: p.send_batch("orders", pa.array([b"a"])),
            TypeError,
            "the data is one column",
        ),
    ],
)
def test_misuse_raises_and_sends_nothing(call: Any, error: type[Exception], words: str) -> None:
    """B354: each refusal names what was given, and the way out."""
    world = World()
    with producer_of(world) as producer:
        with pytest.raises(error, match=words):
            call(producer)
        producer.flush(1.0)
    assert not any(in_logs(world))
    with pytest.raises(errors.IllegalStateException):
        producer.send_many("orders", [b"a"])
