"""A consumer of committed records, before a transaction that others have open."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from prokurist import (
    EmptyCause,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    OpenTransaction,
    TimeoutException,
)
from prokurist.records.why_empty import WhyEmpty
from tests.simulation.reading import A, B, reader, written
from tests.simulation.transacting import transactional, world_of, write
from tests.simulation.world import World


def why(consumer: KafkaConsumer) -> WhyEmpty:
    """Why a poll returns nothing."""
    records = consumer.poll(1.0)
    assert not records
    assert records.why_empty is not None
    return records.why_empty


def with_an_open_transaction(behind: int) -> World:
    """A log that begins with a record of one, and so many records behind it."""
    world = World()
    world.control.append(A, b"open", producer=9)
    for _ in range(behind):
        world.control.append(A, b"behind it")
    return world


def test_records_behind_an_open_transaction_are_told_of() -> None:
    """B426: with their number, until it ends."""
    world = with_an_open_transaction(behind=3)
    with reader(world, A, B, isolation_level="read_committed") as consumer:
        assert consumer.wait_until_ready(1.0) == {A, B}
        found = why(consumer)
        assert (found.cause, found.partitions) == (EmptyCause.OPEN_TRANSACTION, (A,))
        assert "transactions that are open hold back 4 offsets" in found.text
        world.control.append(A, b"behind it")
        consumer.poll(1.0)
        assert "hold back 5 offsets" in why(consumer).text
        consumer.pause(A)
        assert why(consumer).cause is EmptyCause.NOTHING_NEW
        consumer.resume(A)
        world.control.end_transaction(A, 9, committed=False)
        assert [each.value for each in consumer.poll(1.0)] == [b"behind it"] * 4
        assert why(consumer).cause is EmptyCause.NOTHING_NEW


@contextmanager
def held_by_two(world: World) -> Iterator[tuple[KafkaProducer, KafkaProducer]]:
    """Two producers with a transaction open in a partition, one behind the other."""
    with (
        transactional(world, transactional_id="first") as first,
        transactional(world, transactional_id="second") as second,
    ):
        for producer in (first, second):
            producer.begin_transaction()
            write(producer, b"v")
            producer.flush(5.0)
        world.control.forget_requests()
        yield first, second


def test_the_producer_of_the_first_open_transaction_is_named() -> None:
    """B562: by the next empty poll, until the transaction ends; the leader is asked for it."""
    world = world_of(2)
    with (
        held_by_two(world) as (first, _second),
        reader(world, A, B, isolation_level="read_committed") as consumer,
    ):
        ids = world.control.transactions()
        assert why(consumer).transactions == ()
        found = why(consumer)
        (named,) = found.transactions
        assert (named.partition, named.first_offset) == (A, 0)
        assert named.producer_id == ids["first"].producer_id
        assert (
            f"that of producer {named.producer_id} (epoch {named.producer_epoch}) in orders-0 "
            f"begins at offset 0, and its last record is of "
        ) in found.text
        first.commit_transaction(5.0)
        assert len(consumer.poll(1.0)) == 1
        assert why(consumer).transactions == ()
        consumer.poll(5.0)
        why(consumer)
        (named,) = why(consumer).transactions
        assert (named.producer_id, named.first_offset) == (ids["second"].producer_id, 1)


def test_empty_polls_ask_for_open_transactions_seldom() -> None:
    """B562: once in five seconds, however often they are asked why; and nobody else does."""
    world = world_of(2)
    with held_by_two(world):
        with reader(world, isolation_level="read_committed") as consumer:
            assert why(consumer).cause is EmptyCause.OPEN_TRANSACTION
            for _ in range(35):
                assert consumer.poll(0.1).why_empty is not None
            assert len(world.control.requests("DescribeProducers")) == 1
            for _ in range(100):
                consumer.poll(0.1)
            assert len(world.control.requests("DescribeProducers")) == 1
            assert why(consumer).transactions
            assert why(consumer).transactions
            assert len(world.control.requests("DescribeProducers")) == 2
        with reader(world) as consumer:
            assert len(consumer.poll(1.0)) == 2
            assert why(consumer).cause is EmptyCause.NOTHING_NEW
        assert len(world.control.requests("DescribeProducers")) == 2


@pytest.mark.parametrize("code", [29, 6, 42])
def test_a_leader_that_does_not_tell_does_no_harm(code: int) -> None:
    """B562: the reason goes without the name, and later polls ask again."""
    world = world_of(2)
    with (
        held_by_two(world),
        reader(world, isolation_level="read_committed") as consumer,
    ):
        with world.control.fail("DescribeProducers", code, times=None):
            why(consumer)
            found = why(consumer)
            assert (found.cause, found.transactions) == (EmptyCause.OPEN_TRANSACTION, ())
        consumer.poll(40.0)
        why(consumer)
        assert len(why(consumer).transactions) == 1


def test_a_broker_that_cannot_tell_is_asked_for_nothing() -> None:
    """B562: before Kafka 2.8 there is no DescribeProducers."""
    world = world_of(2)
    world.control.withdraw("DescribeProducers")
    with (
        held_by_two(world),
        reader(world, isolation_level="read_committed") as consumer,
    ):
        for _ in range(3):
            found = why(consumer)
            assert (found.cause, found.transactions) == (EmptyCause.OPEN_TRANSACTION, ())
    assert not world.control.requests("DescribeProducers")


def test_the_reason_of_a_poll_before_the_close() -> None:
    """B562: a consumer that is closed asks no leader any more."""
    world = world_of(2)
    with held_by_two(world):
        with reader(world, isolation_level="read_committed") as consumer:
            consumer.poll(1.0)
            records = consumer.poll(1.0)
        assert records.why_empty is not None
        assert records.why_empty.cause is EmptyCause.OPEN_TRANSACTION
    assert not world.control.requests("DescribeProducers")


@pytest.mark.parametrize("stamp", [-1, 0, 1_795_840_000_000, 2**62, -(2**62)])
def test_any_timestamp_of_a_producer_can_be_told(stamp: int) -> None:
    """B562: it is a producer's word, by way of a broker."""
    assert "begins at offset 3" in str(OpenTransaction(A, 9, 0, 3, stamp))


def test_who_reads_all_records_waits_for_no_transaction() -> None:
    """B426: and is told of none."""
    with reader(with_an_open_transaction(behind=1)) as consumer:
        assert len(consumer.poll(1.0)) == 2
        assert why(consumer).cause is EmptyCause.NOTHING_NEW


def test_a_position_that_a_transaction_has_yet_to_settle_is_told_of() -> None:
    """B425: by a poll and by `wait_until_ready`, until the transaction ends."""
    world = written(3)
    with world.consumer(group_id="billing") as consumer:
        consumer.commit_sync({A: OffsetAndMetadata(1)})
        consumer.assign((A, B))
        open_transaction = world.control.unstable_offsets("billing", A)
        with open_transaction:
            found = why(consumer)
            assert (found.cause, found.partitions) == (EmptyCause.NO_POSITION, (A,))
            assert found.text.startswith("a transaction that is open commits offsets")
            with pytest.raises(TimeoutException, match="a transaction that is open commits"):
                consumer.wait_until_ready(1.0)
        assert consumer.wait_until_ready(2.0) == {A, B}
        assert len(consumer.poll(1.0)) == 2
