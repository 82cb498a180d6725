"""A record's way into a batch, and what `send` waits for: P1 to P9."""

from functools import partial
from typing import Any

import pytest

from prokurist import Delivery, KafkaProducer, TopicPartition, errors
from tests.simulation.producing import TP, failure, log_of, produced, values_of
from tests.simulation.world import World


def test_a_record_is_delivered() -> None:
    """Value, key, headers, timestamp and partition are in the log; the handle tells where."""
    world = World()
    with world.producer() as producer:
        delivery = producer.send(
            "orders",
            b"v",
            key=b"k",
            headers=[("h", b"x"), ("n", None)],
            partition=0,
            timestamp=7,
        )
        assert not delivery.done()
        assert repr(delivery) == "Delivery(orders-0, on its way)"
        assert delivery.result(1.0) == ("orders", 0, 0, 7)
        assert (delivery.topic, delivery.partition, delivery.offset) == ("orders", 0, 0)
        assert repr(delivery) == "Delivery(orders-0, offset 0)"
    (record,) = log_of(world)
    assert (record.key, record.value, record.timestamp) == (b"k", b"v", 7)
    assert record.headers == [("h", b"x"), ("n", None)]


def test_what_is_passed_is_copied() -> None:
    """P2: a bytearray that changes afterwards changes nothing that is sent."""
    world = World()
    with world.producer() as producer:
        value = bytearray(b"before")
        producer.send("orders", value, key=memoryview(value), partition=0)
        value[:] = b"after!"
        producer.flush(1.0)
    (record,) = log_of(world)
    assert (record.key, record.value) == (b"before", b"before")


def test_an_unknown_topic_fails_the_handle_at_max_block() -> None:
    """P3, B220: no exception from `send`, and nothing is sent later."""
    world = World()
    with world.producer(max_block_ms=1000) as producer:
        began = world.clock.time
        delivery = producer.send("nowhere", b"v")
        assert world.clock.time - began == pytest.approx(1.0)
        error = failure(delivery)
        assert isinstance(error, errors.TimeoutException)
        assert not error.may_have_happened
        assert error.config_key == "max.block.ms"
        assert "nowhere does not exist" in str(error)
        assert delivery.partition == -1


