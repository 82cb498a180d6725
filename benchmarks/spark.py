"""How fast Spark reads Kafka: `format("prokurist")` beside Spark's own source, with its jars.

A real Kafka, Spark in `local[2]` and the readers' processes share the machine. Both sources
take turns in one Spark, round by round, and the median of each one's rounds is told; the
first round of each is for warming up and is left out. Beside them: what the bare client
reads as columns in as many processes, without Spark, and how fast Spark takes the same rows
where they are made up in memory.

    python benchmarks/spark.py [--mib N] [--rounds N] [--sizes 100 1024] [--json FILE]
                               [--only NAME ...]

| question | what is told |
| --- | --- |
| batch | rows a second: `noop` writes all columns nowhere, `count()`, and two sums |
| stream | rows a second with 1 M rows a trigger, all of it `availableNow` |
| trigger | seconds for a trigger of 10 rows, beside a source that makes them up |
| latest | milliseconds for the driver's question about 100 partitions |
| many | connections, open files, threads and memory over some hundred triggers |
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from conditions import machine, show
from consume import fill
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from prokurist import KafkaConsumer, TopicPartition
from prokurist.events.clock import MonotonicClock
from prokurist.spark.batches import TYPES, Batches
from prokurist.spark.brokers import Brokers
from prokurist.spark.options import Settings
from prokurist.spark.schema import COLUMNS, ddl
from prokurist.spark.streaming import Stream
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.jars import find_maven

PARTITIONS = 6
PER_TRIGGER = 1_000_000
FEW = 10
OURS, THEIRS, MADE_UP, BARE = "prokurist", "kafka", "made up", "bare client"
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
QUESTIONS = ("batch", "stream", "trigger", "latest", "many")

Tables = dict[str, dict[str, Any]]


def main() -> None:
    """Ask all that is asked for, and print tables."""
    asked = arguments()
    show(machine())
    tables: Tables = {}
    jars = connector()
    if jars is None:
        show("left out: Spark's own source, whose jars could not be had")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with RealKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        spark = session(jars or [])
        formats = [OURS] if jars is None else [OURS, THEIRS]
        try:
            for size in asked.sizes if {"batch", "stream"} & set(asked.only) else ():
                topic = kafka.unique_topic(partitions=PARTITIONS)
                count = (asked.mib << 20) // size // PARTITIONS * PARTITIONS
                fill(kafka.direct_bootstrap, topic, count, size, "none")
                given = {
                    "kafka.bootstrap.servers": kafka.direct_bootstrap,
                    "subscribe": topic,
                }
                if "batch" in asked.only:
                    tables[f"batch, {size} B"] = batches(
                        spark, formats, given, count, size, asked.rounds
                    )
                if "stream" in asked.only:
                    tables[f"stream, {size} B"] = streams(
                        spark, formats, given, count, Path(folder), asked.rounds
                    )
                kafka.delete_topic(topic)
            if "trigger" in asked.only:
                tables["trigger"] = triggers(spark, formats, kafka, Path(folder))
            if "latest" in asked.only:
                tables["latest"] = latest(kafka)
            if "many" in asked.only:
                tables["many"] = many(spark, kafka, Path(folder))
        finally:
            spark.stop()
    for name, table in tables.items():
        present(name, table)
    if asked.json:
        text = json.dumps({"machine": machine(), **tables}, indent=2)
        Path(asked.json).write_text(text + "\n")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=300, help="values in each topic")
    parser.add_argument("--rounds", type=int, default=4, help="the first is left out")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--only", nargs="+", default=list(QUESTIONS), choices=QUESTIONS)
    parser.add_argument("--json")
    return parser.parse_args()


def connector() -> list[Path] | None:
    """The jars of Spark's own source, one by one; None where they cannot be had."""
    jars: list[Path] = []
    for each in CONNECTOR:
        group, artifact, version = each.split(":")
        home = Path.home() / ".m2/repository" / group.replace(".", "/") / artifact / version
        jar = home / f"{artifact}-{version}.jar"
        if not jar.exists():
            argv = [str(find_maven()), "-q", "-B", "dependency:get", "-Dtransitive=false"]
            if subprocess.run([*argv, f"-Dartifact={each}"], check=False).returncode:
                return None
        jars.append(jar)
    return jars


def session(jars: Sequence[Path]) -> SparkSession:
    """One Spark for both."""
    spark = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    from prokurist.spark.source import Source  # noqa: PLC0415 - pyspark's workers find it by name

    spark.dataSource.register(Source)
    spark.dataSource.register(MadeUp)
    return spark


# --- batches -------------------------------------------------------------------------


