"""What a transaction that others have open keeps from a consumer, a group, and its watcher."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
import pytest

from prokurist import EmptyCause, KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.cli.entry import DONE, main
from prokurist.compat import confluent_kafka as face
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking, Producing

pytestmark = pytest.mark.kafka


@pytest.fixture
def tp(prokurist_topic: str) -> TopicPartition:
    """A partition of a topic of one."""
    return TopicPartition(prokurist_topic, 0)


@contextmanager
def writing(
    kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> Iterator[confluent_kafka.Producer]:
    """A producer with three records in an open transaction; two were committed before."""
    producer = producer_of(kafka.bootstrap, transactional_id=tp.topic)
    producer.init_transactions(60)
    for values, ends in (([b"1", b"2"], True), ([b"x"] * 3, False)):
        producer.begin_transaction()
        for value in values:
            producer.produce(tp.topic, value, partition=tp.partition)
        producer.flush(20)
        if ends:
            producer.commit_transaction(20)
    try:
        yield producer
    finally:
        producer.abort_transaction(20)


def test_the_consumer_says_what_it_waits_for(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B426, B562: open transactions, how many offsets they hold back, and their producer."""
    with (
        writing(prokurist_kafka, tp, producer_of),
        KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer,
    ):
        consumer.assign(tp)
        values, until = [], time.monotonic() + 60
        while consumer.position(tp) < 3:
            values += [record.value for record in consumer.poll(1.0)]
            assert time.monotonic() < until
        assert values == [b"1", b"2"]
        why = consumer.poll(1.0).why_empty
        assert why is not None
        assert (why.cause, why.partitions) == (EmptyCause.OPEN_TRANSACTION, (tp,))
        assert "hold back 3 offsets" in why.text
        while not why.transactions:
            assert time.monotonic() < until
            why = consumer.poll(0.2).why_empty
            assert why is not None
        (named,) = why.transactions
        assert (named.partition, named.first_offset) == (tp, 3)
        assert named.producer_id >= 0
        assert named.last_timestamp is not None
        assert abs(named.last_timestamp / 1000 - time.time()) < 100


def test_the_lag_of_a_group_is_shown_meanwhile(
    prokurist_kafka: RealKafka,
    tp: TopicPartition,
    producer_of: Producing,
    capfdbinary: pytest.CaptureFixture[bytes],
    eventually: Asking,
) -> None:
    """B425: as Java's tool shows it, by what was committed before; who reads on has to wait."""
    group, place = f"group-of-{tp.topic}", confluent_kafka.TopicPartition(*tp, 2)
    member = confluent_kafka.Consumer(
        {"bootstrap.servers": prokurist_kafka.bootstrap, "group.id": group}
    )
    with writing(prokurist_kafka, tp, producer_of) as producer:
        with KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            group_id=group,
            enable_auto_commit=False,
        ) as consumer:
            consumer.commit_sync({tp: OffsetAndMetadata(1)}, 20)
            metadata = member.consumer_group_metadata()
            producer.send_offsets_to_transaction([place], metadata, 20)
            member.close()
            eventually(lambda: is_waited_for(consumer, tp))
            found = consumer.committed(tp, 20, stable=False)[tp]
            assert found is not None
            assert found.offset == 1
        code = main(["lag", "-b", prokurist_kafka.bootstrap, "-G", group, "-J"])
    (row,) = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert (code, row["group"], row["lag"]) == (DONE, group, 5)


def test_the_doctor_names_it(
    prokurist_kafka: RealKafka,
    tp: TopicPartition,
    producer_of: Producing,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """B567: by its producer and its transactional id; with nothing open it says so."""
    command = ["doctor", "-b", prokurist_kafka.bootstrap, "-t", tp.topic, "-J"]
    with writing(prokurist_kafka, tp, producer_of):
        assert main(command) == DONE
        finding = transactions_in(capfdbinary.readouterr().out)
        assert f"transactional.id={tp.topic}, is open in {tp} from offset 3 on" in finding
        assert "its coordinator has it as Ongoing" in finding
    main(command)
    assert transactions_in(capfdbinary.readouterr().out) == "none is open"


def transactions_in(output: bytes) -> str:
    """The doctor's finding about transactions."""
    steps = map(json.loads, output.splitlines())
    return next(str(each["finding"]) for each in steps if each["step"] == "Transactions")


def is_waited_for(consumer: KafkaConsumer, tp: TopicPartition) -> bool:
    """Whether who asks for what is committed has to wait for a transaction."""
    try:
        consumer.committed(tp, 1.0)
    except errors.TimeoutException as error:
        return type(error.last_error) is errors.UnstableOffsetCommitException
    return False


def test_the_face_of_confluent_kafka_reads_what_it_reads(
    prokurist_kafka: RealKafka, tp: TopicPartition, producer_of: Producing
) -> None:
    """B424: committed records alone, unless it is told otherwise."""
    with writing(prokurist_kafka, tp, producer_of):
        assert read_by(face, prokurist_kafka, tp) == [b"1", b"2"]
        assert read_by(confluent_kafka, prokurist_kafka, tp) == [b"1", b"2"]


def read_by(library: Any, kafka: RealKafka, tp: TopicPartition) -> list[bytes]:
    """The values up to the end of a log, for one of the two, which share their names."""
    consumer = library.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": f"{library.__name__}-{tp.topic}",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([library.TopicPartition(*tp)])
    values: list[bytes] = []
    until = time.monotonic() + 60
    while time.monotonic() < until:
        message = consumer.poll(1.0)
        if message is not None and message.error():
            break
        if message is not None:
            values.append(message.value())
    consumer.close()
    return values
