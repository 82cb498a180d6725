"""What a producer has counted, and its health, after a life in virtual time."""

import math
import threading
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from prokurist import KafkaProducer, ProducerHealth
from prokurist.metrics.prometheus import ClientsCollector
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")


def of(producer: KafkaProducer, name: str, **labels: str) -> float:
    """One number, by the name without its prefix."""
    pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return producer.metrics()[f"prokurist_{name}{f'{{{pairs}}}' * bool(labels)}"]


def test_what_was_delivered_is_counted() -> None:
    """Records and bytes by topic; a batch, and its sizes, once."""
    world = World()
    producer = world.producer(linger_ms=100)
    for _ in range(5):
        producer.send("orders", b"x" * 100, partition=0)
    producer.flush(1.0)
    assert of(producer, "producer_records_sent_total", topic="orders") == 5
    assert 500 < of(producer, "producer_bytes_total", topic="orders") < 600
    assert of(producer, "producer_batches_total") == 1
    assert of(producer, "producer_batch_records_sum") == 5
    assert of(producer, "producer_batch_bytes_count") == 1
    assert of(producer, "producer_queue_seconds_count") == 1
    assert of(producer, "producer_delivery_seconds_count") == 1
    assert of(producer, "call_seconds_count", call="flush") == 1
    assert of(producer, "requests_total", api="Produce") == 1
    assert of(producer, "producer_wait_seconds_count", **{"for": "metadata"}) == 1
    assert of(producer, "producer_requests_in_flight") == 0
    assert of(producer, "producer_oldest_batch_age_seconds") == 0
    assert of(producer, "producer_buffer_available_bytes") == of(
        producer, "producer_buffer_limit_bytes"
    )


def test_compression_shows_as_a_quotient() -> None:
    """What the batches took before, and as they were sent."""
    world = World()
    producer = world.producer(compression_type="gzip")
    producer.send("orders", b"x" * 10_000, partition=0)
    producer.flush(1.0)
    assert of(producer, "producer_uncompressed_bytes_total") > 10_000
    assert of(producer, "producer_compressed_bytes_total") < 500


def test_what_is_not_compressed_is_sent_as_it_is() -> None:
    """The quotient is 1 then, and not 0."""
    world = World()
    producer = world.producer()
    producer.send("orders", b"x" * 10_000, partition=0)
    producer.flush(1.0)
    plain = of(producer, "producer_uncompressed_bytes_total")
    assert of(producer, "producer_compressed_bytes_total") == plain > 10_000


def test_a_callback_is_timed() -> None:
    """Where a batch has any."""
    world = World()
    producer = world.producer()
    producer.send("orders", b"v", partition=0)
    producer.flush(1.0)
    assert of(producer, "producer_callback_seconds_count") == 0
    producer.send("orders", b"v", partition=0, on_delivery=lambda _metadata, _error: None)
    producer.flush(1.0)
    assert of(producer, "producer_callback_seconds_count") == 1


def test_what_failed_is_counted_by_its_error() -> None:
    """In a batch that expired, and before it came into one."""
    world = World()
    producer = world.producer(
        delivery_timeout_ms=2000, request_timeout_ms=1000, linger_ms=0, max_block_ms=500
    )
    producer.partitions_for("orders", 1.0)
    producer.send("nowhere", b"v")
    with world.control.freeze():
        for _ in range(3):
            producer.send("orders", b"v", partition=0)
        world.clock.sleep(2.5)
    assert of(producer, "producer_record_errors_total", error="TimeoutException") == 4
    assert of(producer, "producer_batches_expired_total") == 1


def test_a_refused_attempt_is_counted() -> None:
    """With the next one, the batch stays one batch."""
    world = World()
    producer = world.producer()
    with world.control.fail("Produce", 19, times=1):
        producer.send("orders", b"v", partition=0)
        producer.flush(5.0)
    assert of(producer, "producer_batch_retries_total") == 1
    assert of(producer, "producer_batches_total") == 1
    assert of(producer, "producer_records_sent_total", topic="orders") == 1


