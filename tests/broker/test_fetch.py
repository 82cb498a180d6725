"""Records out of a real Kafka, written by a client that is not ours."""

import time
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest

from prokurist import ConsumerRecord, KafkaConsumer, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.broker.watching import Watch, soon

pytestmark = pytest.mark.kafka


@pytest.fixture
def tp(prokurist_topic: str) -> TopicPartition:
    """A partition of a topic of the test's own, without records."""
    return TopicPartition(prokurist_topic, 0)


def reader(kafka: RealKafka, tp: TopicPartition, **keys: Any) -> KafkaConsumer:
    """A consumer that reads a partition from its beginning."""
    keys.setdefault("auto_offset_reset", "earliest")
    consumer = KafkaConsumer({"bootstrap.servers": kafka.bootstrap}, **keys)
    consumer.assign(tp)
    return consumer


def taken(consumer: KafkaConsumer, count: int, within: float = 60.0) -> list[ConsumerRecord]:
    """Poll until there are so many records."""
    until = time.monotonic() + within
    records: list[ConsumerRecord] = []
    while len(records) < count:
        assert time.monotonic() < until, f"{len(records)} of {count} records"
        records += consumer.poll(1.0)
    return records


def write(producer: confluent_kafka.Producer, tp: TopicPartition, *values: bytes) -> None:
    """Have values written, in order."""
    for value in values:
        producer.produce(tp.topic, value, partition=tp.partition)
    assert producer.flush(60) == 0


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing, codec: str
) -> None:
    """B115: keys, values, headers, nulls and timestamps come as they were written."""
    producer = producer_of(prokurist_kafka.bootstrap, compression_type=codec, linger_ms=50)
    for nth in range(1000):
        producer.produce(
            tp.topic,
            None if nth % 10 == 0 else b"value %d" % nth * 20,
            None if nth % 7 == 0 else b"key %d" % nth,
            tp.partition,
            headers=[("nth", str(nth)), ("none", None)],
            timestamp=1_700_000_000_000 + nth,
        )
    producer.flush(20)
    with reader(prokurist_kafka, tp, max_poll_records=300) as consumer:
        records = taken(consumer, 1000)
    assert [each.offset for each in records] == list(range(1000))
    for nth, each in enumerate(records):
        assert each.value == (None if nth % 10 == 0 else b"value %d" % nth * 20)
        assert each.key == (None if nth % 7 == 0 else b"key %d" % nth)
        assert each.headers == [("nth", str(nth).encode()), ("none", None)]
        assert each.timestamp == 1_700_000_000_000 + nth


