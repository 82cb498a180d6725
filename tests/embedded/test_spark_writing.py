"""Writing by tasks and driver of Spark, without Spark: over real sockets."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.errors import (
    InvalidProducerEpochException,
    ProducerFencedException,
    RecordTooLargeException,
    TimeoutException,
)
from prokurist.spark.errors import LedgerException, SinkRowException
from prokurist.spark.sink.columns import SinkColumns
from prokurist.spark.sink.driver_commit import Batch, commit_once
from prokurist.spark.sink.options import ExactlyOnce, SinkSettings
from prokurist.spark.sink.worker_producers import PRODUCERS
from prokurist.spark.sink.writing import MOST_HELD, RowWriter
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.stopwatch import Stopwatch

LATE = 2.0
"""Far above anything measured: these machines are shared."""
LEDGER = TopicPartition("bills", 0)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Two topics of three partitions."""
    with EmbeddedBroker(1, {"orders": 3, "bills": 3}) as serving:
        yield serving


@pytest.fixture(autouse=True)
def _workers_end() -> Iterator[None]:
    """Close what a worker would keep."""
    yield
    PRODUCERS.close()


def settings(broker: EmbeddedBroker, **more: str) -> SinkSettings:
    """A writer's settings."""
    given = {"kafka.bootstrap.servers": broker.bootstrap, "topic": "bills"}
    return SinkSettings.of(
        given | {name.replace("__", "."): text for name, text in more.items()}
    )


def columns(*names: str, topic: str | None = "bills") -> SinkColumns:
    """The columns of a frame of text."""
    kinds = {"partition": "int"}
    return SinkColumns.of([(each, kinds.get(each, "string")) for each in names], topic)


def rows(values: list[Any], **more: list[Any]) -> pa.RecordBatch:
    """A batch."""
    found = {"value": pa.array(values, pa.string())}
    kinds = {"partition": pa.int32()}
    found |= {name: pa.array(each, kinds.get(name, pa.string())) for name, each in more.items()}
    return pa.record_batch(found)


def logs(
    broker: EmbeddedBroker, topic: str = "bills", isolation: str = "read_uncommitted"
) -> list[list[bytes | None]]:
    """The values of each partition of a topic."""
    found: list[list[bytes | None]] = [[], [], []]
    places = [TopicPartition(topic, number) for number in range(3)]
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, isolation_level=isolation
    ) as consumer:
        consumer.assign(places)
        consumer.seek_to_beginning(places)
        ends = consumer.end_offsets(places, 10.0)
        while any(consumer.position(tp, 10.0) < end for tp, end in ends.items()):
            for record in consumer.poll(1.0):
                found[record.partition].append(record.value)
    return found


def write(
    broker: EmbeddedBroker, columns: SinkColumns, *batches: pa.RecordBatch, **more: str
) -> RowWriter:
    """Write as a task does."""
    with PRODUCERS.lent(settings(broker, **more).client) as producer:
        writer = RowWriter(producer, columns)
        for each in batches:
            writer.write(each)
        writer.finish()
    return writer


def test_rows_go_where_their_columns_say_in_order(broker: EmbeddedBroker) -> None:
    """B753: over several batches, topics and partitions."""
    count, width = 40, 50
    batches = [
        rows(
            [f"{nth}" for nth in range(base, base + width)],
            topic=[("orders", "bills")[nth % 2] for nth in range(base, base + width)],
            partition=[nth % 3 for nth in range(base, base + width)],
        )
        for base in range(0, count * width, width)
    ]
    assert count * 6 > MOST_HELD
    writer = write(broker, columns("value", "topic", "partition", topic=None), *batches)
    assert (writer.rows, writer.acknowledged) == (count * width, count * width)
    for place, topic in enumerate(("orders", "bills")):
        for number, log in enumerate(logs(broker, topic)):
            expected = [
                b"%d" % nth
                for nth in range(count * width)
                if nth % 2 == place and nth % 3 == number
            ]
            assert log == expected
            written = writer.ranges[TopicPartition(topic, number)]
            assert (written.first, written.last) == (0, len(expected) - 1)
            assert written.rows == len(expected)


def test_a_null_topic_is_named_by_its_row(broker: EmbeddedBroker) -> None:
    """B752: with the option that helps."""
    batch = rows(["a", "b", "c"], topic=["bills", None, "bills"])
    with pytest.raises(SinkRowException, match=r"row 4 has no topic: .* give the option topic"):
        write(
            broker,
            columns("value", "topic", topic=None),
            rows(["x"] * 3, topic=["bills"] * 3),
            batch,
        )


def test_a_row_that_is_too_large_is_named_and_so_are_those_that_are_written(
    broker: EmbeddedBroker,
) -> None:
    """B754: the note has the row, its place, and how many are written all the same."""
    large = "x" * (2 << 20)
    batch = rows(["a", "b", large, "d"], partition=[1, 0, 1, 0])
    with pytest.raises(RecordTooLargeException) as caught:
        write(broker, columns("value", "partition"), rows(["z"], partition=[0]), batch)
    (note,) = caught.value.__notes__
    assert note.startswith("Row 3, for bills-1. ")
    assert "of the 5 rows so far" in note
    assert "another attempt at the task writes them again" in note


