"""How fast Spark reads and writes Kafka: `format("prokurist")` beside Spark's own, with jars.

A real Kafka, Spark in `local[2]` and the readers' processes share the machine. The sources
take turns in one Spark, one after the other for each thing that is done, round by round; the
first round of each is for warming up. Told are the medians of each one's rounds, and the
median of the ratios within each round. Beside them: what the bare client reads as columns in
as many processes, without Spark, and how fast Spark takes the same rows where they are made
up in memory.

    python benchmarks/spark.py [--rows N] [--rounds N] [--triggers N]
                               [--written N] [--sizes 100 1024] [--only NAME ...] [--keep]

| question | what is told |
| --- | --- |
| batch | rows a second: `noop` writes all columns nowhere, `count()`, and two sums |
| stream | rows a second with 1 M rows a trigger, all of it `availableNow` |
| trigger | milliseconds for a trigger of 10 rows, beside a source that makes them up |
| latest | milliseconds for the driver's question about 100 partitions |
| many | connections, open files, threads and memory over some hundred triggers |
| write | rows a second and CPU seconds of the sinks, without the cost of making the rows |
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyspark
import taking_part
from conditions import show
from data_files import Conditions, Table, keep
from data_files import show as show_table
from pyspark.sql import SparkSession
from reading import PARTITIONS, fill
from spark_batches import BATCH_COLUMNS, batch_rows, batches
from spark_holdings import HELD_COLUMNS, connections_row, held_rows, many
from spark_session import OURS, THEIRS, session
from spark_streams import (
    STREAM_COLUMNS,
    latest,
    latest_row,
    stream_rows,
    streams,
    trigger_row,
    triggers,
)
from spark_writes import WRITE_COLUMNS, write_rows, writes

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.spark_connector import CONNECTOR, connector_jars

QUESTIONS = ("batch", "stream", "trigger", "latest", "many", "write")


def main() -> None:
    """Ask all that is asked for, and print tables."""
    asked = arguments()
    jars: list[Path] = []
    try:
        jars = connector_jars()
    except KafkaUnavailable as error:
        show(f"left out: Spark's own source: {error}")
    formats = [OURS, THEIRS] if jars else [OURS]
    conditions = Conditions()
    found: dict[str, list[list[str]]] = {}
    with RealKafka() as kafka, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = session(jars)
        try:
            if {"batch", "stream"} & set(asked.only):
                for size in asked.sizes:
                    of_size(spark, formats, kafka, folder, size, asked, found)
            if "write" in asked.only:
                for size in asked.sizes:
                    cost = writes(spark, formats, kafka, asked.written, size, asked.rounds)
                    found.setdefault("writes", []).extend(write_rows(size, cost))
            small = found.setdefault("small things", [])
            if "trigger" in asked.only:
                small += [trigger_row(triggers(spark, formats, kafka, folder, asked.rounds))]
            if "latest" in asked.only:
                small += [latest_row(latest(kafka))]
            if "many" in asked.only:
                held = many(spark, kafka, folder, asked.triggers)
                found["holdings"] = held_rows(held)
                small += [connections_row(held)]
        finally:
            spark.stop()
    tables = {
        name: Table(how, columns, found[name])
        for name, (how, columns) in heads(asked).items()
        if found.get(name)
    }
    for name, table in tables.items():
        show_table(name, table)
    if asked.keep:
        told = conditions.told() | {"kafka": kafka.version}
        connector = ", ".join(each.split(":", 1)[1] for each in CONNECTOR)
        keep("spark", tables, taking_part.of_spark(pyspark.__version__, connector), told)


def heads(asked: argparse.Namespace) -> dict[str, tuple[str, Sequence[str]]]:
    """How each table was measured, and its columns."""
    return {
        "batches": (
            f"{asked.rounds} rounds; {asked.rows} rows a batch, million rows a second. Medians",
            BATCH_COLUMNS,
        ),
        "streams": ("A million rows a trigger, million rows a second", STREAM_COLUMNS),
        "writes": (
            f"{asked.rounds} rounds; {asked.written} rows, M rows a second, without `noop`",
            WRITE_COLUMNS,
        ),
        "small things": (
            "Where only what a trigger costs by itself counts",
            ("", "asked", "measured"),
        ),
        "holdings": (
            "What the Python processes of a query of a few rows a trigger hold together",
            HELD_COLUMNS,
        ),
    }


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000_000, help="that each of them reads")
    parser.add_argument("--written", type=int, default=1_000_000, help="rows of each sink")
    parser.add_argument("--rounds", type=int, default=3, help="beside one for warming up")
    parser.add_argument("--triggers", type=int, default=300, help="of a query's long life")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--only", nargs="+", default=list(QUESTIONS), choices=QUESTIONS)
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    return parser.parse_args()


def of_size(
    spark: SparkSession,
    formats: Sequence[str],
    kafka: RealKafka,
    folder: Path,
    size: int,
    asked: argparse.Namespace,
    found: dict[str, list[list[str]]],
) -> None:
    """Add the rows of batches and streams of values of one size, of one topic."""
    each = -(-asked.rows // PARTITIONS)
    count = each * PARTITIONS
    topic = kafka.unique_topic(partitions=PARTITIONS)
    fill(kafka.direct_bootstrap, topic, count, size, "none")
    given = {"kafka.bootstrap.servers": kafka.direct_bootstrap, "subscribe": topic}
    if "batch" in asked.only:
        ends = dict.fromkeys(range(PARTITIONS), each)
        rates = batches(spark, formats, given, ends, size, asked.rounds)
        found.setdefault("batches", []).extend(batch_rows(size, rates))
    if "stream" in asked.only:
        run = streams(spark, formats, given, count, folder, asked.rounds)
        found.setdefault("streams", []).extend(stream_rows(size, run))
    kafka.delete_topic(topic)


if __name__ == "__main__":
    main()
