"""librdkafka takes the embedded broker for a broker."""

import threading
from typing import TYPE_CHECKING

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition

from prokurist.types import TopicPartition as Tp

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from prokurist.testing.broker import EmbeddedBroker

    Consumers = Callable[..., confluent_kafka.Consumer]

ORDERS = Tp("orders", 0)


def test_topics_and_brokers_are_listed(
    broker: "EmbeddedBroker", librdkafka: "Consumers"
) -> None:
    """With the addresses that it listens at."""
    listed = librdkafka().list_topics(timeout=5)
    assert {node.id: node.port for node in listed.brokers.values()} == dict(
        enumerate(broker.ports, start=1)
    )
    assert {name: len(each.partitions) for name, each in listed.topics.items()} == {"orders": 3}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_consumed(
    broker: "EmbeddedBroker", librdkafka: "Consumers", quiet: "logging.Logger", codec: str
) -> None:
    """Idempotently, in every compression, in order, from every partition."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "compression.type": codec,
        },
        logger=quiet,
    )
    for each in range(30):
        producer.produce("orders", b"%d" % each * 50, b"key", partition=each % 3)
    assert producer.flush(10) == 0
    consumer = librdkafka()
    consumer.assign([TopicPartition("orders", each, 0) for each in range(3)])
    seen: dict[int | None, list[bytes | None]] = {0: [], 1: [], 2: []}
    while sum(map(len, seen.values())) < 30:
        message = consumer.poll(5)
        assert message is not None
        assert message.error() is None
        seen[message.partition()].append(message.value())
    assert seen == {part: [b"%d" % n * 50 for n in range(part, 30, 3)] for part in range(3)}
    assert broker.offsets(ORDERS) == (0, 10)


def test_offsets_are_committed_and_found_again(
    broker: "EmbeddedBroker", librdkafka: "Consumers"
) -> None:
    """By a client without membership."""
    consumer = librdkafka()
    broker.append(ORDERS, b"one", b"two")
    consumer.commit(offsets=[TopicPartition("orders", 0, 2)], asynchronous=False)
    found = consumer.committed([TopicPartition("orders", each) for each in (0, 1)], timeout=5)
    assert [each.offset for each in found] == [2, confluent_kafka.OFFSET_INVALID]
    assert broker.committed("billing")[ORDERS].offset == 2


def test_ends_and_times_are_looked_up(
    broker: "EmbeddedBroker", librdkafka: "Consumers"
) -> None:
    """Beginning, end, and the first record at or after a moment."""
    for timestamp in (1000, 2000, 3000):
        broker.append(ORDERS, b"v", timestamp=timestamp)
    broker.delete_records(ORDERS, 1)
    consumer = librdkafka()
    assert consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=5) == (1, 3)
    asked = [TopicPartition("orders", 0, timestamp) for timestamp in (0, 2500, 9000)]
    found = [consumer.offsets_for_times([each], timeout=5)[0].offset for each in asked]
    assert found == [1, 2, confluent_kafka.OFFSET_END]


def test_a_frozen_broker_makes_a_call_wait_until_it_thaws(
    broker: "EmbeddedBroker", librdkafka: "Consumers"
) -> None:
    """The very call that stood still is answered."""
    consumer = librdkafka()
    consumer.list_topics(timeout=5)
    with broker.freeze(), pytest.raises(confluent_kafka.KafkaException):
        consumer.list_topics(timeout=0.3)
    answers = []
    caller = threading.Thread(target=lambda: answers.append(consumer.list_topics(timeout=10)))
    with broker.freeze():
        caller.start()
        caller.join(0.3)
        assert caller.is_alive()
    caller.join(20)
    assert not caller.is_alive()
    assert "orders" in answers[0].topics


def test_a_consumer_goes_on_at_the_new_leader(
    broker: "EmbeddedBroker", librdkafka: "Consumers"
) -> None:
    """After its broker was killed, with the records that came meanwhile."""
    consumer = librdkafka(**{"topic.metadata.refresh.interval.ms": 500})
    broker.append(ORDERS, b"before")
    consumer.assign([TopicPartition("orders", 0, 0)])
    message = consumer.poll(5)
    assert message is not None
    assert message.value() == b"before"
    broker.kill(1)
    broker.append(ORDERS, b"after")
    message = consumer.poll(10)
    while message is not None and message.error():
        message = consumer.poll(10)
    assert message is not None
    assert (message.value(), message.offset()) == (b"after", 1)


def test_a_topic_is_made_by_an_administrator(
    broker: "EmbeddedBroker", librdkafka: "Consumers", quiet: "logging.Logger"
) -> None:
    """And is visible to every client."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap}, logger=quiet)
    [made] = admin.create_topics([NewTopic("made", 2, 1)], operation_timeout=5).values()
    made.result(5)
    assert len(librdkafka().list_topics(timeout=5).topics["made"].partitions) == 2
