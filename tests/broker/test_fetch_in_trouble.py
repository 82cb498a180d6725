"""Records out of a real Kafka: compacted, deleted, of a nearer node, after death, at speed."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest

from prokurist import ConsumerRecord, KafkaConsumer, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.broker.watching import LATE, Watch, is_sent_to_a_replica
from tests.processes_watch import ProcessesWatch

pytestmark = pytest.mark.kafka

Eventually = Callable[..., Any]

HASTE = 0.1
"""Ten times what a commit may wait behind fetches, without what the machine gave to others."""


def reader(kafka: RealKafka, tp: TopicPartition, **keys: Any) -> KafkaConsumer:
    """A consumer that reads a partition from its beginning."""
    keys.setdefault("auto_offset_reset", "earliest")
    consumer = KafkaConsumer({"bootstrap.servers": kafka.bootstrap}, **keys)
    consumer.assign(tp)
    return consumer


def read_to(consumer: KafkaConsumer, tp: TopicPartition, end: int) -> list[ConsumerRecord]:
    """Poll until the position is there."""
    records: list[ConsumerRecord] = []
    until = time.monotonic() + 90
    while (at := consumer.position(tp, timeout=10)) < end:
        assert time.monotonic() < until, f"at {at} of {end}, with {len(records)} records"
        records += consumer.poll(0.5)
    return records


def write(producer: confluent_kafka.Producer, tp: TopicPartition, *values: bytes) -> None:
    """Have values written, in order, each with its last digit for a key."""
    for value in values:
        producer.produce(tp.topic, value, value[-1:], partition=tp.partition)
    assert producer.flush(60) == 0


def delete_below(kafka: RealKafka, tp: TopicPartition, offset: int) -> None:
    """What `kafka-delete-records` does."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": kafka.bootstrap})
    below = confluent_kafka.TopicPartition(tp.topic, tp.partition, offset)
    for each in admin.delete_records([below]).values():
        each.result(20)


def test_a_backlog_over_a_slow_link(prokurist_kafka: RealKafka, producer_of: Producing) -> None:
    """B414: all of it in one answer would take twice as long as an answer may."""
    topic = prokurist_kafka.unique_topic(partitions=3)
    partitions = [TopicPartition(topic, number) for number in range(3)]
    producer = producer_of(prokurist_kafka.bootstrap, compression_type="none")
    for tp in partitions:
        write(producer, tp, *[b"%01000d" % nth for nth in range(700)])
    found: dict[TopicPartition, list[int]] = {tp: [] for tp in partitions}
    with (
        prokurist_kafka.proxy().throttle(400_000, "to_client"),
        KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            auto_offset_reset="earliest",
            request_timeout_ms=2000,
        ) as consumer,
    ):
        consumer.assign(partitions)
        until = time.monotonic() + 60.0
        while sum(map(len, found.values())) < 2100:
            assert time.monotonic() < until, {tp: len(each) for tp, each in found.items()}
            for record in consumer.poll(1.0):
                found[TopicPartition(record.topic, record.partition)].append(record.offset)
    assert found == {tp: list(range(700)) for tp in partitions}


def test_a_compacted_topic(
    prokurist_kafka: RealKafka, producer_of: Producing, eventually: Eventually
) -> None:
    """B104, B115: records are missing in the middle; aborted ones and a marker are the last."""
    topic = prokurist_kafka.unique_topic(
        configs={
            "cleanup.policy": "compact",
            "segment.ms": 50,
            "min.cleanable.dirty.ratio": 0.001,
            "max.compaction.lag.ms": 1,
        }
    )
    tp = TopicPartition(topic, 0)
    plain = producer_of(prokurist_kafka.bootstrap, compression_type="lz4", linger_ms=5)
    written = 0

    def compacted() -> list[ConsumerRecord]:
        nonlocal written
        # The segment that is written to is never compacted: have it become an old one.
        write(plain, tp, *(b"%d" % (written + nth) for nth in range(30)))
        written += 30
        with reader(prokurist_kafka, tp) as consumer:
            records = read_to(consumer, tp, written)
        return records if len(records) < written else []

    eventually(compacted, within=60)
    producer = producer_of(prokurist_kafka.bootstrap, transactional_id=topic)
    producer.init_transactions(20)
    for name, end in (
        (b"kept", producer.commit_transaction),
        (b"x", producer.abort_transaction),
    ):
        producer.begin_transaction()
        write(producer, tp, *(name + b"%d" % nth for nth in range(10)))
        end(20)
    end_of_log = written + 2 * 11
    with reader(prokurist_kafka, tp, isolation_level="read_committed") as consumer:
        records = read_to(consumer, tp, end_of_log)
        offsets = [each.offset for each in records]
        assert offsets == sorted(set(offsets))
        latest = {each.key: each.value for each in records}
        assert latest == {b"%d" % nth: b"kept%d" % nth for nth in range(10)}
        assert all(
            each.value == b"%d" % each.offset for each in records if each.offset < written
        )
        assert consumer.position(tp) == end_of_log
        assert consumer.current_lag(tp) in {0, None}
        assert not consumer.poll(0.3)


