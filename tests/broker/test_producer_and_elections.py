"""A producer while elections give its partitions other leaders, again and again.

No broker dies, so each old leader answers on: what a request brings may be in its log, wait for
followers, and be refused since it leads no more. librdkafka 2.16 writes batches twice then (its
issue 4953).
"""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import confluent_kafka
import pytest

from prokurist import KafkaProducer
from prokurist.errors import KafkaException
from prokurist.events.accumulator.record_metadata import RecordMetadata
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Consuming
from tests.soak.moving import move_leaders
from tests.soak.numbering import Places, value_of

pytestmark = [pytest.mark.kafka, pytest.mark.minutes]

PARTITIONS: Final = 12
SECONDS: Final = 30.0
MOVES: Final = 50
"""New leaders below which the run has shown nothing; there are some one hundred and eighty."""


def elect(kafka: RealKafka, topic: str, over: threading.Event) -> int:
    """Have half of the partitions led by other nodes, until it is over: how many moved."""
    lot = random.Random(1)  # noqa: S311 - a lot to be drawn again
    moved = 0
    while not over.wait(lot.uniform(0.2, 0.8)):
        moved += move_leaders(kafka, topic, PARTITIONS, lot.randrange(3), lot)
    return moved


@pytest.fixture
def topic(prokurist_cluster: RealKafka) -> Iterator[str]:
    """Partitions on all three nodes, of which two have to have each record."""
    name = prokurist_cluster.unique_topic(
        partitions=PARTITIONS, replication_factor=3, configs={"min.insync.replicas": 2}
    )
    yield name
    prokurist_cluster.delete_topic(name)


def test_each_record_is_written_once_and_in_order(
    prokurist_cluster: RealKafka, topic: str, consumer_of: Consuming
) -> None:
    """B231: with five requests in flight a record's sequence number is its offset."""
    kafka = prokurist_cluster
    sent = [0] * PARTITIONS
    wrongs: list[str] = []
    lot = random.Random(2)  # noqa: S311 - a lot to be drawn again

    def delivered(sequence: int, at: RecordMetadata, error: KafkaException | None) -> None:
        # A broker that has it already, from an attempt whose answer was lost, says not where.
        if error is not None or at.offset not in (sequence, -1):
            wrongs.append(f"record {sequence} of partition {at.partition}: {error or at}")

    over = threading.Event()
    with (
        ThreadPoolExecutor(1) as pool,
        KafkaProducer(
            bootstrap_servers=kafka.bootstrap, linger_ms=20, compression_type="lz4"
        ) as producer,
    ):
        elections = pool.submit(elect, kafka, topic, over)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for _ in range(lot.choice([20, 20, 20, 1000])):
                partition = lot.randrange(PARTITIONS)
                value = value_of(partition, sent[partition])
                told = partial(delivered, sent[partition])
                sent[partition] += 1
                producer.send(topic, value, partition=partition, on_delivery=told)
            time.sleep(0.02)
        over.set()
        producer.flush(60.0)
        assert elections.result() > MOVES
    assert not wrongs, wrongs[:10]

    theirs = consumer_of(kafka.bootstrap, "reads-ours")
    theirs.assign(
        [confluent_kafka.TopicPartition(topic, each, 0) for each in range(PARTITIONS)]
    )
    places = Places(range(PARTITIONS))
    until = time.monotonic() + 60.0
    while places.count < sum(sent):
        assert time.monotonic() < until, (places.next, sent)
        for each in theirs.consume(1000, 0.5):
            places.saw(int(each.partition() or 0), int(each.offset() or 0), each.value())
    assert not places.wrongs
    assert list(places.next.values()) == sent