def batches(
    spark: SparkSession,
    formats: Sequence[str],
    given: dict[str, str],
    count: int,
    size: int,
    rounds: int,
) -> dict[str, Any]:
    """Rows a second of each source, by what is done with them."""
    made_up = {"rows": str(count // PARTITIONS), "size": str(size), "parts": str(PARTITIONS)}

    def frame(name: str) -> DataFrame:
        if name == MADE_UP:
            return spark.read.format("made_up").options(**made_up).load()
        return spark.read.format(name).options(**given).load()

    work: dict[str, Callable[[DataFrame], Any]] = {
        "noop": lambda rows: rows.write.format("noop").mode("overwrite").save(),
        "count": lambda rows: rows.count(),
        "sum": lambda rows: rows.selectExpr("sum(offset)", "sum(length(value))").collect(),
    }
    spans: dict[str, dict[str, list[float]]] = {}
    for nth in range(rounds):
        for name in (*formats, MADE_UP):
            for what, do in work.items():
                took = timed(lambda do=do, name=name: do(frame(name)))
                if nth:
                    spans.setdefault(name, {}).setdefault(what, []).append(count / took)
        if nth:
            spans.setdefault(BARE, {}).setdefault("columns", []).append(
                bare(given, as_batches=False)
            )
            spans[BARE].setdefault("batches", []).append(bare(given, as_batches=True))
    return {
        name: {what: statistics.median(each) for what, each in of.items()}
        for name, of in spans.items()
    }


def bare(given: dict[str, str], *, as_batches: bool) -> float:
    """Rows a second of the client alone, in two processes that share the partitions."""
    halves = [range(PARTITIONS)[nth::2] for nth in range(2)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        jobs = [
            (given["kafka.bootstrap.servers"], given["subscribe"], tuple(half), as_batches)
            for half in halves
        ]
        pool.map(read_columns, jobs)  # With the imports, and not timed.
        began = time.perf_counter()
        rows = sum(pool.map(read_columns, jobs))
        return rows / (time.perf_counter() - began)


def read_columns(job: tuple[str, str, Sequence[int], bool]) -> int:
    """Read some partitions whole, as columns or as Arrow batches: how many rows."""
    bootstrap, topic, numbers, as_batches = job
    places = [TopicPartition(topic, number) for number in numbers]
    rows = 0
    made = Batches(tuple(COLUMNS), 1 << 20)
    with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        for tp, end in consumer.end_offsets(places).items():
            for records in consumer.read_range(tp, 0, end):
                rows += len(records)
                if as_batches:
                    for _ in made.of(records):
                        pass
                else:
                    records.columns()
    return rows


# --- streams -------------------------------------------------------------------------


def streams(
    spark: SparkSession,
    formats: Sequence[str],
    given: dict[str, str],
    count: int,
    folder: Path,
    rounds: int,
) -> dict[str, Any]:
    """Rows a second of whole queries, and seconds a full trigger."""
    found: dict[str, dict[str, list[float]]] = {}
    for nth in range(rounds):
        for name in formats:
            options = given | {
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(PER_TRIGGER),
            }
            frame = spark.readStream.format(name).options(**options).load()
            began = time.perf_counter()
            query = (
                frame.writeStream.format("noop")
                .option("checkpointLocation", tempfile.mkdtemp(dir=folder))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            took = time.perf_counter() - began
            full = [
                each.durationMs["triggerExecution"] / 1000
                for each in query.recentProgress
                if each.numInputRows and each.numInputRows >= PER_TRIGGER * 0.9
            ]
            if nth:
                of = found.setdefault(name, {})
                of.setdefault("rows a second", []).append(count / took)
                if full:
                    of.setdefault("seconds a trigger", []).append(statistics.median(full))
    return {
        name: {what: statistics.median(each) for what, each in of.items()}
        for name, of in found.items()
    }


def triggers(
    spark: SparkSession, formats: Sequence[str], kafka: RealKafka, folder: Path
) -> dict[str, Any]:
    """Seconds for a trigger of a few rows, where nothing but overhead counts."""
    topic = kafka.unique_topic(partitions=2)
    fill_evenly(kafka, topic, 2, 60 * FEW)
    given = {
        "kafka.bootstrap.servers": kafka.direct_bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(FEW),
    }
    found: dict[str, Any] = {}
    for name in (*formats, MADE_UP):
        reader = spark.readStream.format("made_up" if name == MADE_UP else name)
        few = {"rows": str(FEW // 2), "size": "100", "parts": "2", "triggers": "60"}
        frame = reader.options(**(few if name == MADE_UP else given)).load()
        query = (
            frame.writeStream.format("noop")
            .option("checkpointLocation", tempfile.mkdtemp(dir=folder))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        spans = [
            each.durationMs["triggerExecution"] / 1000
            for each in query.recentProgress[10:]
            if each.numInputRows
        ]
        found[name] = {"seconds": statistics.median(spans), "triggers": len(spans)}
    return found


def latest(kafka: RealKafka) -> dict[str, Any]:
    """Milliseconds for the driver's question, about all partitions at once."""
    topic = kafka.unique_topic(partitions=100)
    fill_evenly(kafka, topic, 100, 1000)
    settings = Settings.of(
        {
            "kafka.bootstrap.servers": kafka.direct_bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }
    )
    stream = Stream(settings, Brokers(settings.client), MonotonicClock())
    start = stream.initial()
    spans = [timed(lambda: stream.latest(start, limited=True)) * 1000 for _ in range(50)]
    stream.close()
    return {OURS: {"first": spans[0], "median": statistics.median(spans[1:])}}


def many(spark: SparkSession, kafka: RealKafka, folder: Path) -> dict[str, Any]:
    """What the processes of a query hold, near its beginning and at its end."""
    topic = kafka.unique_topic(partitions=2)
    rows = 300 * FEW
    fill_evenly(kafka, topic, 2, rows)
    options = {
        "kafka.bootstrap.servers": kafka.direct_bootstrap,
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
    held: dict[str, Any] = {}
    try:
        for moment, batch in (("after 20 triggers", 20), ("after 280 triggers", 280)):
            while (progress := query.lastProgress) is None or progress.batchId < batch:
                time.sleep(0.2)
            held[moment] = holdings()
    finally:
        query.stop()
    return held


def holdings() -> dict[str, Any]:
    """What the Python processes below this one hold together."""
    found = {"processes": 0, "connections": 0, "files": 0, "threads": 0, "MiB": 0.0}
    for each in psutil.Process().children(recursive=True):
        if not each.name().startswith("python"):
            continue
        found["processes"] += 1
        found["connections"] += len(each.net_connections(kind="tcp"))
        found["files"] += each.num_fds()
        found["threads"] += each.num_threads()
        found["MiB"] += each.memory_full_info().uss / (1 << 20)
    return found


def fill_evenly(kafka: RealKafka, topic: str, partitions: int, count: int) -> None:
    """A few records for each partition."""
    import confluent_kafka  # noqa: PLC0415 - as `fill` has it

    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.direct_bootstrap})
    for nth in range(count):
        producer.produce(topic, b"x" * 100, partition=nth % partitions)
    producer.flush(30)


# --- a source that makes its rows up ---------------------------------------------------


class MadeUp(DataSource):
    """The same columns, out of memory: what Spark itself can take."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format`."""
        return "made_up"

    def schema(self) -> str:
        """That of a topic."""
        return ddl(with_headers=False)

    def reader(self, schema: Any) -> "MadeUpReader":
        """For a batch."""
        del schema
        return MadeUpReader(dict(self.options))

    def streamReader(self, schema: Any) -> "MadeUpStream":  # noqa: N802 - Spark's name
        """For a stream."""
        del schema
        return MadeUpStream(dict(self.options))


class MadeUpReader(DataSourceReader):
    """Makes so many rows in each of so many parts."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """As many as asked for."""
        return [InputPartition(number) for number in range(int(self._options["parts"]))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """About a mebibyte at a time."""
        return rows_made_up(
            partition.value, int(self._options["rows"]), int(self._options["size"])
        )


class MadeUpStream(DataSourceStreamReader):
    """The same for so many triggers."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._reader = MadeUpReader(options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Nothing yet."""
        return {"trigger": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """One more, until there are enough."""
        del limit
        return {"trigger": min(start["trigger"] + 1, int(self._options["triggers"]))}

    def partitions(
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Sequence[InputPartition]:
        """The same each time."""
        del start, end
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The same each time."""
        return self._reader.read(partition)


def rows_made_up(partition: int, rows: int, size: int) -> Iterator[Any]:
    """Batches of about a mebibyte; all but the offsets is made once."""
    each = max(1, min(rows, (1 << 20) // (size + 40)))
    arrays = {
        "key": pa.nulls(each, pa.binary()),
        "value": pa.array([b"x" * size] * each, pa.binary()),
        "topic": pa.array(["made_up"] * each, pa.string()),
        "partition": pa.array([partition] * each, pa.int32()),
        "timestamp": pa.array([0] * each, pa.int64()).view(TYPES["timestamp"]),
        "timestampType": pa.array([0] * each, pa.int32()),
    }
    schema = pa.schema([pa.field(name, TYPES[name]) for name in COLUMNS])
    for start in range(0, rows, each):
        arrays["offset"] = pa.array(range(start, start + each), pa.int64())
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in COLUMNS], schema=schema)
        yield batch.slice(0, min(each, rows - start))


# --- telling -------------------------------------------------------------------------


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def present(name: str, table: dict[str, dict[str, float]]) -> None:
    """Print one table."""
    columns = list(dict.fromkeys(key for row in table.values() for key in row))
    show(f"\n{name}")
    show(f"{'':22}" + "".join(f"{each:>20}" for each in columns))
    for row, figures in table.items():
        cells = "".join(
            f"{figures[each]:>20,.3g}" if each in figures else f"{'':>20}" for each in columns
        )
        show(f"{row:22}{cells}")


if __name__ == "__main__":
    main()
