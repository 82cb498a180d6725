"""Prometheus reads without end while a consumer's calls have their deadlines."""

import asyncio
import threading
import time

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import prokurist.metrics
from prokurist import KafkaAdmin, KafkaConsumer, TimeoutException, TopicPartition, aio
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


def test_an_admin_client_is_scraped_until_it_is_closed() -> None:
    """B640: its calls, how many time out, its requests; nothing of it after `close`."""
    registry = CollectorRegistry()
    prokurist.metrics.register(registry)
    with (
        EmbeddedBroker(1, {"orders": 1}) as broker,
        KafkaAdmin(bootstrap_servers=broker.bootstrap, client_id="ops") as admin,
    ):
        admin.list_topics(timeout=20)
        with broker.freeze():
            assert admin.describe_topics(["orders"], timeout=0.2).errors
        of = {"client_id": "ops"}
        calls = {**of, "call": "list_topics"}
        assert registry.get_sample_value("prokurist_call_seconds_count", calls) == 1
        late = {**of, "call": "describe_topics"}
        assert registry.get_sample_value("prokurist_calls_timed_out_total", late) == 1
        alive = registry.get_sample_value("prokurist_network_thread_alive", of)
        assert alive == admin.metrics()["prokurist_network_thread_alive"] == 1
        requests = {**of, "api": "Metadata"}
        assert registry.get_sample_value("prokurist_requests_total", requests)
    assert b"ops" not in generate_latest(registry)


def test_an_admin_client_of_coroutines_is_scraped() -> None:
    """B640: as that of threads."""
    registry = CollectorRegistry()
    prokurist.metrics.register(registry)

    async def look(bootstrap: str) -> float | None:
        async with aio.KafkaAdmin(bootstrap_servers=bootstrap, client_id="aio-ops") as admin:
            await admin.list_topics(timeout=20)
            calls = {"client_id": "aio-ops", "call": "list_topics"}
            return registry.get_sample_value("prokurist_call_seconds_count", calls)

    with EmbeddedBroker(1, {"orders": 1}) as broker:
        assert asyncio.run(look(broker.bootstrap)) == 1
    assert b"aio-ops" not in generate_latest(registry)
