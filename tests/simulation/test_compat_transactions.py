"""Both faces on a log that others write in transactions."""

import pytest

from prokurist.compat.confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from tests.simulation import test_compat_confluent_kafka as confluent
from tests.simulation import test_compat_kafka as kafka
from tests.simulation.reading import A
from tests.simulation.returning import committed
from tests.simulation.test_compat_confluent_producer import producer_in
from tests.simulation.transacting import committed as visible
from tests.simulation.world import World


def with_transactions() -> World:
    """A log of a transaction that was aborted, one that was committed, and one that is open."""
    world = World()
    for value, producer, is_committed in ((b"aborted", 7, False), (b"committed", 8, True)):
        world.control.append(A, value, producer=producer)
        world.control.end_transaction(A, producer, committed=is_committed)
    world.control.append(A, b"open", producer=9)
    return world


def values_in(consumer: Consumer) -> list[bytes | None]:
    """The values that come until none does."""
    found = []
    while (message := consumer.poll(1.0)) is not None:
        found.append(message.value())
    return found


@pytest.mark.parametrize("name", ["isolation.level", "isolation_level"])
def test_the_default_isolation_is_that_of_librdkafka(name: str) -> None:
    """B424: read_committed unless it is set, for records and for the end of the log."""
    partition = TopicPartition("orders", 0)
    with confluent.assigned(with_transactions()) as consumer:
        assert values_in(consumer) == [b"committed"]
        assert consumer.get_watermark_offsets(partition) == (0, 4)
    with confluent.assigned(with_transactions(), **{name: "read_uncommitted"}) as consumer:
        assert values_in(consumer) == [b"aborted", b"committed", b"open"]
        assert consumer.get_watermark_offsets(partition) == (0, 5)


def test_a_position_is_behind_the_markers_that_were_read() -> None:
    """So that who reads up to the end of a log finds it, and commits it."""
    partition = TopicPartition("orders", 0)
    world = with_transactions()
    with confluent.assigned(world) as consumer:
        assert consumer.poll(1.0) is not None
        assert consumer.position([partition])[0].offset == 3  # The message is in hand.
        assert consumer.poll(1.0) is None
        assert consumer.position([partition])[0].offset == 4
        consumer.commit(asynchronous=False)
        assert committed(world) == 4


def test_a_position_after_an_iteration_is_behind_its_markers() -> None:
    """With kafka-python's face, whose users compare it with the end of the log."""
    world = with_transactions()
    keys = {"isolation_level": "read_committed", "consumer_timeout_ms": 1000}
    with kafka.assigned(world, **keys) as consumer:
        for record in consumer:
            assert consumer.position(A) == record.offset + 1
        assert consumer.position(A) == 4 == consumer.end_offsets([A])[A]
        consumer.commit()
        assert committed(world) == 4


def test_messages_of_a_transaction_are_told_in_its_end() -> None:
    """B565: callbacks run in the commit; an abort purges what is not on the wire."""
    told: list[KafkaError | None] = []
    world = World(topics={"orders": 2})
    with producer_in(
        world, transactional_id="t", on_delivery=lambda error, _: told.append(error)
    ) as producer:
        producer.init_transactions(5.0)
        producer.begin_transaction()
        producer.produce("orders", b"kept", partition=0)
        assert not told
        producer.commit_transaction(5.0)
        assert told == [None]
        producer.begin_transaction()
        for node in world.cluster.state.brokers:
            world.control.freeze(node)
        producer.produce("orders", b"lost", partition=1)
        producer.abort_transaction(5.0)
        assert told[1] == KafkaError._PURGE_QUEUE
        for node in world.cluster.state.brokers:
            world.control.thaw(node)
    assert visible(world) == [b"kept"]


def test_a_message_that_fails_rules_the_commit_out() -> None:
    """B565: also one of a topic that no broker has described."""
    told: list[KafkaError | None] = []
    world = World(topics={"orders": 2})
    with producer_in(
        world,
        transactional_id="t",
        max_block_ms=500,
        on_delivery=lambda error, _: told.append(error),
    ) as producer:
        producer.init_transactions(5.0)
        for lost in (("none", 0), ("orders", 7)):
            producer.begin_transaction()
            producer.produce("orders", b"lost", partition=0)
            producer.produce(lost[0], b"lost", partition=lost[1])
            with pytest.raises(KafkaException) as raised:
                producer.commit_transaction(5.0)
            assert raised.value.args[0].txn_requires_abort()
            producer.abort_transaction(5.0)
        assert [each is None for each in told].count(False) >= 2
    assert visible(world) == []
