"""Streams: rows a second of full triggers, and what a trigger of a few rows costs.

Thread: the main one.
"""

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from conditions import show
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


def present_streams(size: int, found: Mapping[str, Rounds]) -> None:
    """A table, ready to be pasted."""
    show(f"\n{size} bytes, a million rows a trigger, million rows a second:\n")
    show("| | prokurist | Spark's own | times |")
    show("|---|--:|--:|--:|")
    for what, rounds in found.items():
        rates = medians(rounds)
        times = ratio(rounds, OURS, THEIRS)
        theirs = "–" if times is None else f"{rates[THEIRS] / 1e6:.2f} | {times:.2f}"
        show(f"| {what} | {rates[OURS] / 1e6:.2f} | {theirs} |")


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


def present_triggers(found: Rounds) -> None:
    """A table, ready to be pasted."""
    show(f"\nA trigger of {FEW} rows, ms:\n")
    show("| prokurist | Spark's own | made up | times made up |")
    show("|--:|--:|--:|--:|")
    spans = medians(found)
    theirs = f"{spans[THEIRS] * 1000:.0f}" if THEIRS in spans else "–"
    times = ratio(found, OURS, MADE_UP)
    show(f"| {spans[OURS] * 1000:.0f} | {theirs} | {spans[MADE_UP] * 1000:.0f} | {times:.2f} |")


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


def present_latest(spans: Sequence[float]) -> None:
    """A table, ready to be pasted."""
    first, *others = spans
    others.sort()
    show(f"\n`latestOffset` of {MANY_PARTITIONS} partitions, ms:\n")
    show("| first | median | p95 | max |")
    show("|--:|--:|--:|--:|")
    p95 = others[int(len(others) * 0.95)]
    show(f"| {first:.1f} | {statistics.median(others):.1f} | {p95:.1f} | {others[-1]:.1f} |")
