"""Transactions on real brokers, by both protocols, as confluent-kafka reads them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from prokurist import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required
from prokurist.types import ConsumerGroupMetadata
from tests.broker.conftest import Consuming

pytestmark = pytest.mark.kafka

RELEASES = ("4.3.1", "3.9.2")
"""One that has finalised `transaction.version` 2, and one without it."""
NAMES = count()


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A Kafka of each release, whose coordinators look for timeouts each second."""
    kafka = RealKafka(
        version=request.param,
        controls=True,
        transaction_abort_timed_out_transaction_cleanup_interval_ms=1000,
    )
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


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    """A topic of two partitions."""
    name = f"transactions-{next(NAMES)}"
    kafka.create_topic(name, partitions=2)
    return name


@contextmanager
def frozen(kafka: RealKafka) -> Iterator[None]:
    """Freeze its node for the length of a block."""
    kafka.freeze(0)
    try:
        yield
    finally:
        kafka.thaw(0)


def is_implicit(kafka: RealKafka) -> bool:
    """Return True if brokers add partitions by themselves."""
    return kafka.version != "3.9.2"


def producer_on(kafka: RealKafka, name: str, **keys: object) -> KafkaProducer:
    """A producer that is ready for transactions."""
    producer = KafkaProducer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": name, **keys}
    )
    producer.init_transactions(60.0)
    return producer


def write(producer: KafkaProducer, topic: str, *values: bytes) -> None:
    """Send some values to both partitions."""
    for value in values:
        for partition in range(2):
            producer.send(topic, value, partition=partition)


def committed(kafka: RealKafka, topic: str, consumer_of: Consuming) -> list[list[bytes | None]]:
    """The values that confluent-kafka reads as committed, of each partition."""
    found: dict[int | None, list[bytes | None]] = {0: [], 1: []}
    consumer = consumer_of(
        kafka.bootstrap,
        f"readers-{next(NAMES)}",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_partition_eof=True,
    )
    consumer.subscribe([topic])
    ended: set[int | None] = set()
    until = time.monotonic() + 60
    while len(ended) < 2 and time.monotonic() < until:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
        else:
            found[message.partition()].append(message.value())
    assert len(ended) == 2, "the logs did not end"
    return [found[0], found[1]]


def test_committed_records_are_seen_and_aborted_ones_are_not(
    kafka: RealKafka, topic: str, consumer_of: Consuming
) -> None:
    """B544, B545: by both protocols, over several transactions in a row."""
    with producer_on(kafka, topic) as producer:
        for number in range(6):
            producer.begin_transaction()
            write(producer, topic, b"%d" % number)
            if number % 2:
                producer.flush(20.0)
                producer.abort_transaction(20.0)
            else:
                producer.commit_transaction(20.0)
    assert committed(kafka, topic, consumer_of) == [[b"0", b"2", b"4"]] * 2


def test_ends_of_nothing(kafka: RealKafka, topic: str, consumer_of: Consuming) -> None:
    """B546: commits and aborts without a record, before and behind others."""
    with producer_on(kafka, topic) as producer:
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            end(10.0)
            with producer.transaction(20.0):
                write(producer, topic, b"v")
    assert committed(kafka, topic, consumer_of) == [[b"v", b"v"]] * 2


