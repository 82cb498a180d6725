"""`watch`, over real queries of the JVM's connector, a real Kafka, and Spark's own events."""

import logging
import secrets
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prokurist import KafkaConsumer, TimeoutException, TopicPartition
from prokurist.events.clock import MonotonicClock
from prokurist.spark import GroupInUseException
from prokurist.testing.kafka import RealKafka
from tests.processes_watch import ProcessesWatch
from tests.spark.jobs import DONE, OURS, options, start_query
from tests.stopwatch import Stopwatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from prokurist.spark import CommitListener

pytestmark = pytest.mark.kafka

Eventually = Callable[..., Any]
Watch = Callable[..., "CommitListener"]
Start = Callable[..., "StreamingQuery"]
Write = Callable[[str, int], None]


@pytest.fixture
def topic(prokurist_kafka: RealKafka) -> str:
    """A topic of two partitions, with a hundred records in each."""
    name = f"t-{secrets.token_hex(4)}"
    prokurist_kafka.create_topic(name, partitions=2)
    return name


@pytest.fixture
def name() -> str:
    """A name for a query, and so for its group."""
    return f"q-{secrets.token_hex(4)}"


@pytest.fixture
def watched(spark: "SparkSession", prokurist_kafka: RealKafka) -> Iterator[Watch]:
    """Watch the session's queries; the watch ends with the test."""
    from prokurist.spark import watch

    made = []

    def begin(**more: Any) -> "CommitListener":
        listener = watch(spark, prokurist_kafka.bootstrap, **{"sample_interval": 0.5, **more})
        made.append(listener)
        return listener

    yield begin
    for each in made:
        each.close()


@pytest.fixture
def start(spark: "SparkSession", prokurist_kafka: RealKafka, tmp_path: Path) -> Iterator[Start]:
    """Start a query that reads a topic with the JVM's source; it ends with the test."""
    made = []

    def begin(topic: str, name: str, **trigger: Any) -> "StreamingQuery":
        frame = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", prokurist_kafka.direct_bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", 100)
            .load()
        )
        written = frame.writeStream.format("noop").queryName(name)
        written = written.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = (written.trigger(**trigger) if trigger else written).start()
        made.append(query)
        return query

    yield begin
    for each in made:
        each.stop()


@pytest.fixture
def group_has(prokurist_kafka: RealKafka) -> Iterator[Callable[[str, str], list[int | None]]]:
    """What a group has committed of both partitions of a topic."""
    made: dict[str, KafkaConsumer] = {}

    def ask(group: str, topic: str) -> list[int | None]:
        if group not in made:
            made[group] = KafkaConsumer(
                bootstrap_servers=prokurist_kafka.direct_bootstrap,
                group_id=group,
                enable_auto_commit=False,
            )
        found = made[group].committed([TopicPartition(topic, 0), TopicPartition(topic, 1)])
        return [None if each is None else each.offset for each in found.values()]

    yield ask
    for each in made.values():
        each.close()


def test_a_group_follows_a_query_of_the_jvms(
    watched: Watch,
    start: Start,
    write: Write,
    topic: str,
    name: str,
    group_has: Any,
    eventually: Eventually,
) -> None:
    """The end of the last batch that is done is the group's within two seconds."""
    write(topic, 200)
    watched()
    query = start(topic, name)
    for more, committed in ((0, 100), (50, 125)):
        write(topic, more)
        query.processAllAvailable()
        with ProcessesWatch() as stopwatch:
            eventually(lambda: group_has(f"spark.{name}", topic) == [committed] * 2)  # noqa: B023
            lasted = stopwatch.fair()
        assert lasted < 2.0


def test_a_query_that_has_ended_is_flushed(
    watched: Watch, start: Start, write: Write, topic: str, name: str, group_has: Any
) -> None:
    """With availableNow, too: `awaitTermination` returns before Spark tells of the end."""
    write(topic, 1000)
    listener = watched()
    query = start(topic, name, availableNow=True)
    assert query.awaitTermination(DONE)
    listener.flush(query, timeout=120.0)
    assert group_has(f"spark.{name}", topic) == [500, 500]
    listener.flush(query, timeout=0)