def test_a_frozen_broker_ends_the_task_by_its_deadline(broker: EmbeddedBroker) -> None:
    """B755: whatever is in memory; the worker's producer is not used again."""
    write(broker, columns("value"), rows(["warm"]), writeDeadlineMs="2000")
    broker.freeze()
    with Stopwatch() as took, pytest.raises(TimeoutException):
        write(broker, columns("value"), *[rows(["a"] * 100)] * 3, writeDeadlineMs="2000")
    assert took.seconds > 1.8
    assert took.own < 2.0 + LATE
    broker.thaw()
    assert len(PRODUCERS) == 0
    write(broker, columns("value"), rows(["after"]), writeDeadlineMs="5000")


def test_a_worker_s_next_task_finds_the_connections_of_the_last(broker: EmbeddedBroker) -> None:
    """B756: of the same configuration."""
    write(broker, columns("value"), rows(["a"]))
    greetings = len(broker.requests("ApiVersions"))
    for _ in range(5):
        write(broker, columns("value"), rows(["b"]))
    assert len(broker.requests("ApiVersions")) == greetings


def test_a_task_that_is_given_up_leaves_no_producer(broker: EmbeddedBroker) -> None:
    """B756: nothing is sent behind it."""

    def given_up() -> None:
        with PRODUCERS.lent(settings(broker).client):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        given_up()
    assert len(PRODUCERS) == 0


# --- exactly once --------------------------------------------------------------------------


def once(
    broker: EmbeddedBroker, number: int, *values: str, query: str = "q", **more: str
) -> bool:
    """Commit a batch as the driver does."""
    given = {"delivery": "exactly_once", "exactlyOnceId": "billing", **more}
    found = settings(broker, **given)
    assert isinstance(found.exactly_once, ExactlyOnce)
    batch = Batch(number, query)
    return commit_once(
        found, found.exactly_once, columns("value"), batch, lambda: iter([rows(list(values))])
    )


def visible(broker: EmbeddedBroker) -> list[bytes]:
    """The values that readers of committed records see."""
    return sorted(
        value for log in logs(broker, isolation="read_committed") for value in log if value
    )


def test_a_batch_is_written_once(broker: EmbeddedBroker) -> None:
    """B757: repeated with other rows, it is passed over; the next one is not."""
    assert once(broker, 0, "a", "b")
    assert not once(broker, 0, "other", "rows")
    assert once(broker, 1, "c")
    assert visible(broker) == [b"a", b"b", b"c"]


def test_a_driver_that_dies_in_its_transaction_leaves_nothing(broker: EmbeddedBroker) -> None:
    """B757: the next one aborts it, and writes the batch."""
    client = settings(broker, delivery="exactly_once", exactlyOnceId="billing").client
    dying = KafkaProducer(client)
    dying.init_transactions(10.0)
    dying.begin_transaction()
    dying.send("bills", b"half").result(10.0)
    assert once(broker, 0, "a")
    assert visible(broker) == [b"a"]
    with pytest.raises(ProducerFencedException):
        dying.commit_transaction(10.0)
    dying.close(5.0)


def test_a_driver_that_was_stopped_and_wakes_is_fenced(broker: EmbeddedBroker) -> None:
    """B758: the error names who else writes, and nothing of it is visible."""

    def others() -> Iterator[pa.RecordBatch]:
        yield rows(["zombie"])
        assert once(broker, 0, "a")  # Another driver, while this one was stopped.
        yield rows(["late"])

    found = settings(broker, delivery="exactly_once", exactlyOnceId="billing")
    assert found.exactly_once is not None
    with pytest.raises((ProducerFencedException, InvalidProducerEpochException)) as caught:
        commit_once(found, found.exactly_once, columns("value"), Batch(0, "q"), others)
    assert any(
        "Another driver writes with exactlyOnceId" in each for each in caught.value.__notes__
    )
    assert visible(broker) == [b"a"]


def test_a_row_that_fails_leaves_nothing_of_its_batch(broker: EmbeddedBroker) -> None:
    """B757: and the batch can be written later."""
    with pytest.raises(RecordTooLargeException) as caught:
        once(broker, 0, "a", "x" * (2 << 20))
    assert any("transaction is aborted" in each for each in caught.value.__notes__)
    assert visible(broker) == []
    assert once(broker, 0, "a")
    assert visible(broker) == [b"a"]


def test_a_ledger_that_does_not_show_what_was_written_is_refused(
    broker: EmbeddedBroker,
) -> None:
    """B757: nothing is written; with `continue` it goes on."""
    with pytest.raises(LedgerException, match="has no entry"):
        once(broker, 3, "a")
    assert visible(broker) == []
    assert once(broker, 3, "a", ledgerMissing="continue")
    with pytest.raises(LedgerException, match="is that of query q"):
        once(broker, 0, "b", query="another")
    assert visible(broker) == [b"a"]


def test_the_ledger_is_an_offset_that_anyone_can_read(broker: EmbeddedBroker) -> None:
    """B757: of the group that has the name, for partition 0 of the topic."""
    once(broker, 0, "a")
    once(broker, 1, "b")
    with KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id="billing") as consumer:
        assert consumer.committed([LEDGER], 10.0)[LEDGER] == OffsetAndMetadata(
            2, metadata='{"query": "q"}'
        )