def copy(kafka: RealKafka, source: str, target: str, protocol: str) -> None:
    """Copy twenty records in transactions; then send offsets of members that are none."""
    group = f"group-{next(NAMES)}"
    with (
        KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=group,
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer,
        producer_on(kafka, target) as producer,
    ):
        consumer.subscribe([source])
        copied = 0
        done: dict[TopicPartition, OffsetAndMetadata] = {}
        until = time.monotonic() + 60
        while copied < 20 and time.monotonic() < until:
            records = consumer.poll(2.0)
            if not records:
                continue
            with producer.transaction(20.0) as transaction:
                for record in records:
                    producer.send(target, record.value, partition=record.partition)
                    copied += 1
                for tp in records.partitions():
                    done[tp] = OffsetAndMetadata(records.records(tp)[-1].offset + 1)
                transaction.send_offsets(done, consumer.group_metadata(), 20.0)
        me = consumer.group_metadata()
        for stranger in (
            ConsumerGroupMetadata(group, me.generation_id, "nobody"),
            ConsumerGroupMetadata(group, me.generation_id + 1, me.member_id),
        ):
            producer.begin_transaction()
            write(producer, target, b"lost")
            with pytest.raises(errors.CommitFailedException) as raised:
                producer.send_offsets_to_transaction(done, stranger, 20.0)
            assert raised.value.abortable
            producer.abort_transaction(20.0)
        kept = consumer.committed([TopicPartition(source, each) for each in range(2)], 20.0)
        assert [each and each.offset for each in kept.values()] == [10, 10]


def test_consume_transform_produce(
    kafka: RealKafka, topic: str, consumer_of: Consuming
) -> None:
    """B544, B552: offsets with the records; those of a member that is none are refused."""
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        write(producer, topic, *(b"%d" % each for each in range(10)))
    # In 3.9 the consumer protocol is a preview, which is off.
    for protocol in ("classic", "consumer") if is_implicit(kafka) else ("classic",):
        target = f"{topic}-{protocol}"
        kafka.create_topic(target, partitions=2)
        copy(kafka, topic, target, protocol)
        expected = [b"%d" % each for each in range(10)]
        assert committed(kafka, target, consumer_of) == [expected] * 2


def test_offsets_of_a_member_that_missed_its_poll_interval(
    kafka: RealKafka, topic: str
) -> None:
    """B558: it is outside of its group by then, which refuses its offsets."""
    for protocol in ("classic", "consumer") if is_implicit(kafka) else ("classic",):
        tp = TopicPartition(topic, 0)
        with (
            KafkaConsumer(
                bootstrap_servers=kafka.bootstrap,
                group_id=f"group-{next(NAMES)}",
                group_protocol=protocol,
                enable_auto_commit=False,
                max_poll_interval_ms=2000,
            ) as consumer,
            producer_on(kafka, topic) as producer,
        ):
            consumer.subscribe([topic])
            until = time.monotonic() + 60
            while tp not in consumer.assignment() and time.monotonic() < until:
                consumer.poll(0.5)
            producer.begin_transaction()
            time.sleep(4.0)
            with pytest.raises(errors.CommitFailedException):
                producer.send_offsets_to_transaction(
                    {tp: OffsetAndMetadata(5)}, consumer.group_metadata(), 20.0
                )
            producer.abort_transaction(20.0)
            assert consumer.committed(tp, 20.0) == {tp: None}


