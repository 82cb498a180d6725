"""A consumer of committed records, before a transaction that others have open."""

import pytest

from prokurist import EmptyCause, KafkaConsumer, OffsetAndMetadata, TimeoutException
from prokurist.records.why_empty import WhyEmpty
from tests.simulation.reading import A, B, reader, written
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
