"""Prometheus reads without end while a consumer's calls have their deadlines."""

import threading
import time

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import prokurist.metrics
from prokurist import KafkaConsumer, TimeoutException, TopicPartition
from prokurist.testing.broker import EmbeddedBroker
from tests.stopwatch import Stopwatch

PARTITIONS = 1_000
LATE = 1.0
"""Far above anything measured, far below any timeout: these machines are shared."""


def lags(text: bytes) -> int:
    """How many partitions have a lag in an exposition."""
    return text.count(b"\nprokurist_consumer_records_lag{")


def test_calls_end_on_time_beside_endless_scrapes() -> None:
    """A thousand partitions, read by another thread again and again; the broker is silent."""
    registry, over, texts = CollectorRegistry(), threading.Event(), list[bytes]()
    prokurist.metrics.register(registry)

    def scrape() -> None:
        while not over.is_set():
            texts.append(generate_latest(registry))

    wide = [TopicPartition("wide", number) for number in range(PARTITIONS)]
    with (
        EmbeddedBroker(1, {"wide": PARTITIONS}) as broker,
        KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id="g") as consumer,
    ):
        consumer.assign(wide)
        consumer.seek_to_beginning()
        limit = time.monotonic() + 20
        while lags(generate_latest(registry)) < PARTITIONS:
            consumer.poll(0.1)
            assert time.monotonic() < limit, "not all ends are known"
        scraping = threading.Thread(target=scrape)
        scraping.start()
        try:
            with broker.freeze():
                limit, calls = time.monotonic() + 20, 0
                while calls < 10 or len(texts) <= 10:
                    with Stopwatch() as took, pytest.raises(TimeoutException):
                        consumer.committed(wide[0], timeout=0.2)
                    assert took.seconds >= 0.2
                    assert took.own < 0.2 + LATE
                    with Stopwatch() as took:
                        consumer.poll(0.1)
                    assert took.own < 0.1 + LATE
                    calls += 1
                    assert time.monotonic() < limit, "hardly a scrape beside the calls"
        finally:
            over.set()
            scraping.join()
    assert {lags(text) for text in texts} == {PARTITIONS}
