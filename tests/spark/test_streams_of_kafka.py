"""Streams of `format("prokurist")`: restarts, growth, trouble, and checkpoints of others."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import (
    DONE,
    OURS,
    THEIRS,
    options,
    planned,
    produce,
    stream_to,
    written_out,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.timeout(180)

Asking = Callable[..., Any]


def write(kafka: RealKafka, topic: str, count: int, partitions: int = 2) -> None:
    """So many records, evenly over the partitions."""
    produce(
        kafka, topic, ({"value": b"%d" % n, "partition": n % partitions} for n in range(count))
    )


def finish(query: "StreamingQuery") -> None:
    """Wait for the end of a query that has one."""
    assert query.awaitTermination(DONE), "the query has not ended"


@pytest.fixture
def topic(prokurist_kafka: RealKafka) -> str:
    """A new topic of two partitions."""
    return prokurist_kafka.unique_topic("streams", partitions=2)


@pytest.fixture
def running(spark: "SparkSession", tmp_path: Path) -> Iterator[Callable[..., "StreamingQuery"]]:
    """Start queries that have no end, and stop them."""
    queries: list[StreamingQuery] = []

    def start(given: dict[str, str], **trigger: Any) -> "StreamingQuery":
        trigger = trigger or {"processingTime": "0 seconds"}
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

    query = stream_to(spark, OURS, given, tmp_path, processingTime="0 seconds")
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


def rows(query: "StreamingQuery") -> int:
    """How many rows a query has read, as far as it tells."""
    return sum(each.numInputRows or 0 for each in query.recentProgress)


def test_a_broker_that_freezes_ends_the_query_by_the_deadline(
    prokurist_kafka: RealKafka, topic: str, running: Callable[..., "StreamingQuery"]
) -> None:
    """The driver's error says what it asked, and is no later than asked for."""
    write(prokurist_kafka, topic, 20)
    given = options(prokurist_kafka, topic, startingOffsets="earliest", driverDeadlineMs=2000)
    query = running(given)
    wait_for(lambda: rows(query) >= 20)
    prokurist_kafka.freeze()
    try:
        began = time.monotonic()
        with pytest.raises(Exception, match="TimeoutException") as caught:
            query.awaitTermination(DONE)
        took = time.monotonic() - began
    finally:
        prokurist_kafka.thaw()
    assert "was given 2 s" in str(caught.value) or "was given 1." in str(caught.value)
    assert took < 2.0 + 4.0, took


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
        driverDeadlineMs=1000,
        onBrokerDown="skip",
    )
    query = running(given)
    wait_for(lambda: rows(query) >= 20)
    prokurist_kafka.freeze()
    time.sleep(5.0)
    assert query.isActive
    prokurist_kafka.thaw()
    write(prokurist_kafka, topic, 20)
    wait_for(lambda: rows(query) >= 40)
    query.stop()
    assert written_out(spark, tmp_path) == {0: list(range(20)), 1: list(range(20))}


def wait_for(question: Callable[[], Any]) -> None:
    """Wait until it is true."""
    began = time.monotonic()
    while not question():
        assert time.monotonic() - began < DONE, "never true"
        time.sleep(0.1)


def test_under_available_now_nothing_is_skipped(
    prokurist_kafka: RealKafka, topic: str, spark: "SparkSession", tmp_path: Path
) -> None:
    """To end without an error would mean that all is read."""
    write(prokurist_kafka, topic, 20)
    given = options(
        prokurist_kafka,
        topic,
        startingOffsets="earliest",
        driverDeadlineMs=1500,
        onBrokerDown="skip",
    )
    prokurist_kafka.freeze()
    try:
        query = stream_to(spark, OURS, given, tmp_path)
        with pytest.raises(Exception, match="TimeoutException"):
            query.awaitTermination(DONE)
    finally:
        prokurist_kafka.thaw()
    finish(stream_to(spark, OURS, given, tmp_path))
    assert written_out(spark, tmp_path) == {0: list(range(10)), 1: list(range(10))}


def test_a_query_stops_soon_while_its_driver_waits(
    prokurist_kafka: RealKafka, topic: str, running: Callable[..., "StreamingQuery"]
) -> None:
    """For a broker that is frozen; its process ends, too."""
    write(prokurist_kafka, topic, 20)
    given = options(prokurist_kafka, topic, startingOffsets="earliest", driverDeadlineMs=60_000)
    query = running(given)
    wait_for(lambda: rows(query) >= 20)
    prokurist_kafka.freeze()
    try:
        time.sleep(1.0)
        began = time.monotonic()
        query.stop()
        took = time.monotonic() - began
    finally:
        prokurist_kafka.thaw()
    assert took < 4.0, took
    wait_for(lambda: not runners())


def runners() -> list[psutil.Process]:
    """The processes that Spark runs beside its driver for sources."""
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if "python_streaming_source_runner" in " ".join(command(each))
    ]


def command(process: psutil.Process) -> list[str]:
    """How a process was started; nothing for one that has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def workers() -> list[psutil.Process]:
    """The processes in which tasks read."""
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if "pyspark.daemon" in " ".join(command(each))
        and command(each.parent() or each)
        and "pyspark.daemon" in " ".join(command(each.parent() or each))
    ]


def test_workers_that_are_killed_lose_nothing(
    prokurist_kafka: RealKafka,
    topic: str,
    spark: "SparkSession",
    tmp_path: Path,
) -> None:
    """Their tasks are tried again, and each row comes once."""
    write(prokurist_kafka, topic, 20_000)
    given = options(
        prokurist_kafka, topic, startingOffsets="earliest", maxOffsetsPerTrigger=2000
    )
    query = stream_to(spark, OURS, given, tmp_path)
    killed = 0
    while query.isActive:
        for each in workers()[:1] if killed < 5 else ():
            os.kill(each.pid, signal.SIGKILL)
            killed += 1
        time.sleep(0.3)
    finish(query)
    assert killed
    every = list(range(10_000))
    assert written_out(spark, tmp_path) == {0: every, 1: every}


def test_a_driver_process_that_is_killed_is_gone_on_from(
    prokurist_kafka: RealKafka,
    topic: str,
    running: Callable[..., "StreamingQuery"],
    spark: "SparkSession",
    tmp_path: Path,
) -> None:
    """The query fails, and the next start goes on where it was."""
    write(prokurist_kafka, topic, 100)
    given = options(prokurist_kafka, topic, startingOffsets="earliest", maxOffsetsPerTrigger=20)
    query = running(given)
    wait_for(lambda: rows(query) >= 40)
    for each in runners():
        os.kill(each.pid, signal.SIGKILL)
    with pytest.raises(Exception):  # noqa: B017, PT011 - Spark says nothing but that it ended
        query.awaitTermination(DONE)
    finish(stream_to(spark, OURS, given, tmp_path))
    assert written_out(spark, tmp_path) == {0: list(range(50)), 1: list(range(50))}


def test_what_progress_says_of_the_source(
    prokurist_kafka: RealKafka, topic: str, running: Callable[..., "StreamingQuery"]
) -> None:
    """Offsets in Kafka's shape, and where the logs end."""
    write(prokurist_kafka, topic, 20)
    query = running(options(prokurist_kafka, topic, startingOffsets="earliest"))
    wait_for(lambda: rows(query) >= 20)
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
