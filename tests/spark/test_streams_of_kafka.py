"""Streams of `format("prokurist")`: restarts, growth, trouble, and checkpoints of others."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.kafka import RealKafka
from tests.processes_watch import ProcessesWatch
from tests.spark.jobs import (
    ATTEMPT,
    DONE,
    FORMATS,
    OURS,
    THEIRS,
    check,
    finish,
    options,
    planned,
    produce,
    rows,
    runners,
    stream_to,
    until,
    workers,
    write,
    written_out,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Asking = Callable[..., Any]

ENDLESS: dict[str, Any] = {"processingTime": "0 seconds"}
"""A trigger: one batch after the other."""
NOTICED = 2.0
"""Seconds in which Spark sees that a query's process beside the driver is gone."""


@pytest.fixture
def topic(prokurist_kafka: RealKafka) -> str:
    """A new topic of two partitions."""
    return prokurist_kafka.unique_topic("streams", partitions=2)


@pytest.fixture
def running(spark: "SparkSession", tmp_path: Path) -> Iterator[Callable[..., "StreamingQuery"]]:
    """Start queries that have no end, and stop them."""
    queries: list[StreamingQuery] = []

    def start(given: dict[str, str], **trigger: Any) -> "StreamingQuery":
        trigger = trigger or ENDLESS
        query = stream_to(spark, OURS, given, tmp_path, **trigger)
        queries.append(query)
        return query

    yield start
    for query in queries:
        query.stop()


def test_all_that_is_available_is_read_once(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path
) -> None:
    """In batches of the size that is asked for; another run reads what has come since."""
    write(prokurist_kafka, topic, 1000)
    given = options(
        prokurist_kafka, topic, startingOffsets="earliest", maxOffsetsPerTrigger=400
    )
    query = stream_to(spark, OURS, given, tmp_path)
    finish(query)
    sizes = [each.numInputRows for each in query.recentProgress if each.numInputRows]
    assert sizes == [400, 400, 200]
    assert written_out(spark, tmp_path) == {0: list(range(500)), 1: list(range(500))}
    write(prokurist_kafka, topic, 10)
    finish(stream_to(spark, OURS, given, tmp_path))
    assert written_out(spark, tmp_path) == {0: list(range(505)), 1: list(range(505))}


def test_a_checkpoint_goes_from_one_source_to_the_other_and_back(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path
) -> None:
    """Spark's own source, ours, and its own again, on one checkpoint: each row once."""
    given = options(prokurist_kafka, topic, startingOffsets="earliest")
    for round_, format_ in enumerate((THEIRS, OURS, THEIRS, OURS), start=1):
        write(prokurist_kafka, topic, 100)
        finish(stream_to(spark, format_, given, tmp_path))
        every = list(range(50 * round_))
        assert written_out(spark, tmp_path) == {0: every, 1: every}, format_


def test_our_own_checkpoint_goes_on_in_sparks_source_after_its_first_batch(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path
) -> None:
    """The first end bears our word `$init`, later ones are as its own are."""
    given = options(prokurist_kafka, topic, startingOffsets="earliest")
    for _ in range(2):
        write(prokurist_kafka, topic, 100)
        finish(stream_to(spark, OURS, given, tmp_path))
    first, second = planned(tmp_path)
    assert first == {topic: {"0": 50, "1": 50}, "$init": {topic: {"0": 0, "1": 0}}}
    assert second == {topic: {"0": 100, "1": 100}}


def test_a_first_batch_that_failed_is_read_again_as_it_was(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path
) -> None:
    """It began at the end of the logs, which have grown since: what lay between comes out."""
    write(prokurist_kafka, topic, 20)
    given = options(prokurist_kafka, topic)

    query = stream_to(spark, OURS, given, tmp_path, **ENDLESS)
    try:
        began = time.monotonic()
        while not query.recentProgress:
            assert time.monotonic() - began < DONE
            time.sleep(0.1)
        write(prokurist_kafka, topic, 30)
        while sum(each.numInputRows or 0 for each in query.recentProgress) < 30:
            assert time.monotonic() - began < DONE
            time.sleep(0.1)
    finally:
        query.stop()
    # As if the process had ended before the first batch was done.
    checkpoint = tmp_path / "checkpoint"
    for folder in ("commits", "offsets"):
        for each in (checkpoint / folder).iterdir():
            if folder == "commits" or each.name.lstrip(".").split(".")[0] != "0":
                each.unlink()
    for each in (tmp_path / "out").rglob("*"):
        if each.is_file():
            each.unlink()
    (end,) = planned(tmp_path)
    write(prokurist_kafka, topic, 40)
    finish(stream_to(spark, OURS, given, tmp_path))
    found = written_out(spark, tmp_path)
    assert end["$init"] == {topic: {"0": 10, "1": 10}}
    assert found == {0: list(range(10, 45)), 1: list(range(10, 45))}


