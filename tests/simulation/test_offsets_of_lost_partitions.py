"""Offsets in a transaction of a member that has lost its partitions."""

from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, errors
from tests.simulation.transacting import VERSIONS, A, committed, transactional, world_of, write
from tests.simulation.world import World

PROTOCOLS = ("classic", "consumer")


def member(world: World, protocol: str, **keys: Any) -> KafkaConsumer:
    """The only member of a group, with all partitions."""
    consumer = world.consumer(
        None, group_id="g", group_protocol=protocol, enable_auto_commit=False, **keys
    )
    consumer.subscribe("orders")
    while A not in consumer.assignment():
        consumer.poll(0.2)
    return consumer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("instance", [None, "static"])
def test_a_member_that_missed_its_poll_interval(
    version: int, protocol: str, instance: str | None
) -> None:
    """B558: it has left its group by then, which refuses its offsets all the same."""
    world = world_of(version)
    consumer = member(world, protocol, max_poll_interval_ms=10_000, group_instance_id=instance)
    before = consumer.group_metadata()
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        world.clock.sleep(60.0)
        assert consumer.group_metadata() == before
        with pytest.raises(errors.CommitFailedException) as raised:
            producer.send_offsets_to_transaction(
                {A: OffsetAndMetadata(7)}, consumer.group_metadata(), 5.0
            )
        assert raised.value.abortable
        producer.abort_transaction(5.0)
        while consumer.group_metadata() == before:
            consumer.poll(0.2)
        assert consumer.committed(A, 5.0) == {A: None}
        with producer.transaction(5.0) as transaction:
            transaction.send_offsets({A: OffsetAndMetadata(8)}, consumer.group_metadata(), 5.0)
        kept = consumer.committed(A, 5.0)[A]
        assert kept is not None
        assert kept.offset == 8
    consumer.close(5.0)
    assert committed(world, A) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_member_that_has_left_has_no_metadata(protocol: str) -> None:
    """B157: after `unsubscribe` it is unknown, as before the first poll."""
    world = world_of(2)
    consumer = world.consumer(None, group_id="g", group_protocol=protocol)
    consumer.subscribe("orders")
    unknown = consumer.group_metadata()
    assert (unknown.generation_id, unknown.member_id) == (-1, "")
    while A not in consumer.assignment():
        consumer.poll(0.2)
    assert consumer.group_metadata() != unknown
    consumer.unsubscribe()
    assert consumer.group_metadata() == unknown
    consumer.close(5.0)