def poll_until_shared(*members: KafkaConsumer) -> None:
    """Have members poll until each has the same part of both partitions."""
    until = time.monotonic() + 90
    while any(len(each.assignment()) != 2 // len(members) for each in members):
        assert time.monotonic() < until
        for each in members:
            each.poll(0.2)


def test_offsets_are_sent_inside_rebalance_listeners(kafka: RealKafka, topic: str) -> None:
    """B590: the group takes them in the name that `group_metadata` has there."""
    flavours = ["range", "cooperative-sticky"] + ["consumer"] * is_implicit(kafka)
    with producer_on(kafka, topic) as producer:
        for flavour in flavours:
            keys: dict[str, object] = {
                "bootstrap_servers": kafka.bootstrap,
                "group_id": f"group-{next(NAMES)}",
                "enable_auto_commit": False,
            }
            if flavour == "consumer":
                keys |= {"group_protocol": "consumer"}
            else:
                keys |= {
                    "partition_assignment_strategy": flavour,
                    "heartbeat_interval_ms": 300,
                }
            sent: list[str] = []

            def member(keys: dict[str, object] = keys, sent: list[str] = sent) -> KafkaConsumer:
                consumer = KafkaConsumer(keys)

                def send(name: str, partitions: frozenset[TopicPartition]) -> None:
                    offsets = {tp: OffsetAndMetadata(len(sent)) for tp in partitions}
                    me = consumer.group_metadata()
                    with producer.transaction(20.0) as transaction:
                        transaction.send_offsets(offsets, me, 20.0)
                    sent.append(name)

                consumer.subscribe(
                    [topic],
                    on_assigned=lambda some: send("assigned", some),
                    on_revoked=lambda some: send("revoked", some),
                )
                return consumer

            with member() as first:
                poll_until_shared(first)
                with member() as second:
                    poll_until_shared(first, second)
                    assert set(sent[1:]) == {"assigned", "revoked"}, flavour
                poll_until_shared(first)
            assert sent[-1] == "revoked"


def test_a_second_producer_fences_the_first(
    kafka: RealKafka, topic: str, consumer_of: Consuming
) -> None:
    """B543: also in the midst of a transaction of the first."""
    with producer_on(kafka, topic) as first:
        first.begin_transaction()
        write(first, topic, b"first")
        first.flush(20.0)
        with producer_on(kafka, topic) as second:
            with pytest.raises(errors.ProducerFencedException) as raised:
                first.commit_transaction(20.0)
            assert raised.value.fatal
            with second.transaction(20.0):
                write(second, topic, b"second")
            with pytest.raises(errors.ProducerFencedException):
                first.begin_transaction()
    assert committed(kafka, topic, consumer_of) == [[b"second"]] * 2


def test_open_for_too_long(kafka: RealKafka, topic: str, consumer_of: Consuming) -> None:
    """B551: abortable where ends raise the epoch, and else fatal; another producer goes on."""
    with producer_on(kafka, topic, transaction_timeout_ms=1000) as producer:
        producer.begin_transaction()
        write(producer, topic, b"late")
        producer.flush(20.0)
        time.sleep(5.0)
        with pytest.raises(errors.TransactionTimedOutException) as raised:
            producer.commit_transaction(20.0)
        assert raised.value.abortable is is_implicit(kafka)
        assert raised.value.fatal is not is_implicit(kafka)
        if is_implicit(kafka):
            producer.abort_transaction(20.0)
            with producer.transaction(20.0):
                write(producer, topic, b"next")
    if not is_implicit(kafka):
        with producer_on(kafka, topic) as another, another.transaction(20.0):
            write(another, topic, b"next")
    assert committed(kafka, topic, consumer_of) == [[b"next"]] * 2


def test_a_commit_before_a_frozen_broker(
    kafka: RealKafka, topic: str, consumer_of: Consuming
) -> None:
    """B541: in doubt once its request is written, and done once by the commit that follows."""
    with producer_on(kafka, topic) as producer:
        producer.begin_transaction()
        write(producer, topic, b"v")
        producer.flush(20.0)
        with frozen(kafka), pytest.raises(errors.TimeoutException) as raised:
            producer.commit_transaction(2.0)
        assert raised.value.elapsed == pytest.approx(2.0, abs=0.5)
        assert raised.value.may_have_happened
        with pytest.raises(errors.ProducerInDoubtException):
            producer.abort_transaction(2.0)
        producer.commit_transaction(60.0)
        producer.begin_transaction()
        with frozen(kafka):
            write(producer, topic, b"w")
            with pytest.raises(errors.TimeoutException) as raised:
                producer.commit_transaction(2.0)
        assert not raised.value.may_have_happened
        producer.commit_transaction(60.0)
    assert committed(kafka, topic, consumer_of) == [[b"v", b"w"]] * 2


def test_close_aborts_an_open_transaction(
    kafka: RealKafka, topic: str, consumer_of: Consuming
) -> None:
    """B555: readers go on at once."""
    producer = producer_on(kafka, topic)
    producer.begin_transaction()
    write(producer, topic, b"lost")
    producer.flush(20.0)
    assert producer.close(20.0) == 0
    assert committed(kafka, topic, consumer_of) == [[], []]
