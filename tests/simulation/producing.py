"""What tests of a producer have in common: what is in the logs, and what was asked."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

from prokurist import Delivery, KafkaProducer, TopicPartition
from prokurist.records.compression import decompress
from prokurist.records.headers import BATCH_HEADER, header_at
from prokurist.records.implementation import CODEC
from prokurist.records.record import ConsumerRecord
from prokurist.testing.cluster.batches import RecordBatch
from tests.simulation.world import Sender, World

TP: Final = TopicPartition("orders", 0)
"""Where most tests write to."""


def batches_of(world: World, tp: TopicPartition = TP) -> list[RecordBatch]:
    """The batches in a partition's log, in order."""
    return list(world.cluster.state.topics[tp.topic].partitions[tp.partition].log.batches)


def log_of(world: World, tp: TopicPartition = TP) -> list[ConsumerRecord]:
    """The records in a partition's log, in order."""
    return records_of(batches_of(world, tp), tp)


def records_of(batches: Iterable[RecordBatch], tp: TopicPartition) -> list[ConsumerRecord]:
    """The records of batches, in order."""
    found: list[ConsumerRecord] = []
    for batch in batches:
        header = header_at(batch.data, 0)
        assert header is not None
        body = batch.data[BATCH_HEADER:]
        if header.codec:
            body = bytes(decompress(header.codec, body, 1 << 28))
        columns = CODEC.decode_batch(tp.topic, tp.partition, header, body, 0, len(body))
        found += CODEC.RecordRun(columns, 0, len(columns))
    return found


def values_of(world: World, tp: TopicPartition = TP) -> list[bytes | None]:
    """The values in a partition's log, in order."""
    return [each.value for each in log_of(world, tp)]


def produced(world: World) -> list[Any]:
    """The Produce requests that brokers have read."""
    return list(world.control.requests("Produce"))


def failure(delivery: Delivery) -> BaseException:
    """Why a record has failed, which it must have."""
    assert delivery.done(), f"{delivery!r}"
    error = delivery.exception(0)
    assert error is not None, f"{delivery!r}"
    return error


def made(world: World, *, linger_ms: int = 0, **keys: object) -> tuple[KafkaProducer, Sender]:
    """A producer whose topic is known and whose connection stands."""
    sender = world.sender(None, linger_ms=linger_ms, **keys)
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    producer.send("orders", b"warm", partition=0)
    producer.flush(5.0)
    world.control.forget_requests()
    return producer, sender


def sequences(world: World) -> list[tuple[int, int]]:
    """Epoch and first sequence number of each batch in the log."""
    return [(each.producer_epoch, each.base_sequence) for each in batches_of(world)]


def in_callback(producer: KafkaProducer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the world's one thread be the one that delivers."""
    kind = type(producer._built().thread)
    monkeypatch.setattr(kind, "is_current", property(lambda _: True))


def failure_of(producer: KafkaProducer) -> BaseException:
    """What a record for the usual partition fails with."""
    delivery = producer.send("orders", b"v", partition=0)
    error = delivery.exception(30.0)
    assert error is not None
    return error