def test_full_memory_shows() -> None:
    """What is free, how long send waited, and what became of the record."""
    world = World()
    producer = world.producer(buffer_memory=40_000, batch_size=16_384, max_block_ms=700)
    producer.send("orders", b"first", partition=0)
    producer.flush(1.0)
    with world.control.freeze():
        for _ in range(4):
            producer.send("orders", b"x" * 16_000, partition=0)
        assert of(producer, "producer_buffer_available_bytes") < 16_000
        assert of(producer, "producer_requests_in_flight") == 1
        world.clock.sleep(1.0)
        assert of(producer, "producer_oldest_batch_age_seconds") > 1.0
        error = "BufferExhaustedException"
        assert of(producer, "producer_record_errors_total", error=error) == 2
        waited = of(producer, "producer_wait_seconds_sum", **{"for": "memory"})
        assert waited == pytest.approx(1.4)


def test_close_is_told_by_phase() -> None:
    """Also after it: a closed producer still says what it has counted."""
    producer = World().producer()
    producer.close()
    for phase in ("flush", "network thread"):
        assert of(producer, "close_phase_seconds_count", phase=phase) == 1
    assert of(producer, "network_thread_alive") == 0


def test_every_number_is_a_number() -> None:
    """Of a client that has done nothing yet as well."""
    metrics = World().producer().metrics()
    assert all(isinstance(each, float) for each in metrics.values())
    assert not any(math.isnan(each) for each in metrics.values())
    assert not any(name.startswith("prokurist_consumer_") for name in metrics)


def test_a_registry_shows_consumers_and_producers() -> None:
    """What both have, under one name with a label each; and what only one has, of that one."""
    world = World()
    producer, consumer = world.producer(), world.consumer()
    clients: list[tuple[str, Any]] = [("p", producer._counted), ("c", consumer._counted)]
    registry = CollectorRegistry()
    registry.register(ClientsCollector(clients=lambda: clients))
    for name in ("p", "c"):
        alive = registry.get_sample_value("prokurist_network_thread_alive", {"client_id": name})
        assert alive == 1
    buffers = {
        name: registry.get_sample_value(
            "prokurist_producer_buffer_limit_bytes", {"client_id": name}
        )
        for name in ("p", "c")
    }
    assert buffers == {"p": 33_554_432, "c": None}
    members = {
        name: registry.get_sample_value("prokurist_consumer_partitions", {"client_id": name})
        for name in ("p", "c")
    }
    assert members == {"p": None, "c": 0}


# --- health ------------------------------------------------------------------------------


def test_the_health_of_an_idle_producer() -> None:
    """Alive, empty, and with a broker's answer."""
    world = World()
    producer = world.producer(buffer_memory=1_000_000)
    producer.send("orders", b"v", partition=0)
    producer.flush(1.0)
    world.clock.sleep(3.0)
    health = producer.health()
    assert isinstance(health, ProducerHealth)
    assert health.alive
    assert (health.buffer_total, health.buffer_free) == (1_000_000, 1_000_000)
    assert health.buffer_fill == 0.0
    assert (health.undelivered_batches, health.oldest_batch_age) == (0, None)
    assert (health.unreachable_for, health.last_error) == (None, None)
    assert health.answer_age == pytest.approx(3.0, abs=0.1)
    producer.close()
    assert not producer.health().alive


def test_the_health_of_a_producer_whose_broker_died() -> None:
    """What waits, for how long, since when nothing can be reached, and why."""
    world = World()
    producer = world.producer(buffer_memory=100_000, batch_size=16_384)
    producer.send("orders", b"v", partition=0)
    producer.flush(1.0)
    world.control.kill(1)
    producer.send("orders", b"v", partition=0)
    world.clock.sleep(5.0)
    health = producer.health()
    assert health.undelivered_batches == 1
    assert health.oldest_batch_age == pytest.approx(5.0)
    assert health.buffer_fill == pytest.approx(0.16384, abs=0.01)
    assert health.unreachable_for is not None
    assert health.unreachable_for > 3.0
    assert health.last_error is not None
    assert "refuse" in health.last_error.lower()
    world.control.restart(1)
    producer.flush(30.0)
    assert producer.health().unreachable_for is None


def test_health_and_metrics_are_read_from_any_thread() -> None:
    """Neither waits for the network thread."""
    producer = World().producer()
    producer.send("orders", b"v", partition=0)
    read: list[object] = []

    def look() -> None:
        read.extend((producer.health(), producer.metrics()))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(10.0)
    assert len(read) == 2
