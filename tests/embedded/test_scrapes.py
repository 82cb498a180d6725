"""Prometheus reads without end while a consumer's calls have their deadlines."""

import threading
import time

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import prokurist.metrics
from prokurist import KafkaConsumer, TimeoutException, TopicPartition
from prokurist.testing.broker import EmbeddedBroker

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
                for _ in range(10):
                    began = time.monotonic()
                    with pytest.raises(TimeoutException):
                        consumer.committed(wide[0], timeout=0.2)
                    assert 0.2 <= time.monotonic() - began < 0.2 + LATE
                    began = time.monotonic()
                    consumer.poll(0.1)
                    assert time.monotonic() - began < 0.1 + LATE
        finally:
            over.set()
            scraping.join()
    assert len(texts) > 10
    assert {lags(text) for text in texts} == {PARTITIONS}
