"""A broker that is frozen or dead, in every phase of a query: its error comes by its deadline.

How long Spark itself takes to begin a query and to fail it, is a matter of the machine and of
the moment. So that is measured in each test, before and after, and allowed on top; and what
the machine gives to others meanwhile is not counted.
"""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.kafka import RealKafka
from tests.processes_watch import ProcessesWatch
from tests.spark.jobs import (
    OURS,
    batch,
    finish,
    gated,
    options,
    rows,
    runners,
    save,
    stream_to,
    until,
    write,
    written_out,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.kafka

SILENCES = ("freeze", "kill")
"""A broker that takes everything and answers nothing, and one that accepts no connection."""
DRIVER = 6.0
"""Seconds that the driver is given; enough for a well broker on a machine that is shared."""
BATCH = 15.0
"""Seconds that a batch is given."""
STOP = 2.0
"""Seconds within which a query stops, in any wait."""
ENDLESS = {"processingTime": "0 seconds"}
"""A trigger: one batch after the other."""
WAVES, SLOTS = 4, 2
"""How often each thread of this Spark has a task to run, and how many threads it has."""

TOLD = re.compile(
    r"TimeoutException: \w+.* was given ([\d.]+) s and has no result after ([\d.]+) s"
)
"""What an error says: of what, how long that was given, and how long it took."""

Start = Callable[..., "StreamingQuery"]


@pytest.fixture
def started(spark: "SparkSession", tmp_path: Path) -> Iterator[Start]:
    """Start queries, each in a folder of its own by name; they are stopped with the test."""
    queries: list[StreamingQuery] = []

    def start(name: str, given: dict[str, str], **trigger: Any) -> "StreamingQuery":
        query = stream_to(spark, OURS, given, tmp_path / name, **trigger)
        queries.append(query)
        return query

    yield start
    for query in queries:
        query.stop()


def endless(start: Start, name: str, given: dict[str, str]) -> "StreamingQuery":
    """A query that goes on."""
    return start(name, given, **ENDLESS)


def failure(query: "StreamingQuery") -> str:
    """Wait until a query has failed: why."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's own; its text is what counts
        finish(query)
    return str(caught.value)


def failure_of(frame: "DataFrame") -> str:
    """Why a batch cannot be read."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the same
        save(frame)
    return str(caught.value)


def took(question: Callable[[], Any]) -> float:
    """How long it takes."""
    began = time.monotonic()
    question()
    return time.monotonic() - began


def took_itself(question: Callable[[], Any]) -> float:
    """How long it takes, without what the machine gives to others."""
    with ProcessesWatch() as stopwatch:
        question()
        return stopwatch.fair()


def fails_at_once(ask: Callable[[dict[str, str]], str], given: dict[str, str]) -> None:
    """Have a phase fail as it does when a broker is silent, but with no time to wait for."""
    told = ask(given | {"driverDeadlineMs": "1"})
    assert "TimeoutException" in told, told


def interrupted(start: Start, name: str, given: dict[str, str], kafka: RealKafka) -> None:
    """A query whose last batch is written down, is of partitions that are new, and not done.

    Who goes on from there asks for the beginnings of those before anything else.
    """
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    finish(start(name, given))
    topic = given["subscribe"]
    admin = AdminClient({"bootstrap.servers": kafka.direct_bootstrap, "log_level": 0})
    for future in admin.create_partitions([NewPartitions(topic, 4)]).values():
        future.result(30)
    write(kafka, topic, 40, partitions=4)
    finish(start(name, given))


def forget(folder: Path, *logs: str) -> None:
    """Have a query's second batch not be done, as if its process had ended before."""
    for log in logs:
        for name in ("1", ".1.crc"):
            (folder / log / name).unlink(missing_ok=True)


@pytest.mark.minutes
@pytest.mark.parametrize("silence", SILENCES)
def test_the_driver_s_error_comes_by_its_deadline_in_every_phase(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    started: Start,
    tmp_path: Path,
    silence: str,
) -> None:
    """While a batch is planned, a stream begins, looks at the logs, and plans new partitions.

    Each says what it asked, and is given what it was asked to take, and a second.
    """
    kafka = prokurist_kafka
    topic, growing = (kafka.unique_topic("silence", partitions=2) for _ in range(2))
    for each in (topic, growing):
        write(kafka, each, 20)
    well = options(kafka, topic, startingOffsets="earliest")
    interrupted(started, "planning", well | {"subscribe": growing}, kafka)
    forget(tmp_path / "planning", "checkpoint/commits", "out/_spark_metadata")
    asked: dict[str, Callable[[dict[str, str]], str]] = {
        "planning a batch": lambda given: failure_of(batch(spark, OURS, given)),
        "beginning": lambda given: failure(endless(started, "beginning", given)),
        "beginning, of what is there now": lambda given: failure(started("available", given)),
        "planning new partitions": lambda given: failure(
            endless(started, "planning", given | {"subscribe": growing})
        ),
    }
    well_done = max(
        took(lambda: save(batch(spark, OURS, well))),
        took(lambda: finish(started("own", well))),
    )
    # To fail is another way through Spark than to succeed, and each phase has its own.
    before = {phase: took(partial(fails_at_once, ask, well)) for phase, ask in asked.items()}
    given = well | {"driverDeadlineMs": str(int(DRIVER * 1000))}
    running = endless(started, "running", given)
    until(lambda: rows(running) >= 20)

    phases: dict[str, Callable[[], str]] = {
        "looking at the logs": lambda: failure(running),
        **{phase: partial(ask, given) for phase, ask in asked.items()},
    }
    getattr(kafka, silence)()
    told, lasted, kept = {}, {}, {}
    for phase, in_phase in phases.items():
        with ProcessesWatch() as stopwatch:
            told[phase] = in_phase()
            lasted[phase] = stopwatch.fair()
            kept[phase] = stopwatch.elapsed() - lasted[phase]
    for phase, text in told.items():
        found = TOLD.search(text)
        assert found is not None, (phase, text)
        assert float(found[1]) <= DRIVER, phase
        assert float(found[2]) < DRIVER + 1.0 + kept[phase], phase
    kafka.heal()
    after = {phase: took(partial(fails_at_once, ask, well)) for phase, ask in asked.items()}
    for phase, seconds in lasted.items():
        own = max(well_done, before.get(phase, 0.0), after.get(phase, 0.0))
        # However slow Spark is: two operations, one after the other, are too long.
        assert seconds < min(DRIVER + 1.0 + own, 2 * DRIVER), (phase, lasted, before, after)
    # What had been written down is read now, and what was not, as well.
    finish(started("planning", well | {"subscribe": growing}))
    assert written_out(spark, tmp_path / "planning") == {
        0: list(range(20)),
        1: list(range(20)),
        2: list(range(10)),
        3: list(range(10)),
    }


@pytest.mark.parametrize(
    ("kind", "stall", "silence"), [("batch", 60.0, "freeze"), ("stream", 10.0, "kill")]
)
def test_what_reads_fails_by_the_batch_s_deadline(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    started: Start,
    tmp_path: Path,
    kind: str,
    stall: float,
    silence: str,
) -> None:
    """However many waves of tasks there are, of three attempts each: they share it.

    Also where an attempt alone may wait for longer, and where three of them would.
    """
    kafka, partitions = prokurist_kafka, WAVES * SLOTS
    topic = kafka.unique_topic("waves", partitions=partitions)
    write(kafka, topic, 50 * partitions, partitions=partitions)
    given = options(
        kafka,
        topic,
        startingOffsets="earliest",
        batchDeadlineMs=int(BATCH * 1000),
        readStallMs=int(stall * 1000),
    )
    # Each attempt that fails ends its worker, and the next one begins with a new one.
    late = batch(spark, OURS, given | {"batchDeadlineMs": "1"})
    own = took(lambda: failure_of(late))
    if kind == "batch":
        frame = gated(batch(spark, OURS, given), tmp_path)
        ask = partial(failure_of, frame)
    else:
        query = started("waves", given, behind=tmp_path)
        ask = partial(failure, query)
    with ThreadPoolExecutor(1) as pool:
        failing = pool.submit(ask)
        until((tmp_path / "reached").exists)
        getattr(kafka, silence)()
        with ProcessesWatch() as stopwatch:
            (tmp_path / "open").touch()
            told = failing.result()
            lasted = stopwatch.fair()
    assert "TimeoutException" in told, told
    assert lasted < BATCH + 5.0 + own, (lasted, own)


def test_a_query_stops_at_once_in_every_phase(
    prokurist_kafka: RealKafka, started: Start, tmp_path: Path
) -> None:
    """Although its driver or its tasks wait for a broker that is frozen, and for long."""
    kafka = prokurist_kafka
    topic, growing = (kafka.unique_topic("stopping", partitions=2) for _ in range(2))
    for each in (topic, growing):
        write(kafka, each, 20)
    given = options(kafka, topic, startingOffsets="earliest", driverDeadlineMs=120_000)
    interrupted(started, "planning", given | {"subscribe": growing}, kafka)
    forget(tmp_path / "planning", "checkpoint/commits")
    looking = endless(started, "looking at the logs", given)
    until(lambda: rows(looking) >= 20)
    reading = started(
        "reading", given | {"maxRecordsPerPartition": "1"}, behind=tmp_path, **ENDLESS
    )
    until((tmp_path / "reached").exists)
    kafka.freeze()
    (tmp_path / "open").touch()
    queries = {
        "looking at the logs": looking,
        "reading": reading,
        "beginning": endless(started, "beginning", given),
        "planning": endless(started, "planning", given | {"subscribe": growing}),
    }
    until(lambda: len(runners()) == len(queries))
    lasted = {phase: took_itself(query.stop) for phase, query in queries.items()}
    assert all(each < STOP for each in lasted.values()), lasted
    until(lambda: not runners())
