"""Transactions by the faces, beside the clients whose names they bear, call for call.

Both walk through the same calls against an embedded broker of either protocol.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka as real_confluent_kafka
import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.compat import confluent_kafka, kafka
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import TransactionSettings

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as real_kafka  # type: ignore[import-untyped]

LONG = 20.0


@pytest.fixture(params=[0, 2], ids=["before 4.0", "of 4.x"])
def broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """A broker of either protocol of transactions."""
    settings = TransactionSettings(version=request.param)
    with EmbeddedBroker(1, {"orders": 1, "bills": 1}, transactions=settings) as serving:
        yield serving


def committed(broker: EmbeddedBroker, topic: str) -> list[bytes | None]:
    """The values that readers of committed records see."""
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, isolation_level="read_committed"
    ) as reader:
        reader.assign(TopicPartition(topic, 0))
        reader.seek_to_beginning()
        found: list[bytes | None] = []
        while records := reader.poll(1.0):
            found += [each.value for each in records]
        return found


class Walk:
    """Notes what each call of a client's comes to."""

    def __init__(self, module: Any, **logging: object) -> None:
        self.module = module
        self.logging = logging
        self.steps: list[tuple[object, ...]] = []
        self.told: list[str | None] = []

    def call(self, name: str, do: Callable[..., object], *given: object) -> None:
        """Make a call, and note its error with all flags."""
        try:
            do(*given)
        except self.module.KafkaException as raised:
            error = raised.args[0]
            flags = error.fatal(), error.retriable(), error.txn_requires_abort()
            self.steps.append((name, error.name(), *flags))
        except TypeError:
            self.steps.append((name, "TypeError"))
        else:
            self.steps.append((name, "done"))

    def hear(self, error: Any, _message: object) -> None:
        """Note how a delivery has ended."""
        self.told.append(None if error is None else error.name())


def config(broker: EmbeddedBroker, **keys: object) -> dict[str, object]:
    """A configuration."""
    given = {name.replace("_", "."): value for name, value in keys.items()}
    return {"bootstrap.servers": broker.bootstrap, **given}


def walk_through(walk: Walk, broker: EmbeddedBroker) -> None:
    """Make all calls of transactions, in and out of turn."""
    made, call, logging = walk.module.Producer, walk.call, walk.logging
    plain = made(config(broker), **logging)
    call("without an id", plain.begin_transaction)
    producer = made(config(broker, transactional_id="t"), **logging)
    call("begin too early", producer.begin_transaction)
    call("produce too early", producer.produce, "orders", b"lost")
    call("init", producer.init_transactions, LONG)
    call("init again", producer.init_transactions, LONG)
    for name in ("commit", "abort"):
        call(f"{name} of none", getattr(producer, f"{name}_transaction"), LONG)
    call("produce outside", producer.produce, "orders", b"lost")
    call("begin", producer.begin_transaction)
    call("begin again", producer.begin_transaction)
    producer.produce("orders", b"1", on_delivery=walk.hear)
    call("commit", producer.commit_transaction, LONG)
    walk_offsets(walk, broker, producer)
    call("begin", producer.begin_transaction)
    with broker.fail("Produce", 29, times=None):
        producer.produce("bills", b"lost", on_delivery=walk.hear)
        producer.flush(LONG)
    call("commit with a failed record", producer.commit_transaction, LONG)
    call("abort", producer.abort_transaction, LONG)
    walk_in_doubt(walk, broker, producer)
    call("begin", producer.begin_transaction)
    producer.produce("orders", b"lost")
    producer.flush(LONG)
    made(config(broker, transactional_id="t"), **logging).init_transactions(LONG)
    for name in ("commit", "abort"):
        call(f"{name} of a fenced one", getattr(producer, f"{name}_transaction"), LONG)
    call("begin of a fenced one", producer.begin_transaction)


