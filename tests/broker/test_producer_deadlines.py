"""A producer of a real Kafka that is frozen or gone: each call ends, and says how it stands."""

import threading
from collections.abc import Iterator
from typing import Final

import pytest

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.watching import LATE, Watch, soon

pytestmark = pytest.mark.kafka

IN_FLIGHT: Final = 5
"""How many requests a producer has on their way at the most, by default."""


@pytest.fixture
def producer(prokurist_kafka: RealKafka, prokurist_topic: str) -> Iterator[KafkaProducer]:
    """One that has delivered a record to the test's topic."""
    with KafkaProducer(
        bootstrap_servers=prokurist_kafka.bootstrap, request_timeout_ms=60_000
    ) as made:
        made.send(prokurist_topic, b"first").result(30.0)
        yield made


def values(kafka: RealKafka, topic: str) -> list[bytes | None]:
    """What is in the topic's one partition."""
    tp = TopicPartition(topic, 0)
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.assign(tp)
        consumer.seek_to_beginning()
        end = consumer.end_offsets(tp, timeout=30.0)[tp]
        found: list[bytes | None] = []
        while consumer.position(tp, timeout=30.0) < end:
            found += [each.value for each in consumer.poll(1.0)]
        return found


def test_flush_ends_in_time(
    producer: KafkaProducer, prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """B309: it tells what is left and what was tried, and withdraws nothing."""
    prokurist_kafka.freeze()
    sent = [producer.send(prokurist_topic, b"%d" % each) for each in range(100)]
    with pytest.raises(errors.TimeoutException) as raised, Watch(1.0):
        producer.flush(1.0)
    assert raised.value.partitions == (TopicPartition(prokurist_topic, 0),)
    assert [each.request for each in raised.value.attempts][:1] == ["Produce"]
    assert raised.value.may_have_happened
    assert "100 records (" in str(raised.value)
    prokurist_kafka.thaw()
    producer.flush(60.0)
    assert [each.result(0).offset for each in sent] == list(range(1, 101))


def test_close_ends_in_time(
    producer: KafkaProducer, prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """B310, B236: it returns how many records were given up, and each of them knows."""
    prokurist_kafka.freeze()
    # No more than are on their way at once: where this thread stands still between two of
    # them, each goes in a request of its own.
    sent = [producer.send(prokurist_topic, b"%d" % each) for each in range(IN_FLIGHT)]
    with Watch(0.5, 0.5 + LATE):
        assert producer.close(1.0) == IN_FLIGHT
    # A network thread that the machine keeps waiting comes to them behind close.
    given_up = [each.exception(30.0) for each in sent]
    assert all(isinstance(each, errors.DeliveryAbortedException) for each in given_up)
    assert all(each.may_have_happened for each in given_up if each is not None)
    with soon():
        assert producer.close() == 0


def test_close_in_a_callback(
    producer: KafkaProducer, prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """B236: on the network thread, which has to end by itself."""
    assert prokurist_kafka.bootstrap
    closed = threading.Event()

    def end(*_: object) -> None:
        producer.close()
        closed.set()

    delivery = producer.send(prokurist_topic, b"last", on_delivery=end)
    assert delivery.result(30.0).offset == 1
    assert closed.wait(30.0)
    with pytest.raises(errors.IllegalStateException, match="closed"):
        producer.send(prokurist_topic, b"too late")


def test_a_delivery_ends_in_time(prokurist_kafka: RealKafka, prokurist_topic: str) -> None:
    """B227, B314, B315: by `delivery.timeout.ms`; a wait for it by its own time."""
    with KafkaProducer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        request_timeout_ms=1_000,
        delivery_timeout_ms=2_000,
    ) as producer:
        producer.send(prokurist_topic, b"first").result(30.0)
        prokurist_kafka.freeze()
        with Watch(2.0):  # Its time runs from within `send` on.
            delivery = producer.send(prokurist_topic, b"second")
            with pytest.raises(errors.TimeoutException, match="delivery goes on"), Watch(0.5):
                delivery.result(0.5)
            with pytest.raises(errors.TimeoutException) as raised:
                delivery.result()
        assert raised.value.config_key == "delivery.timeout.ms"
        assert raised.value.may_have_happened
        assert delivery.exception(0) is not raised.value
        with Watch(2.0):
            error = producer.send(prokurist_topic, b"third").exception()
        assert isinstance(error, errors.TimeoutException)
        maybe = {b"second"} | ({b"third"} if error.may_have_happened else set())
        prokurist_kafka.thaw()
        producer.send(prokurist_topic, b"last").result(30.0)
    found = values(prokurist_kafka, prokurist_topic)
    assert (found[0], found[-1]) == (b"first", b"last")
    assert set(found[1:-1]) <= maybe
    assert len(found) == len(set(found))


def test_batches_grow_while_the_broker_is_frozen(
    producer: KafkaProducer, prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """B313: a million bytes are a few batches, and not one for each 16 KiB."""
    prokurist_kafka.freeze()
    for number in range(1_000):
        producer.send(prokurist_topic, b"%01000d" % number)
    prokurist_kafka.thaw()
    producer.flush(60.0)
    assert producer.metrics()["prokurist_producer_batches_total"] < 20
    assert len(values(prokurist_kafka, prokurist_topic)) == 1_001


def test_send_waits_for_no_broker_that_is_gone(prokurist_own_kafka: RealKafka) -> None:
    """B312: what is known of the topic is enough; the record arrives after the restart."""
    kafka = prokurist_own_kafka
    kafka.create_topic("orders", partitions=1)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.send("orders", b"first").result(30.0)
        kafka.kill(0)
        with soon(LATE):
            delivery = producer.send("orders", b"second")
        assert not delivery.done()
        kafka.restart(0)
        assert delivery.result(60.0).offset == 1


def test_many_records_whose_memory_ends_half_way(
    prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """B318: the count is what is in the log afterwards; the rest was not sent."""
    with KafkaProducer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        request_timeout_ms=60_000,
        buffer_memory=200_000,
        max_block_ms=1000,
    ) as producer:
        producer.partitions_for(prokurist_topic, 30.0)
        producer.send(prokurist_topic, b"first").result(30.0)
        prokurist_kafka.freeze()
        records = [b"%4d" % each * 100 for each in range(1000)]
        with Watch(1.0):
            deliveries = producer.send_many(prokurist_topic, records)
        assert isinstance(deliveries.error, errors.BufferExhaustedException)
        assert 0 < deliveries.count < 1000
        prokurist_kafka.thaw()
        assert isinstance(deliveries.exception(60.0), errors.BufferExhaustedException)
        assert sum(run.records for run in deliveries.offsets()) == deliveries.count
    log = values(prokurist_kafka, prokurist_topic)
    assert log == [b"first", *records[: deliveries.count]]
