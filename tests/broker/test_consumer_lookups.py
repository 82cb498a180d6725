"""Look-ups, positions and poll against a real Kafka of three nodes."""

import time
from collections.abc import Iterator

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.watching import Watch

pytestmark = pytest.mark.kafka

RECORDS = 5


@pytest.fixture(scope="module")
def topic(prokurist_cluster: RealKafka) -> str:
    """A topic of six partitions; five records in its first, a second apart."""
    name = prokurist_cluster.unique_topic("orders", partitions=6, replication_factor=3)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": prokurist_cluster.bootstrap, "log_level": 0}
    )
    for number in range(RECORDS):
        producer.produce(name, b"v", partition=0, timestamp=1_700_000_000_000 + 1000 * number)
    assert producer.flush(20) == 0
    return name


@pytest.fixture
def consumer(prokurist_cluster: RealKafka, topic: str) -> Iterator[KafkaConsumer]:
    """A consumer that begins at the beginning."""
    with KafkaConsumer(
        bootstrap_servers=prokurist_cluster.bootstrap,
        group_id=f"g-{time.monotonic_ns()}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as it:
        it.partitions_for(topic, timeout=20)
        yield it


def test_edges_and_times(consumer: KafkaConsumer, topic: str) -> None:
    """B84, B87: asked of all leaders at once; None where no record is that young."""
    partitions = [TopicPartition(topic, number) for number in range(6)]
    first = partitions[0]
    assert consumer.beginning_offsets(partitions) == dict.fromkeys(partitions, 0)
    ends = dict.fromkeys(partitions, 0) | {first: RECORDS}
    assert consumer.end_offsets(partitions) == ends
    found = consumer.offsets_for_times(dict.fromkeys(partitions, 1_700_000_001_500))
    hit = found[first]
    assert hit is not None
    assert (hit.offset, hit.timestamp) == (2, 1_700_000_002_000)
    assert [tp for tp in partitions if found[tp] is None] == partitions[1:]
    late = consumer.offsets_for_times({first: 1_800_000_000_000})
    assert late == {first: None}


def test_topics(consumer: KafkaConsumer, topic: str) -> None:
    """B195: leaders and replicas by name; none for a topic that does not exist."""
    infos = consumer.partitions_for(topic)
    assert [each.partition for each in infos] == list(range(6))
    assert all(each.leader is not None and len(each.replicas) == 3 for each in infos)
    assert topic in consumer.list_topics()
    with pytest.raises(errors.InvalidTopicException):
        consumer.partitions_for("no topic has a name like this!")


def test_positions(consumer: KafkaConsumer, topic: str) -> None:
    """B74, B75, B82: committed, or by the policy, or sought and looked up when needed."""
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    consumer.commit_sync({first: OffsetAndMetadata(3)}, timeout=20)
    consumer.assign([first, second])
    assert consumer.position(first, timeout=20) == 3
    assert consumer.position(second, timeout=20) == 0
    consumer.seek_to_end(first)
    assert consumer.position(first, timeout=20) == RECORDS
    assert not consumer.poll(0.05)
    consumer.commit_sync(timeout=20)
    assert consumer.committed(first) == {first: OffsetAndMetadata(RECORDS)}


def test_a_leader_that_dies_is_followed(
    consumer: KafkaConsumer, topic: str, prokurist_cluster: RealKafka
) -> None:
    """B83: the look-up is answered by the new leader, within its time."""
    partitions = [TopicPartition(topic, number) for number in range(6)]
    assert consumer.end_offsets(partitions)[partitions[0]] == RECORDS
    prokurist_cluster.kill(1)
    assert consumer.end_offsets(partitions, timeout=60)[partitions[0]] == RECORDS


def test_all_frozen_ends_in_time(
    consumer: KafkaConsumer, topic: str, prokurist_cluster: RealKafka
) -> None:
    """B2, B27, B28: look-ups raise at their deadline, poll returns at its."""
    tp = TopicPartition(topic, 0)
    consumer.assign(tp)
    for node in range(3):
        prokurist_cluster.freeze(node)
    for call in (
        lambda: consumer.end_offsets(tp, timeout=0.4),
        lambda: consumer.list_topics(timeout=0.4),
        lambda: consumer.position(tp, timeout=0.4),
    ):
        with Watch(0.4), pytest.raises(TimeoutException):
            call()
    with Watch(0.4):
        assert not consumer.poll(0.4)
