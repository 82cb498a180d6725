"""kafka-python takes the embedded broker for a broker."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.types import TopicPartition as Tp

if TYPE_CHECKING:
    from prokurist.testing.broker import EmbeddedBroker

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # type: ignore[import-untyped]
    from kafka import TopicPartition

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def consumer(broker: "EmbeddedBroker") -> Iterator[Any]:
    """A consumer with partitions of its own choice."""
    with closing(
        kafka.KafkaConsumer(
            bootstrap_servers=broker.bootstrap.split(","),
            group_id="billing",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
    ) as made:
        yield made


def test_topics_are_listed(consumer: Any) -> None:
    """With their partitions."""
    assert consumer.topics() == {"orders"}
    assert consumer.partitions_for_topic("orders") == {0, 1, 2}


def test_what_is_produced_is_consumed(broker: "EmbeddedBroker", consumer: Any) -> None:
    """In order, from every partition."""
    with closing(
        kafka.KafkaProducer(bootstrap_servers=broker.bootstrap.split(","))
    ) as producer:
        sent = [producer.send("orders", b"%d" % each, partition=each % 3) for each in range(12)]
        producer.flush(10)
        assert [each.get(1).offset for each in sent] == [each // 3 for each in range(12)]
    consumer.assign([TopicPartition("orders", each) for each in range(3)])
    seen: list[bytes] = []
    while len(seen) < 12:
        came = consumer.poll(5000)
        assert came
        seen += [record.value for each in came.values() for record in each]
    assert sorted(seen, key=int) == [b"%d" % each for each in range(12)]
    assert consumer.position(ORDERS) == 4


def test_offsets_are_committed_and_found_again(broker: "EmbeddedBroker", consumer: Any) -> None:
    """By a client without membership."""
    broker.append(Tp("orders", 0), b"one", b"two")
    consumer.assign([ORDERS])
    assert consumer.poll(5000)
    consumer.commit()
    assert consumer.committed(ORDERS) == 2
    assert consumer.committed(TopicPartition("orders", 1)) is None
    assert broker.committed("billing")[Tp("orders", 0)].offset == 2


def test_ends_and_times_are_looked_up(broker: "EmbeddedBroker", consumer: Any) -> None:
    """Beginning, end, and the first record at or after a moment."""
    for timestamp in (1000, 2000, 3000):
        broker.append(Tp("orders", 0), b"v", timestamp=timestamp)
    broker.delete_records(Tp("orders", 0), 1)
    assert consumer.beginning_offsets([ORDERS]) == {ORDERS: 1}
    assert consumer.end_offsets([ORDERS]) == {ORDERS: 3}
    found = consumer.offsets_for_times({ORDERS: 2500})[ORDERS]
    assert (found.offset, found.timestamp) == (2, 3000)
    assert consumer.offsets_for_times({ORDERS: 9000}) == {ORDERS: None}


def test_a_frozen_broker_makes_a_call_wait_until_it_thaws(
    broker: "EmbeddedBroker", consumer: Any
) -> None:
    """The very call that stood still is answered."""
    assert consumer.end_offsets([ORDERS]) == {ORDERS: 0}
    answers: list[Any] = []
    caller = threading.Thread(target=lambda: answers.append(consumer.end_offsets([ORDERS])))
    with broker.freeze():
        caller.start()
        caller.join(0.3)
        assert caller.is_alive()
    caller.join(20)
    assert answers == [{ORDERS: 0}]
