"""Batches: rows a second of each source, and of the bare client without Spark.

Thread: the main one; the bare client runs in processes of its own.
"""

import json
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from spark_session import MADE_UP, OURS, THEIRS, Rounds, medians, ratio, timed

from prokurist import KafkaConsumer, TopicPartition
from prokurist.spark.row_schema import COLUMNS
from prokurist.spark.source.arrow_batches import ArrowBatches
from prokurist.spark.source.task import FETCH

PROCESSES = 2
"""Of the bare client: as many as Spark has tasks at a time."""
COLUMNS_ALONE, AS_BATCHES = "columns", "arrow batches"
"""What the bare client makes of records: nothing further, or what Spark is handed."""
WORK: Mapping[str, Callable[[DataFrame], Any]] = {
    "noop": lambda rows: rows.write.format("noop").mode("overwrite").save(),
    "count": lambda rows: rows.count(),
    "sum": lambda rows: rows.selectExpr("sum(offset)", "sum(length(value))").collect(),
}


def batches(
    spark: SparkSession,
    formats: Sequence[str],
    given: Mapping[str, str],
    ends: Mapping[int, int],
    size: int,
    rounds: int,
) -> dict[str, Any]:
    """Rows a second, by what is done with them and by source, one source after the other.

    Args:
        spark: The Spark.
        formats: Of the sources that there are.
        given: Where the topic is.
        ends: How much of each partition is read.
        size: Bytes of a value.
        rounds: How often, beside once for warming up.
    """
    count = sum(ends.values())
    until = json.dumps({given["subscribe"]: {str(nth): end for nth, end in ends.items()}})
    parts = {"rows": str(count // len(ends)), "size": str(size), "parts": str(len(ends))}

    def frame(name: str) -> DataFrame:
        options = parts if name == MADE_UP else {**given, "endingOffsets": until}
        return spark.read.format(name).options(**options).load()

    found: dict[str, Rounds] = {what: {} for what in WORK}
    alone: Rounds = {}
    for nth in range(rounds + 1):
        for what, do in WORK.items():
            for name in (*formats, MADE_UP):
                rate = count / timed(partial(do, frame(name)))
                if nth:
                    found[what].setdefault(name, []).append(rate)
        if nth:
            for what in (COLUMNS_ALONE, AS_BATCHES):
                alone.setdefault(what, []).append(bare(given, ends, what))
    return {"spark": found, "bare": alone}


BATCH_COLUMNS = (
    *("", "prokurist", "Spark's own", "times", "made up", "of made up", "bare columns"),
    *("of the bare columns", "bare Arrow batches"),
)


def batch_rows(size: int, found: Mapping[str, Any]) -> list[list[str]]:
    """The rows of one size of values, in million rows a second."""
    alone = medians(found["bare"])
    rows = []
    for what, rounds in found["spark"].items():
        rates = medians(rounds)
        rows.append(
            [
                f"{size} B, {what}",
                f"{rates[OURS] / 1e6:.2f}",
                f"{rates[THEIRS] / 1e6:.2f}" if THEIRS in rates else "–",
                ratio(rounds, OURS, THEIRS, 2),
                f"{rates[MADE_UP] / 1e6:.2f}",
                ratio(rounds, OURS, MADE_UP, 2),
                f"{alone[COLUMNS_ALONE] / 1e6:.2f}",
                f"{rates[OURS] / alone[COLUMNS_ALONE]:.0%}",
                f"{alone[AS_BATCHES] / 1e6:.2f}",
            ]
        )
    return rows


def bare(given: Mapping[str, str], ends: Mapping[int, int], what: str) -> float:
    """Rows a second of the client alone, in processes that share the partitions."""
    parts = list(ends.items())
    jobs = [
        (
            given["kafka.bootstrap.servers"],
            given["subscribe"],
            dict(parts[nth::PROCESSES]),
            what,
        )
        for nth in range(PROCESSES)
    ]
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        pool.map(read_all, jobs, chunksize=1)  # With the imports, and not timed.
        began = time.perf_counter()
        rows = sum(pool.map(read_all, jobs, chunksize=1))
        return rows / (time.perf_counter() - began)


def read_all(job: tuple[str, str, Mapping[int, int], str]) -> int:
    """Read some partitions up to their ends: how many rows."""
    bootstrap, topic, ends, what = job
    made = ArrowBatches(tuple(COLUMNS), 1 << 20)
    rows = 0
    with KafkaConsumer({"bootstrap.servers": bootstrap, **FETCH}) as consumer:
        for number, end in ends.items():
            for records in consumer.read_range(TopicPartition(topic, number), 0, end):
                rows += len(records)
                if what == AS_BATCHES:
                    for _ in made.of(records):
                        pass
                else:
                    records.columns()
    return rows