def test_what_fails_in_send_is_logged_once_a_minute_for_each_topic(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B417: for programs that look at no delivery; as what fails in a batch is."""
    world = World()
    with world.producer(max_block_ms=1000, max_request_size=10_000) as producer:
        for _ in range(3):
            producer.send("nowhere", b"v")
            producer.send("orders", b"v" * 20_000)
        missing, large = lines(caplog, "delivery_failed")
        assert "failed to deliver 1 record for nowhere: " in missing
        assert "nowhere does not exist" in missing
        assert "failed to deliver 1 record for orders: " in large
        assert "max.request.size=10000" in large
        world.clock.sleep(60.0)
        producer.send("nowhere", b"v")
        assert len(lines(caplog, "delivery_failed")) == 3


@pytest.mark.parametrize("wait", [0, 500])
def test_a_full_buffer_is_logged_where_send_has_waited_for_room(
    wait: int, caplog: pytest.LogCaptureFixture
) -> None:
    """B417: with `max.block.ms=0` it is back-pressure, and the program looks at it."""
    world = World()
    with world.producer(
        max_block_ms=wait, buffer_memory=40_000, batch_size=16_384, linger_ms=1000
    ) as producer:
        producer.partitions_for("orders", 1.0)
        with world.control.freeze():
            deliveries = [producer.send("orders", b"x" * 16_000) for _ in range(4)]
        assert isinstance(failure(deliveries[-1]), errors.BufferExhaustedException)
        assert bool(lines(caplog, "delivery_failed")) == bool(wait)


def lines(caplog: pytest.LogCaptureFixture, event: str) -> list[str]:
    """What was logged of an event."""
    return [each.getMessage() for each in caplog.records if vars(each).get("event") == event]


def test_a_topic_that_is_not_there_is_told_before_the_record_has_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B420: after a second; and its end, where it is created in time."""
    world = World()
    with world.producer(max_block_ms=10_000) as producer:
        for name, after in (("late", 0.5), ("later", 5.0)):
            create = partial(world.control.create_topic, name, partitions=1)
            world.at(world.clock.time + after, create)
            producer.send(name, b"v").result(1.0)
        missing, found = [each.getMessage() for each in caplog.records]
        assert "topic later does not exist" in missing
        assert "topic later exists, after 5 s" in found


@pytest.mark.parametrize("busy", [False, True])
def test_a_topic_that_is_deleted_is_told_where_something_is_sent_to_it(
    busy: bool,  # noqa: FBT001 - a parameter
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B420: while its records wait for it; not where nothing was sent to it of late."""
    world = World()
    with world.producer(metadata_max_age_ms=5000) as producer:
        producer.send("orders", b"v").result(1.0)
        world.clock.sleep(40.0)
        world.control.delete_topic("orders")
        for _ in range(20):
            if busy:
                producer.send("orders", b"v")
            world.clock.sleep(1.0)
        assert len(lines(caplog, "topic_missing")) == busy
        producer.close(0)


def test_a_topic_that_appears_in_time_gets_the_record() -> None:
    """P3: half a second later."""
    world = World()
    with world.producer(max_block_ms=1000) as producer:
        world.at(
            world.clock.time + 0.5, partial(world.control.create_topic, "late", partitions=1)
        )
        assert producer.send("late", b"v").result(1.0).offset == 0


def test_a_partition_that_is_not_there_is_waited_for() -> None:
    """P31, B221: beyond the count as an unknown topic; a negative one is refused at once."""
    world = World()
    with world.producer(max_block_ms=1000) as producer:
        began = world.clock.time
        error = failure(producer.send("orders", b"v", partition=3))
        assert world.clock.time - began == pytest.approx(1.0)
        assert isinstance(error, errors.TimeoutException)
        assert "has 3 partitions, and the record is for partition 3" in str(error)
        with pytest.raises(ValueError, match="not negative"):
            producer.send("orders", b"v", partition=-1)
        world.at(world.clock.time + 0.4, partial(world.control.add_partitions, "orders", 5))
        assert producer.send("orders", b"v", partition=4).result(1.0).partition == 4


def test_users_code_does_not_count_against_max_block() -> None:
    """P4: neither the serializers nor the partitioner."""
    world = World()

    def slow(value: str) -> bytes:
        world.clock.sleep(5.0)
        return value.encode()

    def partitioner(*_: object) -> int:
        world.clock.sleep(5.0)
        return 1

    with world.producer(
        max_block_ms=1000, value_serializer=slow, partitioner_class=partitioner
    ) as producer:
        assert producer.send("orders", "v").result(1.0).partition == 1


def test_an_interrupt_in_a_blocked_send_appends_nothing() -> None:
    """P5: Ctrl-C while it waits for metadata; the producer is usable afterwards."""
    world = World()
    with world.producer() as producer:
        world.control.freeze()

        def interrupt() -> None:
            raise KeyboardInterrupt

        world.at(world.clock.time + 0.5, interrupt)
        with pytest.raises(KeyboardInterrupt):
            producer.send("orders", b"lost", partition=0)
        world.control.thaw()
        producer.send("orders", b"kept", partition=0)
        producer.flush(5.0)
    assert values_of(world) == [b"kept"]


def test_send_after_a_rebootstrap_appends_at_once() -> None:
    """P6, B312: partition counts stay good though no broker is left."""
    world = World(nodes=1)
    with world.producer(
        metadata_recovery_rebootstrap_trigger_ms=2000, delivery_timeout_ms=31_000
    ) as producer:
        producer.send("orders", b"v", partition=0).result(1.0)
        with world.control.kill(1):
            world.clock.sleep(20.0)
            before = world.clock.time
            delivery = producer.send("orders", b"w", partition=0)
            assert world.clock.time == before
        assert delivery.result(20.0).offset == 1


@pytest.mark.parametrize("log_append", [False, True])
def test_timestamps(log_append: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """P7: the given one, or the time of day; with LogAppendTime the broker's."""
    world = World()
    if log_append:
        world.control.configure_topic("orders", message_timestamp_type="LogAppendTime")
    with world.producer(linger_ms=0) as producer:
        producer.send("orders", b"v", partition=0).result(1.0)
        sent_at = round(world.clock.time * 1000)
        given = producer.send("orders", b"v", partition=0, timestamp=5)
        now = producer.send("orders", b"v", partition=0)
        assert given.timestamp == 5
        assert now.timestamp == sent_at
        producer.flush(1.0)
        if log_append:
            assert given.timestamp >= sent_at
            assert given.result().timestamp == now.timestamp
        else:
            assert (given.result().timestamp, now.result().timestamp) == (5, sent_at)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"topic": 7}, TypeError, "a topic is a str"),
        ({"value": "text"}, TypeError, "set value_serializer"),
        ({"key": 7}, TypeError, "set key_serializer"),
        ({"headers": [("h", "x")]}, TypeError, "a header is bytes or None"),
        ({"headers": [(1, b"x")]}, TypeError, "a header's name is a str"),
        ({"headers": ["ab", b"x"]}, TypeError, "a header is a pair"),
        ({"timestamp": -1}, ValueError, "timestamp is not negative"),
        ({"timestamp": 1 << 63}, ValueError, "timestamp has 63 bits"),
        ({"timestamp": 1.5}, TypeError, "timestamp is an int"),
        ({"partition": True}, TypeError, "partition is an int"),
    ],
)
def test_bad_arguments_are_refused_at_once(
    arguments: dict[str, object], error: type[Exception], text: str
) -> None:
    """Each names the value and the rule; nothing is sent."""
    world = World()
    with world.producer() as producer:
        given: dict[str, object] = {"topic": "orders", "value": b"v", **arguments}
        with pytest.raises(error, match=text):
            producer.send(**given)  # type: ignore[arg-type]
    assert not produced(world)


