"""Read–process–write on three real brokers: rebalances, a dead node, a member that was late."""

import time
from contextlib import ExitStack
from typing import Any

import pytest

from prokurist import KafkaConsumer, KafkaProducer, ReadProcessWrite, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Consuming

pytestmark = pytest.mark.kafka

RECORDS = 400
PARTITIONS = 4
LATE = 7.0
"""Seconds in a block; longer than `max.poll.interval.ms`."""


class Copier:
    """A member that copies, each poll's records in one transaction."""

    def __init__(self, kafka: RealKafka, source: str, protocol: str, name: str) -> None:
        keys: dict[str, Any] = {"session_timeout_ms": 6000} if protocol == "classic" else {}
        self.consumer = KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=f"copiers-{source}",
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=10,
            max_poll_interval_ms=6000,
            **keys,
        )
        self.producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap, transactional_id=f"{source}-{name}"
        )
        self.producer.init_transactions(60.0)
        self.consumer.subscribe([source])
        self.work: ReadProcessWrite = self.producer.read_process_write(self.consumer, 10.0)
        self.failed: list[errors.KafkaException] = []

    def copy(self, target: str, pause: float = 0.0) -> int:
        """Copy the records of one poll; return their number, or 0 after an error."""
        try:
            with self.work.poll(0.5) as records:
                for record in records:
                    self.producer.send(target, record.value, partition=record.partition)
                time.sleep(pause if records else 0.0)
        except errors.KafkaException as error:
            if error.fatal:
                raise
            self.failed.append(error)
            return 0
        return len(records)

    def close(self) -> None:
        """Leave the group."""
        self.consumer.close(10.0)
        self.producer.close(10.0)


def in_parts(found: dict[int, list[bytes | None]]) -> list[list[bytes | None]]:
    """The values by partition, in order of partitions."""
    return [found.get(each, []) for each in range(PARTITIONS)]


def read(kafka: RealKafka, topic: str, consumer_of: Consuming) -> list[list[bytes | None]]:
    """The values that confluent-kafka reads as committed, of each partition."""
    consumer = consumer_of(
        kafka.bootstrap,
        f"readers-of-{topic}",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_partition_eof=True,
    )
    consumer.subscribe([topic])
    found: dict[int, list[bytes | None]] = {}
    ended: set[int | None] = set()
    until = time.monotonic() + 60
    while len(ended) < PARTITIONS and time.monotonic() < until:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
        else:
            found.setdefault(message.partition() or 0, []).append(message.value())
    assert len(ended) == PARTITIONS, "the logs did not end"
    return in_parts(found)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_each_record_counts_once(
    prokurist_own_cluster: RealKafka, consumer_of: Consuming, protocol: str
) -> None:
    """B557, B558: a late member, another that comes and goes, and a node that dies."""
    kafka = prokurist_own_cluster
    source, target = f"orders-{protocol}", f"copies-{protocol}"
    for topic in (source, target):
        kafka.create_topic(topic, partitions=PARTITIONS, replication_factor=3)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        for nth in range(RECORDS):
            producer.send(source, b"%d" % nth, partition=nth % PARTITIONS)
    with ExitStack() as stack:
        one = Copier(kafka, source, protocol, "one")
        stack.callback(one.close)
        copied, until = 0, time.monotonic() + 120
        while not copied and time.monotonic() < until:
            copied += one.copy(target)
        two = Copier(kafka, source, protocol, "two")
        for _ in range(12):
            copied += one.copy(target) + two.copy(target)
        # Its partitions go to the other one in the midst of its block.
        late = one.copy(target, LATE)
        assert late == 0
        assert isinstance(one.failed[-1], errors.CommitFailedException), one.failed
        kafka.kill(1)
        for _ in range(8):
            copied += two.copy(target) + one.copy(target)
        two.close()
        kafka.restart(1)
        while copied < RECORDS and time.monotonic() < until:
            copied += one.copy(target)
    expected = in_parts(
        {each: [b"%d" % nth for nth in range(each, RECORDS, PARTITIONS)] for each in range(4)}
    )
    assert read(kafka, target, consumer_of) == expected
