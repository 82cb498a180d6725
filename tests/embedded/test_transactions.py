"""librdkafka's transactional producer takes the embedded broker for a broker.

What it writes is read by its consumer and by ours, once it is committed and not before.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Theirs

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import TransactionSettings

if TYPE_CHECKING:
    import logging

    Producers = Callable[..., confluent_kafka.Producer]
    Consumers = Callable[..., confluent_kafka.Consumer]

ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 0)
TIMEOUT = 10.0


@pytest.fixture(params=[0, 2], ids=["before 4.0", "of 4.x"])
def broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """Three brokers of either protocol of transactions."""
    settings = TransactionSettings(version=request.param)
    with EmbeddedBroker(3, {"orders": 3, "bills": 1}, transactions=settings) as serving:
        yield serving


@pytest.fixture
def producers(broker: EmbeddedBroker, quiet: "logging.Logger") -> Iterator["Producers"]:
    """Transactional producers of confluent-kafka's."""
    made: list[confluent_kafka.Producer] = []

    def make(name: str = "copier", **settings: Any) -> confluent_kafka.Producer:
        config = {
            "bootstrap.servers": broker.bootstrap,
            "transactional.id": name,
            "linger.ms": 0,
            **settings,
        }
        producer = confluent_kafka.Producer(config, logger=quiet)
        made.append(producer)
        producer.init_transactions(TIMEOUT)
        return producer

    yield make
    for each in made:
        each.purge()


class Readers:
    """Readers of a partition: our consumer and theirs, at both levels of isolation."""

    def __init__(
        self, broker: EmbeddedBroker, theirs: "Consumers", stack: ExitStack, tp: TopicPartition
    ) -> None:
        self._ours = {}
        self._theirs = {}
        for isolation in ("read_committed", "read_uncommitted"):
            ours = KafkaConsumer(bootstrap_servers=broker.bootstrap, isolation_level=isolation)
            stack.enter_context(ours)
            ours.assign(tp)
            ours.seek_to_beginning()
            self._ours[isolation] = ours
            their = theirs(**{"isolation.level": isolation})
            their.assign([Theirs(tp.topic, tp.partition, 0)])
            self._theirs[isolation] = their

    def see(self, isolation: str, *values: bytes) -> None:
        """Read exactly these values, and nothing behind them."""
        found: list[bytes | None] = []
        until = time.monotonic() + TIMEOUT
        while len(found) < len(values) and time.monotonic() < until:
            found += [each.value for each in self._ours[isolation].poll(0.2)]
        assert found + [each.value for each in self._ours[isolation].poll(0.3)] == [*values]
        theirs: list[bytes | None] = []
        while len(theirs) < len(values) and time.monotonic() < until:
            message = self._theirs[isolation].poll(0.2)
            if message is not None and message.error() is None:
                theirs.append(message.value())
        assert theirs == [*values]
        assert self._theirs[isolation].poll(0.3) is None


@pytest.fixture
def readers(
    broker: EmbeddedBroker, librdkafka: "Consumers"
) -> Iterator[Callable[[TopicPartition], Readers]]:
    """Readers of a partition, closed at the end."""
    with ExitStack() as stack:
        yield lambda tp: Readers(broker, librdkafka, stack, tp)


def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    broker: EmbeddedBroker,
    producers: "Producers",
    readers: Callable[[TopicPartition], Readers],
) -> None:
    """Nothing of an open transaction is read with `read_committed`, on any partition."""
    producer = producers()
    reader = readers(ORDERS)
    producer.begin_transaction()
    producer.produce("orders", b"a", partition=0)
    producer.produce("orders", b"b", partition=1)
    assert producer.flush(TIMEOUT) == 0
    reader.see("read_committed")
    reader.see("read_uncommitted", b"a")
    producer.commit_transaction(TIMEOUT)
    reader.see("read_committed", b"a")
    producer.begin_transaction()
    producer.produce("orders", b"c", partition=0)
    assert producer.flush(TIMEOUT) == 0
    producer.abort_transaction(TIMEOUT)
    producer.begin_transaction()
    producer.produce("orders", b"d", partition=0)
    producer.commit_transaction(TIMEOUT)
    reader.see("read_uncommitted", b"c", b"d")
    reader.see("read_committed", b"d")
    assert broker.transactions()["copier"].state == "CompleteCommit"
    assert broker.offsets(TopicPartition("orders", 1)) == (0, 2)