def test_transactions(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B105: aborted records are never returned to who reads committed ones."""
    producer = producer_of(prokurist_kafka.bootstrap, transactional_id=tp.topic)
    producer.init_transactions(20)
    for nth in range(4):
        producer.begin_transaction()
        write(producer, tp, *(b"%d" % nth for _ in range(5)))
        if nth % 2:
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
    with reader(prokurist_kafka, tp, isolation_level="read_committed") as consumer:
        assert [each.value for each in taken(consumer, 10)] == [b"0"] * 5 + [b"2"] * 5
        until = time.monotonic() + 60
        while consumer.position(tp) < 24:
            assert not consumer.poll(0.5)
            assert time.monotonic() < until
    with reader(prokurist_kafka, tp) as consumer:
        assert len(taken(consumer, 20)) == 20


def test_what_is_written_while_a_poll_waits(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B112, B113: it comes at once; a parked fetch delays neither calls nor the end."""
    producer = producer_of(prokurist_kafka.bootstrap)
    consumer = reader(prokurist_kafka, tp, fetch_max_wait_ms=29_000)
    write(producer, tp, b"one")
    assert [each.value for each in taken(consumer, 1)] == [b"one"]
    assert not consumer.poll(0.5)
    with soon():
        assert consumer.end_offsets(tp, timeout=60) == {tp: 1}
        producer.produce(tp.topic, b"two", partition=tp.partition)
        producer.poll(0)
        assert [each.value for each in consumer.poll(60)] == [b"two"]
        consumer.close()


def test_calls_beside_a_parked_fetch(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B23, B217, B188: calls are answered or end in time, and so does the consumer."""
    write(producer_of(prokurist_kafka.bootstrap), tp, b"one")
    consumer = reader(prokurist_kafka, tp, fetch_max_wait_ms=29_000, group_id=tp.topic)
    assert len(taken(consumer, 1)) == 1
    consumer.commit_sync(timeout=20)
    assert not consumer.poll(0.3)
    with soon():
        consumer.commit_sync(timeout=60)
        assert consumer.end_offsets(tp, timeout=60) == {tp: 1}
        assert consumer.committed(tp, timeout=60)[tp].offset == 1  # type: ignore[union-attr]
    prokurist_kafka.freeze()
    with Watch(0.3), pytest.raises(errors.TimeoutException):
        consumer.committed(tp, timeout=0.3)
    prokurist_kafka.thaw()
    consumer.poll(0.3)
    with soon():
        consumer.close()


def test_polls_on_what_is_buffered_wake_no_thread(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B266: they post nothing, and the network thread does not turn for them."""
    write(producer_of(prokurist_kafka.bootstrap), tp, *(b"%d" % nth for nth in range(200)))
    with reader(prokurist_kafka, tp, max_poll_records=1, fetch_max_wait_ms=20_000) as consumer:
        records = taken(consumer, 1)

        def woke_no_thread() -> bool:
            before = consumer.health().turns
            records.extend(each for _ in range(30) for each in consumer.poll(1.0))
            time.sleep(0.2)  # For a woken thread to come.
            return consumer.health().turns == before

        # When all is fetched, and the next fetch is parked.
        assert any(woke_no_thread() for _ in range(6))
        assert [each.offset for each in records] == list(range(len(records)))


def test_deleted_records(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B101: out of range, by the policy or without one."""
    write(producer_of(prokurist_kafka.bootstrap), tp, *(b"%d" % nth for nth in range(10)))
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": prokurist_kafka.bootstrap})
    below = confluent_kafka.TopicPartition(tp.topic, tp.partition, 6)
    for each in admin.delete_records([below]).values():
        each.result(20)
    del admin, each  # Its sockets go with it.
    with reader(prokurist_kafka, tp) as consumer:
        consumer.seek(tp, 2)
        assert [each.offset for each in taken(consumer, 4)] == [6, 7, 8, 9]
    with reader(prokurist_kafka, tp, auto_offset_reset="none") as consumer:
        consumer.seek(tp, 2)
        with pytest.raises(errors.OffsetOutOfRangeException) as caught:
            consumer.poll(60)
        assert caught.value.offsets == {tp: 2}


def test_an_iteration(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """Every record once, in order, and an end when nothing comes."""
    write(producer_of(prokurist_kafka.bootstrap), tp, *(b"%d" % nth for nth in range(2000)))
    with reader(prokurist_kafka, tp, value_deserializer=int) as consumer:
        values = [each.value for each in consumer.records(idle_timeout=6.0)]
    assert values == list(range(2000))


def test_leaders_that_move_under_load(
    prokurist_cluster: RealKafka, producer_of: Producing
) -> None:
    """B106: a killed broker's partitions are read on from their new leader."""
    kafka = prokurist_cluster
    topic = kafka.unique_topic(partitions=3, replication_factor=3)
    partitions = [TopicPartition(topic, number) for number in range(3)]
    producer = producer_of(kafka.bootstrap, acks="all", enable_idempotence=True)
    seen: dict[TopicPartition, list[int]] = {tp: [] for tp in partitions}
    with KafkaConsumer(
        {"bootstrap.servers": kafka.bootstrap}, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign(partitions)
        written, until = 0, time.monotonic() + 90
        while sum(map(len, seen.values())) < 3 * 60:
            assert time.monotonic() < until, {tp: len(each) for tp, each in seen.items()}
            if written < 60:
                for tp in partitions:
                    producer.produce(tp.topic, b"x", partition=tp.partition)
                producer.flush(30)
                written += 1
            if written == 20:
                kafka.kill(2)
            for record in consumer.poll(0.2):
                seen[TopicPartition(record.topic, record.partition)].append(record.offset)
    kafka.heal()
    assert seen == {tp: list(range(60)) for tp in partitions}