def walk_offsets(walk: Walk, broker: EmbeddedBroker, producer: Any) -> None:
    """Send offsets of a member, and of one that is none any more."""
    group = {"group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = walk.module.Consumer(config(broker) | group, **walk.logging)
    consumer.subscribe(["orders"])
    until = time.monotonic() + LONG
    while consumer.poll(0.5) is None and time.monotonic() < until:
        pass
    place = consumer.consumer_group_metadata()
    offsets = [walk.module.TopicPartition("orders", 0, 1)]
    send = producer.send_offsets_to_transaction
    walk.call("begin", producer.begin_transaction)
    walk.call("offsets of no list", send, 3, place, LONG)
    walk.call("offsets of no member", send, offsets, "g", LONG)
    walk.call("no offsets", send, [], place, LONG)
    walk.call("offsets", send, offsets, place, LONG)
    walk.call("commit", producer.commit_transaction, LONG)
    for code in (22, 25, 82):
        walk.call("begin", producer.begin_transaction)
        broker.fail("TxnOffsetCommit", code)
        walk.call(f"offsets refused by {code}", send, offsets, place, LONG)
        walk.call("commit after that", producer.commit_transaction, LONG)
        walk.call("abort", producer.abort_transaction, LONG)
    consumer.close()


def walk_in_doubt(walk: Walk, broker: EmbeddedBroker, producer: Any) -> None:
    """Commit while nothing answers, and go on from there."""
    walk.call("begin", producer.begin_transaction)
    producer.produce("orders", b"2", on_delivery=walk.hear)
    producer.flush(LONG)
    with broker.delay("EndTxn", 4.0, times=1):
        walk.call("commit unanswered", producer.commit_transaction, 1.0)
        walk.call("abort in doubt", producer.abort_transaction, 1.0)
        walk.call("begin in doubt", producer.begin_transaction)
        walk.call("commit again", producer.commit_transaction, 60.0)


def test_confluent_kafkas_calls_of_transactions(broker: EmbeddedBroker, quiet: object) -> None:
    """B565: numbers and flags of errors, deliveries and offsets are those of librdkafka."""
    theirs, ours = Walk(real_confluent_kafka, logger=quiet), Walk(confluent_kafka)
    for walk in (theirs, ours):
        walk_through(walk, broker)
    assert ours.steps == theirs.steps
    assert ours.told == theirs.told == [None, "TOPIC_AUTHORIZATION_FAILED", None]
    assert ("commit of a fenced one", "_FENCED", True, False, False) in ours.steps
    assert committed(broker, "orders") == [b"1", b"2"] * 2
    assert committed(broker, "bills") == []
    assert broker.committed("g")[TopicPartition("orders", 0)].offset == 1


# --- kafka-python -----------------------------------------------------------------------------


def walk_as_kafka(module: Any, broker: EmbeddedBroker) -> list[tuple[str, str]]:
    """Make all calls of kafka-python's transactions; name the class of each error."""
    steps: list[tuple[str, str]] = []

    def call(name: str, do: Callable[..., object], *given: object) -> None:
        try:
            do(*given)
        except Exception as error:  # noqa: BLE001 - it is the result
            steps.append((name, type(error).__name__))
        else:
            steps.append((name, "done"))

    keys = {"bootstrap_servers": broker.bootstrap, "transactional_id": "t"}
    plain = module.KafkaProducer(bootstrap_servers=broker.bootstrap)
    call("without an id", plain.begin_transaction)
    plain.close()
    producer = module.KafkaProducer(**keys)
    call("send too early", producer.send, "orders", b"lost")
    call("init", producer.init_transactions)
    call("send outside", producer.send, "orders", b"lost")
    call("begin", producer.begin_transaction)
    producer.send("orders", b"1")
    call("commit", producer.commit_transaction)
    consumer = module.KafkaConsumer(
        "orders",
        bootstrap_servers=broker.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    until = time.monotonic() + LONG
    while not consumer.poll(timeout_ms=500) and time.monotonic() < until:
        pass
    orders = module.TopicPartition("orders", 0)
    offsets = {orders: module.OffsetAndMetadata(1, "", -1)}
    send, group = producer.send_offsets_to_transaction, consumer.group_metadata()
    for of in (group, "g"):
        call("begin", producer.begin_transaction)
        call("offsets", send, offsets, of)
        call("commit", producer.commit_transaction)
    call("begin", producer.begin_transaction)
    call("offsets of no group", send, offsets, 3)
    producer.send("orders", b"lost")
    producer.flush(LONG)
    call("abort", producer.abort_transaction)
    call("begin", producer.begin_transaction)
    broker.fail("TxnOffsetCommit", 22)
    call("offsets refused", send, offsets, group)
    call("abort", producer.abort_transaction)
    call("begin", producer.begin_transaction)
    producer.send("orders", b"lost")
    producer.flush(LONG)
    other = module.KafkaProducer(**keys)
    call("init of another", other.init_transactions)
    call("commit of a fenced one", producer.commit_transaction)
    for each in (consumer, producer, other):
        each.close()
    return steps


def test_kafka_pythons_calls_of_transactions(broker: EmbeddedBroker) -> None:
    """B566: the classes of errors, and what is committed, are those of kafka-python."""
    theirs = walk_as_kafka(real_kafka, broker)
    ours = walk_as_kafka(kafka, broker)
    assert ours == theirs
    assert committed(broker, "orders") == [b"1"] * 2
    assert broker.committed("g")[TopicPartition("orders", 0)].offset == 1
