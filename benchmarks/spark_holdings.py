"""What a query's processes hold over many triggers: connections, files, threads, memory.

Thread: the main one.
"""

import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession
from spark_session import OURS, sparse_topic
from spark_streams import FEW

from prokurist.testing.kafka import RealKafka

YOUNG = 0.1
"""The part of its triggers after which a query has all that it needs."""
LOOKS = 8
"""At how many moments from then on it is looked at."""
PAUSE = 0.2


def many(
    spark: SparkSession, kafka: RealKafka, folder: Path, batches: int
) -> dict[int, dict[str, Any]]:
    """What is held, by the number of triggers until then; connections are the broker's count.

    They are counted where clients come through, so that one that comes and goes counts too.
    """
    topic = sparse_topic(kafka, 2, batches * FEW)
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(FEW),
    }
    query = (
        spark.readStream.format(OURS)
        .options(**options)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", tempfile.mkdtemp(dir=folder))
        .start()
    )
    before = kafka.proxy().accepted
    first = int(batches * YOUNG)
    moments = [first + (batches - 5 - first) * nth // LOOKS for nth in range(LOOKS + 1)]
    held: dict[int, dict[str, Any]] = {}
    try:
        for moment in moments:
            while (progress := query.lastProgress) is None or progress.batchId < moment:
                if query.exception() is not None or not query.isActive:
                    raise RuntimeError(f"the query has ended: {query.exception()}")
                time.sleep(PAUSE)
            came = kafka.proxy().accepted - before
            held[progress.batchId] = {"connections": came, **holdings()}
    finally:
        query.stop()
    return held


def holdings() -> dict[str, float]:
    """What the Python processes below this one hold together."""
    found = {"processes": 0, "files": 0, "threads": 0, "MiB": 0.0}
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # Spark's helpers live for a moment.
            if not each.name().startswith("python"):
                continue
            memory = each.memory_full_info().uss / (1 << 20)
            files, threads = each.num_fds(), each.num_threads()
            found["processes"] += 1
            found["files"] += files
            found["threads"] += threads
            found["MiB"] += memory
    return found


HELD_COLUMNS = "after triggers", "connections made", "processes", "files", "threads", "MiB"


def held_rows(held: dict[int, dict[str, Any]]) -> list[list[str]]:
    """What is held at each moment."""
    keys = "connections", "processes", "files", "threads"
    return [
        [str(moment), *(str(each[key]) for key in keys), f"{each['MiB']:.1f}"]
        for moment, each in held.items()
    ]


def connections_row(held: dict[int, dict[str, Any]]) -> list[str]:
    """What was asked for, and what was found."""
    first, *_, last = held.values()
    since = max(held) - min(held)
    return [
        f"new connections in {since} triggers, after the first ones",
        "0",
        str(last["connections"] - first["connections"]),
    ]
