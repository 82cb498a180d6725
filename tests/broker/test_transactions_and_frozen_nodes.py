"""Ends of transactions on three real nodes, of which one or all are frozen."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

import pytest

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.testing.cluster.transactions import java_hash
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required

pytestmark = pytest.mark.kafka

NODES: Final = 3
NAMES = count()
LATE: Final = 0.5
"""Seconds by which a call may be late on a busy machine."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """Three nodes."""
    kafka = RealKafka(nodes=NODES)
    try:
        kafka.start()
    except KafkaUnavailable as error:
        if is_required():
            raise
        pytest.skip(error.reason)
    try:
        yield kafka
    finally:
        kafka.close()


class Written:
    """A topic with a leader on each node, and a producer with a transaction behind it."""

    def __init__(self, kafka: RealKafka) -> None:
        self.kafka = kafka
        self.topic = f"frozen-nodes-{next(NAMES)}"
        kafka.create_topic(self.topic, partitions=NODES)
        self.producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap, transactional_id=self.topic, linger_ms=0
        )
        self.producer.init_transactions(60.0)
        with self.producer.transaction(60.0):
            self.send(b"before")
        parts = kafka.leaders("__transaction_state")
        self.coordinator = parts[java_hash(self.topic) % len(parts)]
        self.leaders = kafka.leaders(self.topic)
        assert set(self.leaders) == set(range(NODES))

    def send(self, value: bytes) -> None:
        """Send a value to each partition."""
        for partition in range(NODES):
            self.producer.send(self.topic, value, partition=partition)

    def led_by(self, node: int) -> TopicPartition:
        """The partition that a node leads."""
        return TopicPartition(self.topic, self.leaders.index(node))

    @contextmanager
    def frozen(self, *nodes: int) -> Iterator[None]:
        """Freeze nodes for the length of a block."""
        try:
            for node in nodes:
                self.kafka.freeze(node)
            yield
        finally:
            for node in nodes:
                self.kafka.thaw(node)

    def committed(self) -> list[list[bytes | None]]:
        """The values that readers of committed records see, partition by partition."""
        found: list[list[bytes | None]] = [[] for _ in range(NODES)]
        with KafkaConsumer(
            bootstrap_servers=self.kafka.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.assign([TopicPartition(self.topic, each) for each in range(NODES)])
            for record in consumer.records(idle_timeout=3.0):
                found[record.partition].append(record.value)
        return found


@pytest.fixture
def written(kafka: RealKafka) -> Iterator[Written]:
    """The topic and the producer of one test."""
    made = Written(kafka)
    with made.producer:
        yield made


def out_of_time(end: Callable[[float], None]) -> errors.TimeoutException:
    """The error of an end that has two seconds; it is no later than that."""
    began = time.monotonic()
    with pytest.raises(errors.TimeoutException) as raised:
        end(2.0)
    assert 2.0 <= time.monotonic() - began < 2.0 + LATE
    return raised.value


def test_a_commit_before_a_frozen_coordinator(written: Written) -> None:
    """B541: what it has to commit is delivered, so its request is out and in doubt."""
    producer = written.producer
    producer.begin_transaction()
    written.send(b"v")
    producer.flush(30.0)
    with written.frozen(written.coordinator):
        error = out_of_time(producer.commit_transaction)
        assert error.may_have_happened
        assert f"EndTxn to broker {written.coordinator} (" in str(error)
        assert "commit_transaction again" in str(error)
        with pytest.raises(errors.ProducerInDoubtException):
            producer.begin_transaction()
    producer.commit_transaction(60.0)
    assert written.committed() == [[b"before", b"v"]] * NODES


def test_a_commit_before_a_frozen_leader(written: Written) -> None:
    """B541, B572: nothing is in doubt; the error names its partition and its request.

    The others may be named, too: the coordinator's log has a replica on that node.
    """
    producer, leader = written.producer, (written.coordinator + 1) % NODES
    producer.begin_transaction()
    with written.frozen(leader):
        written.send(b"v")
        error = out_of_time(producer.commit_transaction)
        assert not error.may_have_happened
        assert written.led_by(leader) in error.partitions
        assert " on the way: " in str(error)
        assert f"Produce to broker {leader} (" in str(error)
        assert "No end was written, so the transaction is open as before" in str(error)
    producer.commit_transaction(60.0)
    assert written.committed() == [[b"before", b"v"]] * NODES


def test_an_abort_before_a_frozen_leader(written: Written) -> None:
    """B549, B572: a batch on the wire has to be answered first, and the same call goes on."""
    producer, leader = written.producer, (written.coordinator + 1) % NODES
    producer.begin_transaction()
    with written.frozen(leader):
        written.send(b"v")
        time.sleep(0.5)
        error = out_of_time(producer.abort_transaction)
        assert written.led_by(leader) in error.partitions
        assert "abort_transaction again" in str(error)
    producer.abort_transaction(60.0)
    with producer.transaction(60.0):
        written.send(b"w")
    assert written.committed() == [[b"before", b"w"]] * NODES


@pytest.mark.parametrize("delivered", [True, False], ids=["delivered", "not delivered"])
def test_a_commit_before_frozen_nodes(written: Written, *, delivered: bool) -> None:
    """B541: in doubt only where its request was written, whichever nodes are silent."""
    producer = written.producer
    producer.begin_transaction()
    if delivered:
        written.send(b"v")
        producer.flush(30.0)
    with written.frozen(*range(NODES)):
        if not delivered:
            written.send(b"v")
        error = out_of_time(producer.commit_transaction)
        assert error.may_have_happened is delivered
        assert len(error.partitions) == (0 if delivered else NODES)
        again = out_of_time(producer.commit_transaction)
        assert again.may_have_happened is delivered
    producer.commit_transaction(60.0)
    assert written.committed() == [[b"before", b"v"]] * NODES


def test_an_initialisation_before_a_frozen_coordinator(written: Written) -> None:
    """B549: the next process of the id waits by its own time, and fences the one before."""
    with (
        KafkaProducer(
            bootstrap_servers=written.kafka.bootstrap, transactional_id=written.topic
        ) as another,
    ):
        with written.frozen(written.coordinator):
            out_of_time(another.init_transactions)
        another.init_transactions(60.0)
        written.producer.begin_transaction()
        written.send(b"lost")
        with pytest.raises(errors.KafkaException):
            written.producer.commit_transaction(60.0)
        with pytest.raises(errors.ProducerFencedException):
            written.producer.abort_transaction(60.0)
    assert written.committed() == [[b"before"]] * NODES