def test_offsets_and_records_are_committed_together(
    broker: EmbeddedBroker, producers: "Producers", librdkafka: "Consumers"
) -> None:
    """Consume, transform, produce: an aborted round leaves neither, a committed one both."""
    broker.append(ORDERS, b"1", b"2", b"3")
    consumer = librdkafka(
        **{"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    read: list[bytes | None] = []
    until = time.monotonic() + TIMEOUT
    while len(read) < 3 and time.monotonic() < until:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            read.append(message.value())
    assert read == [b"1", b"2", b"3"]
    producer = producers()
    for end, offset in (("abort", None), ("commit", 3)):
        producer.begin_transaction()
        producer.produce("bills", b"bill")
        producer.send_offsets_to_transaction(
            [Theirs("orders", 0, 3)], consumer.consumer_group_metadata(), TIMEOUT
        )
        getattr(producer, f"{end}_transaction")(TIMEOUT)
        kept = broker.committed("billing").get(ORDERS)
        assert (kept.offset if kept else None) == offset
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, isolation_level="read_committed"
    ) as bills:
        bills.assign(BILLS)
        bills.seek_to_beginning()
        assert [each.value for each in bills.poll(TIMEOUT)] == [b"bill"]


def test_a_second_instance_fences_the_first(
    broker: EmbeddedBroker, producers: "Producers"
) -> None:
    """The open transaction is aborted, and the first one hears that it is fenced."""
    first = producers()
    first.begin_transaction()
    first.produce("orders", b"a", partition=0)
    assert first.flush(TIMEOUT) == 0
    second = producers()
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(TIMEOUT)
    assert refused.value.args[0].fatal()
    second.begin_transaction()
    second.produce("orders", b"b", partition=0)
    second.commit_transaction(TIMEOUT)
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, isolation_level="read_committed"
    ) as consumer:
        consumer.assign(ORDERS)
        consumer.seek_to_beginning()
        assert [each.value for each in consumer.poll(TIMEOUT)] == [b"b"]


def test_a_transaction_goes_on_where_its_coordinator_moves(
    broker: EmbeddedBroker, producers: "Producers"
) -> None:
    """Between the records and the commit, and while the answer to the commit is lost."""
    producer = producers()
    for fault in (
        lambda: broker.move_transaction_coordinator(
            "copier", (broker.transaction_coordinator("copier") or 0) % 3 + 1
        ),
        lambda: broker.cut("EndTxn", applied=True),
        lambda: broker.transaction_coordinator_loading("copier", times=3),
        lambda: broker.move_leader(ORDERS),
    ):
        producer.begin_transaction()
        producer.produce("orders", b"a", partition=0)
        assert producer.flush(TIMEOUT) == 0
        fault()
        producer.commit_transaction(TIMEOUT)
    assert broker.transactions()["copier"].state == "CompleteCommit"
    assert broker.offsets(ORDERS) == (0, 8)


def test_a_commit_while_the_markers_wait(
    broker: EmbeddedBroker, producers: "Producers"
) -> None:
    """It is done at once; the transaction after it begins when they are written."""
    producer = producers()
    producer.begin_transaction()
    producer.produce("orders", b"a", partition=0)
    held = broker.hold_markers()
    producer.commit_transaction(TIMEOUT)
    assert broker.transactions()["copier"].state == "PrepareCommit"
    undo = threading.Timer(0.5, held.undo)
    undo.start()
    producer.begin_transaction()
    producer.produce("orders", b"b", partition=0)
    producer.commit_transaction(TIMEOUT)
    undo.join()
    assert broker.offsets(ORDERS) == (0, 4)
