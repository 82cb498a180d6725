"""Writing: rows a second and CPU seconds of each sink, without the cost of making the rows.

Thread: the main one.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import psutil
from pyspark.sql import DataFrame, SparkSession
from reading import PARTITIONS
from spark_session import OURS, THEIRS, Rounds, medians, ratio

from prokurist.testing.kafka import RealKafka

NOWHERE = "noop"
"""Spark's sink that drops rows: what making them costs."""
TASKS = 2


class Cost(NamedTuple):
    """Cost of one job.

    Attributes:
        seconds: Of the clock.
        cpu: Of Spark's JVM and its Python processes; brokers are others.
    """

    seconds: float
    cpu: float


def writes(
    spark: SparkSession,
    formats: Sequence[str],
    kafka: RealKafka,
    rows: int,
    size: int,
    rounds: int,
) -> dict[str, Rounds]:
    """Write rows by each sink in turn.

    Args:
        spark: The Spark.
        formats: The sinks.
        kafka: The Kafka.
        rows: How many rows each of them writes.
        size: Bytes of a value.
        rounds: How often, beside once for warming up.

    Returns:
        Million rows a second, and CPU seconds for a million rows, by sink; of `noop` as it is,
        of others what is left without it.
    """
    filler = "x" * (size - 20)
    frame = spark.range(0, rows, 1, TASKS).selectExpr(
        f"concat(lpad(cast(id as string), 20, '0'), '{filler}') as value"
    )
    millions = rows / 1e6
    found: dict[str, Rounds] = {"rate": {}, "cpu": {}}
    for nth in range(rounds + 1):
        made = cost(frame, NOWHERE, {})
        spent = {NOWHERE: made}
        for name in formats:
            topic = kafka.unique_topic(partitions=PARTITIONS)
            options = {"kafka.bootstrap.servers": kafka.direct_bootstrap, "topic": topic}
            whole = cost(frame, name, options)
            kafka.delete_topic(topic)
            spent[name] = Cost(whole.seconds - made.seconds, whole.cpu - made.cpu)
        if nth:
            for name, each in spent.items():
                found["rate"].setdefault(name, []).append(millions / max(each.seconds, 1e-3))
                found["cpu"].setdefault(name, []).append(each.cpu / millions)
    return found


def cost(frame: DataFrame, name: str, options: dict[str, str]) -> Cost:
    """Write a frame, and measure."""
    before, began = cpu_seconds(), time.perf_counter()
    mode = "overwrite" if name == NOWHERE else "append"
    frame.write.format(name).mode(mode).options(**options).save()
    return Cost(time.perf_counter() - began, cpu_seconds() - before)


def cpu_seconds() -> float:
    """The CPU seconds of all processes below this one that are Spark's."""
    spent = 0.0
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            line = " ".join(each.cmdline())
            if "SparkSubmit" in line or "pyspark" in line:
                times = each.cpu_times()
                spent += times.user + times.system
    return spent


WRITE_COLUMNS = (
    *("", "prokurist", "Spark's own", "times", "making the rows"),
    *("CPU s a million rows", "Spark's own", "times", "making the rows"),
)


def write_rows(size: int, found: dict[str, Rounds]) -> list[list[str]]:
    """The row of one size of values."""
    cells = [f"{size} B"]
    for what in ("rate", "cpu"):
        each = medians(found[what])
        cells += [
            f"{each[OURS]:.2f}",
            f"{each[THEIRS]:.2f}" if THEIRS in each else "–",
            ratio(found[what], OURS, THEIRS, 2),
            f"{each[NOWHERE]:.2f}",
        ]
    return [cells]