def test_other_sources_are_left_alone(spark: "SparkSession", watched: Watch, name: str) -> None:
    """A rate source has no offsets of Kafka's; `flush` of it has nothing to wait for."""
    from prokurist.metrics.queries import QUERIES

    listener = watched()
    rate = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    query = rate.writeStream.format("noop").queryName(name).start()
    try:
        query.processAllAvailable()
        listener.flush(query)
        assert QUERIES.read(10) == []
    finally:
        query.stop()


def test_metrics_are_served_while_a_query_runs_and_gone_after_it(
    watched: Watch, start: Start, write: Write, topic: str, name: str, eventually: Eventually
) -> None:
    """At the driver's port: what was committed, and the lag of what is not read yet."""
    write(topic, 200)
    listener = watched(metrics_port=0, group="bills")
    assert listener.metrics_port

    def scraped() -> dict[str, float]:
        page = f"http://127.0.0.1:{listener.metrics_port}/metrics"
        with urllib.request.urlopen(page, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {
            line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith("prokurist_spark_") and name in line
        }

    query = start(topic, name, processingTime="1 hour")
    ours = f'group="bills",query="{name}"'
    partition = f'group="bills",partition="0",query="{name}",topic="{topic}"'
    eventually(lambda: scraped().get(f"prokurist_spark_batch_id{{{ours}}}") == 0)
    # The first trigger took a hundred records; the next one is an hour away.
    eventually(lambda: scraped().get(f"prokurist_spark_lag_records_sum{{{ours}}}") == 100)
    assert scraped()[f"prokurist_spark_end_offset{{{partition}}}"] == 100
    assert scraped()[f"prokurist_spark_input_rows_total{{{ours}}}"] == 100
    write(topic, 100)
    eventually(lambda: scraped()[f"prokurist_spark_lag_records_sum{{{ours}}}"] == 200)
    assert scraped()[f"prokurist_spark_lag_seconds_max{{{ours}}}"] > 0
    query.stop()
    eventually(lambda: not scraped())


def test_the_lag_is_seen_while_a_batch_takes_long(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    watched: Watch,
    write: Write,
    topic: str,
    name: str,
    tmp_path: Path,
    eventually: Eventually,
) -> None:
    """It rises with what is written meanwhile, and is over with the batch."""
    from prokurist.metrics.queries import QUERIES

    go_on = threading.Event()

    def keep(_frame: "DataFrame", batch: int) -> None:
        assert batch == 0 or go_on.wait(600)

    def lag() -> tuple[int | None, float]:
        found = [each for each in QUERIES.read(10) if each.query == name]
        return (found[0].lag, found[0].lag_seconds or 0.0) if found else (None, 0.0)

    write(topic, 100)
    watched()
    given = options(prokurist_kafka, topic, startingOffsets="earliest")
    frame = spark.readStream.format(OURS).options(**given).load()
    writer = frame.writeStream.foreachBatch(keep).queryName(name)
    query = start_query(writer.option("checkpointLocation", str(tmp_path / "checkpoint")))
    try:
        eventually(lambda: lag() == (0, 0.0))
        for written in (50, 100):
            write(topic, 50)
            eventually(lambda: lag()[0] == written)  # noqa: B023 - asked at once
        _, age = lag()
        eventually(lambda: lag()[1] > age + 1.0)
        go_on.set()
        eventually(lambda: lag() == (0, 0.0))
    finally:
        go_on.set()
        query.stop()


def test_a_group_with_members_refuses_without_a_rebalance(
    prokurist_kafka: RealKafka,
    watched: Watch,
    start: Start,
    write: Write,
    topic: str,
    name: str,
    eventually: Eventually,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One clear line names the group and the way out, and `flush` raises at once."""
    write(topic, 200)
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.direct_bootstrap, group_id=name
    ) as member:
        member.subscribe([topic])
        eventually(lambda: (member.poll(0.2), member.assignment())[1])
        generation = member.group_metadata()
        listener = watched(group=name)
        began = MonotonicClock().now()
        with caplog.at_level(logging.WARNING, "prokurist.spark"):
            query = start(topic, name)
            query.processAllAvailable()
            with pytest.raises(GroupInUseException, match=f"group '{name}' has members"):
                listener.flush(query, timeout=120.0)
        lasted = MonotonicClock().now() - began
        member.poll(0.5)
        assert member.group_metadata() == generation
    told = [each.message for each in caplog.records if "members that are alive" in each.message]
    # Another only after a minute.
    assert 1 <= len(told) <= 1 + lasted / 60
    assert f"group {name!r}" in told[0]


@pytest.mark.parametrize("silence", ["swallow", "refuse"])
def test_a_silent_broker_costs_the_query_nothing_and_flush_its_time(
    prokurist_kafka: RealKafka,
    watched: Watch,
    start: Start,
    write: Write,
    topic: str,
    name: str,
    group_has: Any,
    silence: str,
) -> None:
    """Only the listener's way is silent: the query goes on, and later its group has it all.

    Its broker answers nothing, as a frozen one does, or cannot be connected to, as a dead one.
    """
    write(topic, 200)
    listener = watched(commit_deadline=1.0)
    query = start(topic, name)
    query.processAllAvailable()
    listener.flush(query)
    proxy = prokurist_kafka.proxy()
    getattr(proxy, silence)()
    if silence == "refuse":
        proxy.reset()
    for _ in range(3):
        write(topic, 50)
        query.processAllAvailable()
    told = rf"flush of {name} .* batch \d+; the last"
    with Stopwatch() as took, pytest.raises(TimeoutException, match=told) as late:
        listener.flush(query, timeout=6.0)
    assert took.seconds >= 6.0
    assert took.own < 6.0 + 2.0
    assert late.value.operation == "flush"
    assert group_has(f"spark.{name}", topic) == [100, 100]
    prokurist_kafka.heal()
    listener.flush(query, timeout=120.0)
    assert group_has(f"spark.{name}", topic) == [175, 175]


PROGRAM = """
import sys
from pyspark.sql import SparkSession
from prokurist.spark import watch

bootstrap, topic, name, checkpoint, jars, ending = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2,3]").config("spark.jars", jars)
    .config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
)
listener = watch(spark, bootstrap)
query = (
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", topic).option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 20).load()
    .writeStream.format("noop").queryName(name).option("checkpointLocation", checkpoint)
    .trigger(availableNow=True).start()
)
query.awaitTermination()
if ending == "flush":
    listener.flush(query)