def test_partitions_that_come_later_are_read_from_their_beginning(
    prokurist_kafka: RealKafka,
    topic: str,
    running: Callable[..., "StreamingQuery"],
    spark: "SparkSession",
    tmp_path: Path,
    eventually: Asking,
) -> None:
    """While the query runs, and nothing is left out."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    write(prokurist_kafka, topic, 20)
    given = options(
        prokurist_kafka,
        topic,
        startingOffsets="earliest",
        extra={"kafka.metadata.max.age.ms": "500"},
    )
    query = running(given)
    eventually(lambda: rows(query) >= 20, DONE)
    admin = AdminClient({"bootstrap.servers": prokurist_kafka.direct_bootstrap})
    for future in admin.create_partitions([NewPartitions(topic, 4)]).values():
        future.result(30)
    write(prokurist_kafka, topic, 40, partitions=4)
    eventually(lambda: rows(query) >= 60, DONE)
    query.stop()
    assert written_out(spark, tmp_path) == {
        0: list(range(20)),
        1: list(range(20)),
        2: list(range(10)),
        3: list(range(10)),
    }


@pytest.mark.parametrize("format_", FORMATS)
def test_a_topic_recreated_between_two_runs(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path, format_: str
) -> None:
    """Its loss is an error, and ours writes no batch down that would have to be borne.

    Where it is borne, what comes from then on is read, as by Spark's own source.
    """
    kafka = prokurist_kafka
    write(kafka, topic, 20)
    given = options(kafka, topic, startingOffsets="earliest")
    finish(stream_to(spark, format_, given, tmp_path))
    kafka.delete_topic(topic)
    kafka.create_topic(topic, partitions=2)
    write(kafka, topic, 6)
    with pytest.raises(Exception, match=r"at 10: its log has 0 to 3|changed from 10 to 3"):
        finish(stream_to(spark, format_, given, tmp_path))
    if format_ == OURS:
        assert [each[topic] for each in planned(tmp_path)] == [{"0": 10, "1": 10}]
    given |= {"failOnDataLoss": "false"}
    finish(stream_to(spark, format_, given, tmp_path))
    write(kafka, topic, 4)
    finish(stream_to(spark, format_, given, tmp_path))
    every = sorted([*range(10), 3, 4])
    assert written_out(spark, tmp_path) == {0: every, 1: every}


def test_a_broker_that_freezes_may_be_borne(
    prokurist_kafka: RealKafka,
    topic: str,
    running: Callable[..., "StreamingQuery"],
    spark: "SparkSession",
    tmp_path: Path,
) -> None:
    """The query outlives it, and goes on by itself; each row comes once."""
    write(prokurist_kafka, topic, 20)
    given = options(
        prokurist_kafka,
        topic,
        startingOffsets="earliest",
        driverDeadlineMs=10_000,
        onBrokerDown="skip",
    )
    query = running(given)
    until(lambda: rows(query) >= 20)
    prokurist_kafka.freeze()
    time.sleep(15.0)
    assert query.isActive
    prokurist_kafka.thaw()
    write(prokurist_kafka, topic, 20)
    until(lambda: rows(query) >= 40)
    query.stop()
    assert written_out(spark, tmp_path) == {0: list(range(20)), 1: list(range(20))}


def test_under_available_now_nothing_is_skipped(
    prokurist_kafka: RealKafka, topic: str, spark: "SparkSession", tmp_path: Path
) -> None:
    """To end without an error would mean that all is read."""
    write(prokurist_kafka, topic, 20)
    given = options(prokurist_kafka, topic, startingOffsets="earliest", onBrokerDown="skip")
    prokurist_kafka.freeze()
    try:
        query = stream_to(spark, OURS, given | {"driverDeadlineMs": "1500"}, tmp_path)
        with pytest.raises(Exception, match="TimeoutException"):
            query.awaitTermination(DONE)
    finally:
        prokurist_kafka.thaw()
    finish(stream_to(spark, OURS, given, tmp_path))
    assert written_out(spark, tmp_path) == {0: list(range(10)), 1: list(range(10))}


def test_workers_that_are_killed_lose_nothing(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    topic: str,
    running: Callable[..., "StreamingQuery"],
    tmp_path: Path,
) -> None:
    """Their tasks are tried again, and each row comes once.

    Each has three attempts, and loses two. Both have all their workers in the middle of
    reading: nothing gets past the gate behind them, and what lies before it is full. They are
    killed when both have come to it, and not before: whose worker is just beginning loses its
    attempt by chance, or has none to lose.
    """
    given = options(prokurist_kafka, topic, startingOffsets="earliest", arrowBatchBytes=1000)
    each = {"value": bytes(20_000)}
    produce(prokurist_kafka, topic, ({**each, "partition": n % 2} for n in range(2000)))
    query = running(given, behind=tmp_path, **ENDLESS)
    until(lambda: at_the_gate(query, tmp_path, 0))
    for lost in (1, 2):
        kill_workers(spark)
        # Those that both come with are their next ones: each has lost one, and no more.
        until(lambda: at_the_gate(query, tmp_path, lost))  # noqa: B023 - asked at once
    (tmp_path / "open").touch()
    write(prokurist_kafka, topic, 2000)
    query.processAllAvailable()
    every = list(range(2000))
    assert written_out(spark, tmp_path) == {0: every, 1: every}


def at_the_gate(query: "StreamingQuery", folder: Path, number: int) -> bool:
    """Whether both tasks have come to a gate with their attempt of that number."""
    check(query)
    return all((folder / "reached" / ATTEMPT.format(task, number)).exists() for task in (0, 1))


def kill_workers(spark: "SparkSession") -> None:
    """End all that there are, and wait until they are gone, while Spark's JVM stands still.

    One that is killed goes on existing for as long as the machine takes to free what it had,
    and has no command line any more. Until then the JVM takes one that idled for alive, and
    gives it to the next who wants one: an attempt more is lost, or a plan, which has but one.
    """
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    gateway.proc.send_signal(signal.SIGSTOP)
    try:
        killed = workers()
        for each in killed:
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        until(lambda: not any(each.is_running() for each in killed))
    finally:
        gateway.proc.send_signal(signal.SIGCONT)


def test_a_driver_process_that_is_killed_is_gone_on_from(
    prokurist_kafka: RealKafka,
    topic: str,
    running: Callable[..., "StreamingQuery"],
    spark: "SparkSession",
    tmp_path: Path,
) -> None:
    """The query fails within two seconds, and the next start goes on where it was."""
    write(prokurist_kafka, topic, 100)
    given = options(prokurist_kafka, topic, startingOffsets="earliest", maxOffsetsPerTrigger=20)
    query = running(given)
    until(lambda: rows(query) >= 40)
    with ProcessesWatch() as stopwatch:
        for each in runners():
            os.kill(each.pid, signal.SIGKILL)
        with pytest.raises(Exception):  # noqa: B017, PT011 - Spark says but that it ended
            query.awaitTermination(DONE)
        lasted = stopwatch.fair()
    assert lasted < NOTICED
    finish(stream_to(spark, OURS, given, tmp_path))
    assert written_out(spark, tmp_path) == {0: list(range(50)), 1: list(range(50))}


def test_what_progress_says_of_the_source(
    prokurist_kafka: RealKafka, topic: str, running: Callable[..., "StreamingQuery"]
) -> None:
    """Offsets in Kafka's shape, and where the logs end."""
    write(prokurist_kafka, topic, 20)
    query = running(options(prokurist_kafka, topic, startingOffsets="earliest"))
    until(lambda: rows(query) >= 20)
    (source,) = json.loads(query.recentProgress[0].json)["sources"]
    assert source["endOffset"][topic] == {"0": 10, "1": 10}
    assert source["latestOffset"] == {topic: {"0": 10, "1": 10}}


def test_the_end_of_a_batch_is_none_of_a_stream(
    prokurist_kafka: RealKafka, topic: str, spark: "SparkSession", tmp_path: Path
) -> None:
    """It is refused in a sentence."""
    given = options(prokurist_kafka, topic, endingOffsets="latest")
    with pytest.raises(Exception, match="endingOffsets is not for streams"):
        stream_to(spark, OURS, given, tmp_path).awaitTermination(DONE)
