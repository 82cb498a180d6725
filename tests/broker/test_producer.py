"""A producer against a real Kafka: one that has frozen, many threads, many handles."""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from prokurist import Delivery, KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.events.accumulator.implementation import CHOICE
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking
from tests.broker.watching import Watch
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

PARTITIONS: Final = 3
THREADS: Final = 16
EACH: Final = 2000
MANY: Final = 1_000_000


def swallowing(kafka: RealKafka) -> Callable[[], object]:
    """Have the wire swallow what the broker answers: what ends that."""
    return kafka.proxy().swallow("to_client").heal


def stopping(kafka: RealKafka) -> Callable[[], object]:
    """Stop the broker's process: what has it go on."""
    kafka.freeze()
    return kafka.thaw


@contextmanager
def silent(kafka: RealKafka, how: str) -> Iterator[None]:
    """A broker that says nothing meanwhile."""
    heal = {"frozen": stopping, "swallowed": swallowing}[how](kafka)
    try:
        yield
    finally:
        heal()


def warm(kafka: RealKafka, topic: str, **keys: Any) -> KafkaProducer:
    """A producer that knows a topic and has written to it."""
    # What the wire has swallowed is sent again soon.
    keys["request_timeout_ms"] = 3000
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, **keys)
    for number in range(PARTITIONS):
        producer.send(topic, b"warm", partition=number).result(60.0)
    return producer


@pytest.fixture
def topic(prokurist_kafka: RealKafka) -> str:
    """A new topic of a few partitions."""
    return prokurist_kafka.unique_topic("produced", partitions=PARTITIONS)


@pytest.mark.parametrize("how", ["frozen", "swallowed"])
def test_flush_and_send_with_a_silent_broker(
    prokurist_kafka: RealKafka, topic: str, how: str
) -> None:
    """P46: flush ends in time and tells what is left; so does send into a full buffer."""
    with warm(
        prokurist_kafka, topic, max_block_ms=500, buffer_memory=200_000, linger_ms=0
    ) as producer:
        with silent(prokurist_kafka, how):
            sent = [producer.send(topic, b"v", partition=each % 3) for each in range(9)]
            with Watch(2.0), pytest.raises(errors.TimeoutException) as raised:
                producer.flush(2.0)
            assert "9 records (" in str(raised.value)
            assert {each.topic for each in raised.value.partitions} == {topic}
            assert raised.value.may_have_happened
            assert not any(each.done() for each in sent)
            # Until the buffer is full each send returns at once, then after max.block.ms.
            with Stopwatch() as watch:
                while not (full := producer.send(topic, b"x" * 10_000)).done():
                    sent.append(full)
            assert watch.seconds > 0.49
            assert watch.own < 0.5 + 1.0
            assert isinstance(full.exception(0), errors.BufferExhaustedException)
            # Of a topic that is not known.
            with Watch(0.5):
                lost = producer.send("never-heard-of", b"v")
            assert isinstance(lost.exception(0), errors.TimeoutException)
        producer.flush(60.0)
        assert all(each.offset is not None for each in sent)


@pytest.mark.parametrize("how", ["frozen", "swallowed"])
@pytest.mark.parametrize("budget", [2.0, 0.2, 0.0])
def test_close_with_a_silent_broker(
    prokurist_kafka: RealKafka, topic: str, how: str, budget: float, eventually: Asking
) -> None:
    """P49: it returns the count in its time; handles tell True and False apart."""
    told: list[errors.KafkaException | None] = []
    producer = warm(prokurist_kafka, topic, linger_ms=0)
    with silent(prokurist_kafka, how):
        sent: list[Delivery] = [producer.send(topic, b"sent", partition=0)]
        # Five requests may be on their way; what is behind them was not sent. Each is seen to
        # be: a network thread that the machine keeps waiting would put several into one.
        for number in range(1, 21):
            eventually(lambda: requests_in_flight(producer) >= min(number, 5))  # noqa: B023
            sent.append(
                producer.send(
                    topic,
                    b"x" * 100,
                    partition=0,
                    on_delivery=lambda _, error: told.append(error),
                )
            )
        with Watch(budget if budget < 0.1 else 0.0, budget + 1.0):
            count = producer.close(budget)
        # A network thread that the machine keeps waiting tells the rest behind close; what a
        # broker answers by then is delivered.
        eventually(lambda: len(told) == 20 and all(each.done() for each in sent))
    assert count == len(sent) == 21
    doubt = [error.may_have_happened for each in sent if (error := each.exception(0))]
    assert len(doubt) == 21
    assert doubt[0]
    assert not doubt[-1]
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        # What has certainly not happened is not there.
        tp = TopicPartition(topic, 0)
        end = consumer.end_offsets(tp, 60.0)[tp]
        assert end <= 1 + sum(doubt)


def requests_in_flight(producer: KafkaProducer) -> float:
    """How many it has written that are not answered."""
    return producer.metrics()["prokurist_producer_requests_in_flight"]


def test_each_of_many_threads_keeps_its_order(prokurist_kafka: RealKafka, topic: str) -> None:
    """P8: sixteen threads with one producer."""
    refused: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for each in range(EACH):
                producer.send(
                    topic, b"%d" % each, partition=each % 3, headers=[("by", b"%d" % number)]
                )
        except BaseException as error:
            refused.append(error)
            raise

    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        threads = [threading.Thread(target=run, args=(each,)) for each in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        producer.flush(60.0)
    assert not refused
    found: dict[tuple[int, bytes | None], list[int]] = {}
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        left = THREADS * EACH
        while left > 0:
            records = consumer.poll(30.0)
            assert records
            left -= len(records)
            for record in records:
                thread = dict(record.headers)["by"]
                found.setdefault((record.partition, thread), []).append(int(record.value))
    assert left == 0
    assert len(found) == PARTITIONS * THREADS
    for (partition, _), numbers in found.items():
        assert numbers == list(range(partition, EACH, 3))


@pytest.mark.skipif(CHOICE.name != "native", reason="a handle of Python's is an object more")
def test_a_million_handles(prokurist_kafka: RealKafka, topic: str) -> None:
    """P14: a full collection takes no longer with them than without."""

    def collection() -> float:
        return min(_timed(gc.collect) for _ in range(5))

    with warm(prokurist_kafka, topic) as producer:
        before, objects = collection(), len(gc.get_objects())
        handles = [producer.send(topic, b"v") for _ in range(MANY)]
        producer.flush(100.0)
        after = collection()
        assert all(each.offset is not None for each in handles)
        assert len(gc.get_objects()) - objects < MANY / 100
        # The list itself is gone through: a few milliseconds. As objects it were a second.
        assert after < before + 0.1


def _timed(call: Callable[[], object]) -> float:
    with Stopwatch() as watch:
        call()
    return watch.own