"""


@pytest.mark.parametrize("ending", ["", "flush"])
def test_a_program_that_just_ends_has_its_last_batch_told(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    write: Write,
    topic: str,
    name: str,
    group_has: Any,
    tmp_path: Path,
    ending: str,
) -> None:
    """Main returns after `awaitTermination`, without `spark.stop()`; Spark logs no error.

    After a `flush` nothing is left to be told, and Spark may be calling its listeners still.
    """
    write(topic, 200)
    bootstrap = prokurist_kafka.direct_bootstrap
    jars = spark.conf.get("spark.jars")
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM,
            bootstrap,
            topic,
            name,
            str(tmp_path / "c"),
            jars or "",
            ending,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    found = [
        word
        for word in (" ERROR ", "Exception", "Traceback", "prokurist")
        if word in run.stderr
    ]
    assert not found, run.stderr
    assert group_has(f"spark.{name}", topic) == [100, 100]


def test_a_flush_of_an_idle_query_is_of_the_batch_that_is_done(
    spark: "SparkSession",
    watched: Watch,
    start: Start,
    write: Write,
    group_has: Callable[[str, str], list[int | None]],
    topic: str,
    name: str,
) -> None:
    """Spark gives an idle trigger the number of the next batch, which is told as well."""
    interval = "spark.sql.streaming.noDataProgressEventInterval"
    spark.conf.set(interval, "100")
    try:
        listener = watched()
        write(topic, 20)
        query = start(topic, name)
        for total in (20, 40):
            query.processAllAvailable()
            threading.Event().wait(2.0)
            progress = query.lastProgress
            assert progress is not None
            assert "addBatch" not in progress.durationMs
            listener.flush(query)
            assert group_has(f"spark.{name}", topic) == [total // 2, total // 2]
            write(topic, 20)
    finally:
        spark.conf.unset(interval)