def test_records_deleted_under_a_reader(
    prokurist_kafka: RealKafka, prokurist_topic: str, producer_of: Producing
) -> None:
    """B101: what is left of the log comes, once and in order, even with gaps in it."""
    tp = TopicPartition(prokurist_topic, 0)
    producer = producer_of(prokurist_kafka.bootstrap, batch_size=10_000)
    write(producer, tp, *(b"%0500d" % nth for nth in range(2000)))
    with reader(
        prokurist_kafka,
        tp,
        max_poll_records=50,
        fetch_buffer_max_bytes=100_000,
        max_partition_fetch_bytes=20_000,
    ) as consumer:
        first = read_to(consumer, tp, 100)
        delete_below(prokurist_kafka, tp, 1500)
        records = first + read_to(consumer, tp, 2000)
    offsets = [each.offset for each in records]
    assert offsets == sorted(set(offsets))
    assert offsets[: len(first)] == list(range(len(first)))
    assert set(range(1500, 2000)) <= set(offsets)
    assert len(offsets) < 2000
    assert all(int(each.value) == each.offset for each in records)


def test_a_broker_that_is_killed_and_restarted(
    prokurist_own_kafka: RealKafka, producer_of: Producing
) -> None:
    """B106, B27: polls return nothing while it is dead, and then go on where they were."""
    kafka = prokurist_own_kafka
    tp = TopicPartition(kafka.unique_topic(), 0)
    producer = producer_of(kafka.bootstrap)
    write(producer, tp, *(b"%0200d" % nth for nth in range(20_000)))
    with reader(kafka, tp, max_poll_records=100) as consumer:
        records = read_to(consumer, tp, 500)
        kafka.kill()
        until = time.monotonic() + 3
        while time.monotonic() < until:
            with Watch(0.0, 0.2 + LATE):
                records += consumer.poll(0.2)
        kafka.restart()
        records += read_to(consumer, tp, 20_000)
    assert [each.offset for each in records] == list(range(20_000))


def test_the_nearer_replica(
    prokurist_cluster: RealKafka, producer_of: Producing, eventually: Eventually
) -> None:
    """B110: records come from the rack's own node, whose leader may be deaf meanwhile."""
    kafka = prokurist_cluster
    tp = TopicPartition(kafka.unique_topic(replication_factor=3), 0)
    producer = producer_of(kafka.direct_bootstrap, acks="all")
    [leader] = kafka.leaders(tp.topic)
    near = (leader + 1) % 3
    write(producer, tp, b"0", b"1")
    with reader(kafka, tp, client_rack=f"rack-{near}", request_timeout_ms=60_000) as consumer:
        assert [each.offset for each in read_to(consumer, tp, 2)] == [0, 1]
        eventually(lambda: (consumer.poll(0.2), is_sent_to_a_replica(consumer, tp))[1])
        with kafka.proxy(leader).swallow("to_client"):
            write(producer, tp, b"2", b"3")
            assert [each.offset for each in read_to(consumer, tp, 4)] == [2, 3]
    kafka.heal()


def test_commits_while_consuming_flat_out(
    prokurist_kafka: RealKafka, prokurist_topic: str, producer_of: Producing
) -> None:
    """B270, B34: a commit waits for no fetch, and covers what was returned, to the record."""
    tp = TopicPartition(prokurist_topic, 0)
    producer = producer_of(prokurist_kafka.bootstrap, linger_ms=20, batch_size=200_000)
    for _ in range(300_000):
        producer.produce(tp.topic, bytes(200), partition=0)
        producer.poll(0)
        if len(producer) > 50_000:
            producer.flush(60)
    assert producer.flush(60) == 0
    with reader(
        prokurist_kafka, tp, group_id=prokurist_topic, enable_auto_commit=False
    ) as consumer:
        idle: list[float] = []
        busy: list[float] = []

        def commit(took: list[float]) -> None:
            stopwatch = ProcessesWatch()
            consumer.commit_sync(timeout=60)
            took.append(max(0.0, stopwatch.fair()))

        consumer.pause(tp)
        consumer.position(tp, timeout=10)
        for _ in range(30):
            consumer.poll(0)
            commit(idle)
        consumer.resume(tp)
        count = polls = 0
        while count < 300_000:
            for record in consumer.poll(5.0):
                assert record.value is not None
                count += 1
            polls += 1
            if polls % 20 == 0:
                commit(busy)
                assert consumer.committed(tp)[tp].offset == count  # type: ignore[union-attr]
    assert len(busy) > 10
    assert statistics.median(busy) < statistics.median(idle) + HASTE, (idle, busy)