def test_a_record_that_is_too_large_fails_alone() -> None:
    """B223: its handle says how large it may be; nothing is sent of it."""
    world = World()
    with world.producer(max_request_size=10_000) as producer:
        delivery = producer.send("orders", b"x" * 10_000, partition=0)
        other = producer.send("orders", b"y", partition=0)
        error = failure(delivery)
        assert isinstance(error, errors.RecordTooLargeException)
        assert "max.request.size" in str(error)
        assert not error.may_have_happened
        assert other.result(1.0).offset == 0


@pytest.mark.parametrize(("largest", "overhead"), [(1000, 70), (10_000, 72), (1_048_576, 72)])
def test_the_largest_record_has_what_the_key_says(largest: int, overhead: int) -> None:
    """B402: a batch of its own takes exactly `max.request.size`; a byte more is refused."""
    world = World()
    with world.producer(max_request_size=largest) as producer:
        fits, more = bytes(largest - overhead), bytes(largest - overhead + 1)
        assert producer.send("orders", fits, partition=0).result(1.0).offset == 0
        told = str(failure(producer.send("orders", more, partition=0)))
        assert f"{largest + 1} bytes in a batch of its own" in told
        assert f"max.request.size={largest}" in told
        assert producer.send("orders", fits[2:], b"k", partition=0).result(1.0).offset == 1
    (first, _) = produced(world)
    (topic,) = first.body.topic_data
    assert len(topic.partition_data[0].records) == largest


def test_a_record_that_no_memory_holds_is_told_so() -> None:
    """B402: the text names the key that is in the way."""
    world = World()
    with world.producer(buffer_memory=20_000, batch_size=1000) as producer:
        assert producer.send("orders", bytes(20_000 - 72), partition=0).result(1.0).offset == 0
        told = str(failure(producer.send("orders", bytes(20_000), partition=0)))
        assert "more than buffer.memory=20000" in told
        assert "max.request.size" not in told


def test_a_serializer_that_raises_raises_from_send() -> None:
    """B237: the text names the topic, the error is the cause; null is not shown to it."""
    world = World()

    def picky(value: str) -> bytes:
        if value == "bad":
            raise ZeroDivisionError("no")
        return value.encode()

    with world.producer(value_serializer=picky, key_serializer=str.encode) as producer:
        with pytest.raises(errors.SerializationException, match="for orders") as raised:
            producer.send("orders", "bad")
        assert isinstance(raised.value.__cause__, ZeroDivisionError)
        producer.send("orders", "good", key="k", partition=0)
        producer.send("orders", None, partition=0)
        producer.flush(1.0)
    assert [(each.key, each.value) for each in log_of(world)] == [(b"k", b"good"), (None, None)]


def test_a_topic_that_may_not_be_written_fails_its_records() -> None:
    """The metadata's refusal comes at once, and is told to the one record."""
    world = World()
    with world.producer() as producer:
        other = producer.send("orders", b"v")
        with world.control.deny(topic="secret"):
            began = world.clock.time
            error = failure(producer.send("secret", b"v"))
            assert isinstance(error, errors.TopicAuthorizationException)
            assert world.clock.time - began < 0.1
        assert other.result(1.0).offset == 0


