"""Signal handlers that call a client in the midst of its calls: real threads, a real Kafka."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pytest

from prokurist import Delivery, KafkaConsumer, KafkaProducer, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.watching import handling

pytestmark = pytest.mark.kafka

SIGNALS: Final = 300
HUNG: Final = 20.0
"""Seconds that no call in a handler takes, with all that interrupts it, on a slow machine."""


@contextmanager
def interrupted(handler: Callable[[], object]) -> Iterator[threading.Event]:
    """Signals at drawn moments; the event is set once there were enough.

    What the handler raises comes out at the end: earlier it would end the call that was
    interrupted, or this very wait for the last signal.
    """
    enough = threading.Event()
    raised: list[BaseException] = []
    lot = random.Random(21)  # noqa: S311 - moments, and no secrets

    def run() -> None:
        for _ in range(SIGNALS):
            time.sleep(lot.uniform(0.0, 0.02))
            os.kill(os.getpid(), signal.SIGUSR1)
        enough.set()

    def guarded() -> None:
        try:
            handler()
        except BaseException as error:  # noqa: BLE001 - whatever a call does wrong
            raised.append(error)

    with handling(guarded):
        sender = threading.Thread(target=run)
        sender.start()
        try:
            yield enough
        finally:
            # While there is a handler, and the process outlives a signal.
            sender.join()
            time.sleep(0.05)
    for error in raised:
        raise error


def test_a_producer_in_a_handler(prokurist_kafka: RealKafka) -> None:
    """B349: each call answers in its time, and what was sent is there once, or was refused."""
    topic = prokurist_kafka.unique_topic()
    outer: list[Delivery] = []
    inner: list[Delivery] = []
    refused: Counter[str] = Counter()
    longest: list[float] = []
    calls = 0
    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        producer.send(topic, b"first").result(60.0)
        # What this loads at its first call a handler in a handler would find half loaded.
        producer.metrics()

        def handler() -> None:
            nonlocal calls
            calls += 1
            producer.health()
            producer.metrics()
            repr(producer)
            began = time.monotonic()
            try:
                inner.append(producer.send(topic, b"inner %d" % calls))
                if calls % 5 == 0:
                    with suppress(errors.TimeoutException):
                        producer.flush(0.2)
                elif calls % 7 == 0:
                    producer.partitions_for(topic, 10.0)
            except errors.IllegalStateException as error:
                refused[str(error)] += 1
            # Another signal may have come meanwhile, and its handler has waited in here.
            longest.append(time.monotonic() - began)

        with interrupted(handler) as enough:
            number = 0
            while not enough.is_set():
                outer.append(producer.send(topic, b"outer %d" % number))
                number += 1
                if number % 20 == 0:
                    producer.flush(60.0)
                elif number % 31 == 0:
                    producer.partitions_for(topic, 60.0)
                elif number % 97 == 0:
                    with suppress(errors.TimeoutException):
                        outer[-1].result(0.001)
        producer.flush(60.0)
        offsets = [each.result(0).offset for each in (*outer, *inner)]
    assert calls > SIGNALS // 4  # Signals that come at once are one.
    assert len(set(offsets)) == len(offsets)
    assert sorted(offsets) == list(range(1, len(offsets) + 1))
    assert all("signal handler cannot wait" in each for each in refused), refused
    assert max(longest) < HUNG


def test_a_consumer_in_a_handler(prokurist_kafka: RealKafka) -> None:
    """B350: what is asked of it without a wait answers; another client is built and closed."""
    topic = prokurist_kafka.unique_topic()
    count = 0
    with (
        KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer,
        KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
        ) as consumer,
    ):
        consumer.subscribe(topic)
        told: list[Delivery] = []

        def handler() -> None:
            nonlocal count
            count += 1
            assert consumer.health().alive
            assert consumer.metrics()
            assert repr(consumer)
            told.append(producer.send(topic, b"%d" % count))
            if count % 60 == 0:
                with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as other:
                    told.append(other.send(topic, b"other"))

        read = 0
        with interrupted(handler) as enough:
            while not enough.is_set():
                read += len(consumer.poll(0.02))
                consumer.commit_async()
        while read < len(told):
            records = consumer.poll(30.0)
            assert records
            read += len(records)
        assert count > SIGNALS // 4
        assert all(each.result(60.0).offset >= 0 for each in told)
