"""Producers of transactions before brokers without them, and requests that come too late."""

import pytest

from prokurist import KafkaProducer, OffsetAndMetadata, errors
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import ConsumerGroupMetadata
from tests.simulation.producing import failure
from tests.simulation.transacting import (
    A,
    committed,
    epoch_of,
    state_of,
    transactional,
    world_of,
    write,
)


def test_a_broker_without_transactions() -> None:
    """B564: `init_transactions` says so in one sentence, and each later call does."""
    world = world_of(1)
    world.control.withdraw("InitProducerId")
    with world.producer(None, transactional_id="t") as producer:
        began = world.clock.time
        with pytest.raises(errors.UnsupportedVersionException) as raised:
            producer.init_transactions(5.0)
        assert world.clock.time - began < 1.0
        assert str(raised.value).startswith(
            "transactional.id=t takes brokers with transactions, Kafka 2.5 or newer: "
        )
        assert raised.value.fatal
        with pytest.raises(errors.KafkaException):
            producer.begin_transaction()


def send_offsets_and_commit(producer: KafkaProducer) -> None:
    """Make the calls at the end of a transaction."""
    offsets = {A: OffsetAndMetadata(1)}
    producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata("g"), 5.0)
    producer.commit_transaction(5.0)


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"])
def test_a_broker_with_a_part_of_transactions(api: ApiName) -> None:
    """B564: the call that needs the missing part raises at once, and the producer is over."""
    world = world_of(1)
    world.control.withdraw(api)
    with transactional(world) as producer:
        began = world.clock.time
        producer.begin_transaction()
        sent = producer.send("orders", b"v", partition=0)
        if api != "AddPartitionsToTxn":
            producer.flush(5.0)
        with pytest.raises(errors.UnsupportedVersionException, match=api) as raised:
            send_offsets_and_commit(producer)
        assert raised.value.fatal
        assert world.clock.time - began < 2.0
        if api == "AddPartitionsToTxn":
            assert isinstance(failure(sent), errors.KafkaException)
    assert committed(world) == []


@pytest.mark.parametrize("end", ["abort", "commit"])
def test_a_partition_is_added_after_the_abort(end: str) -> None:
    """B563: before 4.0 a late AddPartitionsToTxn begins no transaction of its own."""
    world = world_of(1)
    with transactional(world) as producer:
        before = epoch_of(world)
        producer.begin_transaction()
        write(producer, b"early")
        producer.flush(5.0)
        with world.control.delay("AddPartitionsToTxn", 3.0, times=1):
            lost = producer.send("orders", b"late", partition=1)
            world.clock.sleep(0.5)
            with pytest.raises(errors.TimeoutException):
                producer.abort_transaction(0.5)
            # So that the end overtakes it on another connection.
            world.control.disconnect()
            producer.abort_transaction(1.5)
            assert epoch_of(world) > before  # It would be refused for its epoch.
        assert isinstance(failure(lost), errors.TransactionAbortedException)
        world.clock.sleep(10.0)
        assert state_of(world) != "Ongoing"  # The late request has begun nothing.
        producer.begin_transaction()
        write(producer, b"next", partition=1)
        getattr(producer, f"{end}_transaction")(20.0)
        world.clock.sleep(10.0)
        with producer.transaction(20.0):
            write(producer, b"last", partition=1)
    assert committed(world) == ([b"next", b"last"] if end == "commit" else [b"last"])
