"""How fast Spark reads Kafka: `format("prokurist")` beside Spark's own source, with its jars.

A real Kafka, Spark in `local[2]` and the readers' processes share the machine. The sources
take turns in one Spark, one after the other for each thing that is done, round by round; the
first round of each is for warming up. Told are the medians of each one's rounds, and the
median of the ratios within each round. Beside them: what the bare client reads as columns in
as many processes, without Spark, and how fast Spark takes the same rows where they are made
up in memory.

    python benchmarks/spark.py [--rows N] [--rounds N] [--triggers N]
                               [--sizes 100 1024] [--only NAME ...] [--json FILE]

| question | what is told |
| --- | --- |
| batch | rows a second: `noop` writes all columns nowhere, `count()`, and two sums |
| stream | rows a second with 1 M rows a trigger, all of it `availableNow` |
| trigger | milliseconds for a trigger of 10 rows, beside a source that makes them up |
| latest | milliseconds for the driver's question about 100 partitions |
| many | connections, open files, threads and memory over some hundred triggers |
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark
from conditions import machine, show
from pyspark.sql import SparkSession
from reading import PARTITIONS, fill
from spark_batches import batches, present_batches
from spark_holdings import many, present_many
from spark_session import OURS, THEIRS, session
from spark_streams import (
    latest,
    present_latest,
    present_streams,
    present_triggers,
    streams,
    triggers,
)

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.spark_connector import CONNECTOR, connector_jars

QUESTIONS = ("batch", "stream", "trigger", "latest", "many")


def main() -> None:
    """Ask all that is asked for, and print tables."""
    asked = arguments()
    jars: list[Path] = []
    try:
        jars = connector_jars()
    except KafkaUnavailable as error:
        show(f"left out: Spark's own source: {error}")
    formats = [OURS, THEIRS] if jars else [OURS]
    show(f"PySpark {pyspark.__version__} beside {', '.join(CONNECTOR)}")
    show(machine())
    found: dict[str, Any] = {"machine": machine()}
    with RealKafka() as kafka, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = session(jars)
        try:
            if {"batch", "stream"} & set(asked.only):
                for size in asked.sizes:
                    found[f"{size} B"] = of_size(spark, formats, kafka, folder, size, asked)
            if "trigger" in asked.only:
                found["trigger"] = triggers(spark, formats, kafka, folder, asked.rounds)
                present_triggers(found["trigger"])
            if "latest" in asked.only:
                found["latest"] = latest(kafka)
                present_latest(found["latest"])
            if "many" in asked.only:
                found["many"] = many(spark, kafka, folder, asked.triggers)
                present_many(found["many"])
        finally:
            spark.stop()
    show(f"\n{machine()}")
    if asked.json:
        Path(asked.json).write_text(json.dumps(found, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000_000, help="that each of them reads")
    parser.add_argument("--rounds", type=int, default=3, help="beside one for warming up")
    parser.add_argument("--triggers", type=int, default=300, help="of a query's long life")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--only", nargs="+", default=list(QUESTIONS), choices=QUESTIONS)
    parser.add_argument("--json")
    return parser.parse_args()


def of_size(
    spark: SparkSession,
    formats: Sequence[str],
    kafka: RealKafka,
    folder: Path,
    size: int,
    asked: argparse.Namespace,
) -> dict[str, Any]:
    """Batches and streams of values of one size, of one topic."""
    each = -(-asked.rows // PARTITIONS)
    count = each * PARTITIONS
    topic = kafka.unique_topic(partitions=PARTITIONS)
    fill(kafka.direct_bootstrap, topic, count, size, "none")
    given = {"kafka.bootstrap.servers": kafka.direct_bootstrap, "subscribe": topic}
    found: dict[str, Any] = {}
    if "batch" in asked.only:
        ends = dict.fromkeys(range(PARTITIONS), each)
        found["batch"] = batches(spark, formats, given, ends, size, asked.rounds)
        present_batches(size, found["batch"])
    if "stream" in asked.only:
        found["stream"] = streams(spark, formats, given, count, folder, asked.rounds)
        present_streams(size, found["stream"])
    kafka.delete_topic(topic)
    return found


if __name__ == "__main__":
    main()
