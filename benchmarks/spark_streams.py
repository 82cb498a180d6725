"""Streams: rows a second of full triggers, and what a trigger of a few rows costs.

Thread: the main one.
"""

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from spark_session import MADE_UP, OURS, THEIRS, Rounds, medians, ratio, sparse_topic, timed

from prokurist.events.clock import MonotonicClock
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import Settings
from prokurist.spark.source.stream_offsets import Stream
from prokurist.testing.kafka import RealKafka

PER_TRIGGER = 1_000_000
FEW = 10
FEW_TRIGGERS = 40
WARM_AFTER = 10
"""Triggers of a few rows that are left out."""
MANY_PARTITIONS = 100
ASKED = 200
"""How often the driver's question is asked."""


def streams(
    spark: SparkSession,
    formats: Sequence[str],
    given: Mapping[str, str],
    count: int,
    folder: Path,
    rounds: int,
) -> dict[str, Rounds]:
    """Rows a second of whole queries, and of their full triggers but the first."""
    whole: Rounds = {}
    full: Rounds = {}
    options = {**given, "startingOffsets": "earliest", "maxOffsetsPerTrigger": str(PER_TRIGGER)}
    for nth in range(rounds + 1):
        for name in formats:
            began = time.perf_counter()
            query = run_through(spark, name, options, folder)
            took = time.perf_counter() - began
            spans = [
                each.durationMs["triggerExecution"] / 1000
                for each in query.recentProgress[1:]
                if each.numInputRows and each.numInputRows >= PER_TRIGGER * 0.9
            ]
            if nth:
                whole.setdefault(name, []).append(count / took)
                full.setdefault(name, []).append(PER_TRIGGER / statistics.median(spans))
    return {"whole query": whole, "a full trigger": full}


STREAM_COLUMNS = "", "prokurist", "Spark's own", "times"


def stream_rows(size: int, found: Mapping[str, Rounds]) -> list[list[str]]:
    """The rows of one size of values, in million rows a second."""
    rows = []
    for what, rounds in found.items():
        rates = medians(rounds)
        theirs = f"{rates[THEIRS] / 1e6:.2f}" if THEIRS in rates else "–"
        ours = f"{rates[OURS] / 1e6:.2f}"
        rows.append([f"{size} B, {what}", ours, theirs, ratio(rounds, OURS, THEIRS, 2)])
    return rows


def run_through(
    spark: SparkSession, name: str, options: Mapping[str, str], folder: Path
) -> StreamingQuery:
    """Read all there is into nothing."""
    query = (
        spark.readStream.format(name)
        .options(**options)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", tempfile.mkdtemp(dir=folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def triggers(
    spark: SparkSession,
    formats: Sequence[str],
    kafka: RealKafka,
    folder: Path,
    rounds: int,
) -> Rounds:
    """Seconds for a trigger of a few rows, where nothing but overhead counts."""
    topic = sparse_topic(kafka, 2, FEW_TRIGGERS * FEW)
    given = {
        "kafka.bootstrap.servers": kafka.direct_bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(FEW),
    }
    few = {"rows": str(FEW // 2), "size": "100", "parts": "2", "triggers": str(FEW_TRIGGERS)}
    found: Rounds = {}
    for _ in range(rounds):
        for name in (*formats, MADE_UP):
            query = run_through(spark, name, few if name == MADE_UP else given, folder)
            spans = [
                each.durationMs["triggerExecution"] / 1000
                for each in query.recentProgress[WARM_AFTER:]
                if each.numInputRows
            ]
            found.setdefault(name, []).append(statistics.median(spans))
    return found


def trigger_row(found: Rounds) -> list[str]:
    """What was asked for, and what was found."""
    spans = {name: f"{1000 * span:.0f}" for name, span in medians(found).items()}
    told = ", ".join(f"{name} {span} ms" for name, span in spans.items())
    times = ratio(found, OURS, MADE_UP, 2)
    return [f"a trigger of {FEW} rows, times made up", "1.3", f"{times}: {told}"]


def latest(kafka: RealKafka) -> list[float]:
    """Milliseconds for the driver's question, about many partitions at once."""
    topic = sparse_topic(kafka, MANY_PARTITIONS, 10 * MANY_PARTITIONS)
    options = {
        "kafka.bootstrap.servers": kafka.direct_bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    settings = Settings.of(options)
    stream = Stream(settings, DriverQueries(settings.client), MonotonicClock())
    start = stream.initial()
    spans = [timed(lambda: stream.latest(start, limited=True)) * 1000 for _ in range(ASKED)]
    stream.close()
    return spans


def latest_row(spans: Sequence[float]) -> list[str]:
    """What was asked for, and what was found."""
    others = sorted(spans[1:])
    told = statistics.median(others), others[int(len(others) * 0.95)], others[-1]
    return [
        f"`latestOffset` of {MANY_PARTITIONS} partitions, ms: median, p95, the longest",
        "20",
        ", ".join(f"{each:.1f}" for each in told),
    ]