def test_a_closed_producer_refuses() -> None:
    """Every call names what to do."""
    world = World()
    producer = world.producer()
    assert producer.close() == 0
    assert producer.close() == 0
    with pytest.raises(errors.IllegalStateException, match="closed: build another"):
        producer.send("orders", b"v")
    for call in (producer.flush, producer.purge, partial(producer.partitions_for, "orders")):
        with pytest.raises(errors.IllegalStateException, match="closed"):
            call()


def test_a_closed_producer_runs_no_code_of_its_user() -> None:
    """B322: it refuses before serializers and partitioner."""
    world = World()
    told: list[object] = []
    producer = world.producer(
        value_serializer=told.append, partitioner_class=lambda *asked: told.append(asked)
    )
    assert producer.close() == 0
    began = world.clock.time
    with pytest.raises(errors.IllegalStateException, match="closed: build another"):
        producer.send("unknown", b"v")
    with pytest.raises(errors.IllegalStateException, match="closed: build another"):
        producer.send_many("unknown", [b"v"])
    assert world.clock.time == began
    assert not told


def test_a_topic_that_is_no_name_costs_one_record() -> None:
    """B379: a producer with a partitioner refuses it, too, and serves the next."""
    world = World()
    topic: Any = None
    with world.producer(partitioner_class=lambda *_: 1) as producer:
        with pytest.raises(TypeError, match="a topic is a str, not None"):
            producer.send(topic, b"v")
        with pytest.raises(TypeError, match="a topic is a str, not None"):
            producer.send_many(topic, [b"v"])
        assert producer.send("orders", b"v").result(1.0).partition == 1


def test_partitions_for() -> None:
    """Known ones at once; an unknown topic ends in a TimeoutException that says so."""
    world = World()
    with world.producer() as producer:
        assert [each.partition for each in producer.partitions_for("orders", 1.0)] == [0, 1, 2]
        began = world.clock.time
        with pytest.raises(errors.TimeoutException) as raised:
            producer.partitions_for("nowhere", 1.0)
        assert world.clock.time - began == pytest.approx(1.0)
        assert isinstance(raised.value.last_error, errors.UnknownTopicOrPartitionException)
        with pytest.raises(errors.InvalidTopicException):
            producer.partitions_for("no such name", 1.0)


def test_interceptors_see_records_and_deliveries() -> None:
    """`on_send` returns the record that is sent; `on_acknowledgement` hears of its end."""
    world = World()
    heard: list[object] = []

    class Tag:
        def on_send(self, record: object) -> object:
            import dataclasses

            return dataclasses.replace(record, headers=[("tag", b"1")])  # type: ignore[type-var]

        def on_acknowledgement(self, metadata: object, error: object) -> None:
            heard.append((metadata, error))

        def close(self) -> None:
            heard.append("closed")

    with world.producer(interceptor_classes=[Tag()]) as producer:
        producer.send("orders", b"v", partition=0, timestamp=1)
        producer.flush(1.0)
    assert heard == [(("orders", 0, 0, 1), None), "closed"]
    assert log_of(world)[0].headers == [("tag", b"1")]
    assert TopicPartition("orders", 0) == TP


class Counting(KafkaProducer):
    """A producer that counts what is sent."""

    sent = 0

    def send(self, *given: Any, **named: Any) -> Delivery:
        """Count, and send."""
        self.sent += 1
        return super().send(*given, **named)


def test_a_subclass_is_not_passed_by() -> None:
    """Records take the short way only where `send` is what is defined here."""
    world = World()
    sender = world.sender()
    with Counting.wired(sender.config, world.clock, sender.side) as producer:
        producer.send("orders", b"v", partition=0)
        producer.flush(1.0)
        assert producer.sent == 1


def test_what_instruments_send_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """It replaces the method of the class before producers are built."""
    sent: list[str] = []
    original = KafkaProducer.send

    def instrumented(self: KafkaProducer, topic: str, *given: Any, **named: Any) -> Delivery:
        sent.append(topic)
        return original(self, topic, *given, **named)

    monkeypatch.setattr(KafkaProducer, "send", instrumented)
    world = World()
    with world.producer() as producer:
        producer.send("orders", b"v", partition=0)
        producer.flush(1.0)
    assert sent == ["orders"]
