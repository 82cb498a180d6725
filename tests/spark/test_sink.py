"""Writing with `format("prokurist")`, held against Spark's own sink on the same rows."""

import contextlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.spark import kafka_sink
from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import DONE, FORMATS, THEIRS, batch, check, options, until, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ONE = "struct('n' as key, encode(string(id), 'utf-8') as value)"
SOME = f"array({ONE}, struct('m' as key, cast(null as binary) as value))"
ROWS = (
    "case when id % 5 = 0 then null else cast(id % 7 as string) end as key",
    "case when id % 11 = 0 then null else encode(repeat('v', int(id % 90)), 'utf-8') end value",
    "case when id % 3 = 0 and id % 5 > 0 then null else cast(id % 2 as int) end as partition",
    f"case when id % 3 = 0 then {SOME} when id % 3 = 1 then array() else null end as headers",
    "id as more",
)
"""Keys, values and headers of all kinds, and a column that nothing is done with."""


def written(kafka: RealKafka, topic: str, **more: str) -> dict[str, str]:
    """A writer's options."""
    return {"kafka.bootstrap.servers": kafka.direct_bootstrap, "topic": topic, **more}


def write(frame: "DataFrame", format_: str, given: dict[str, str]) -> None:
    """Append a frame to Kafka."""
    frame.write.format(format_).mode("append").options(**given).save()


@pytest.fixture
def topic(prokurist_kafka: RealKafka) -> str:
    """A topic of two partitions."""
    return prokurist_kafka.unique_topic("written", partitions=2)


def test_the_records_are_those_of_spark_s_own_sink(
    spark: "SparkSession", prokurist_kafka: RealKafka
) -> None:
    """B752: text, bytes, nulls, headers, topics, partitions that are given or that keys find.

    So a job can change over while its consumers go on.
    """
    shown = []
    for format_ in FORMATS:
        name = prokurist_kafka.unique_topic(format_, partitions=7)
        given = {"kafka.bootstrap.servers": prokurist_kafka.direct_bootstrap}
        write(spark.range(500).selectExpr(*ROWS, f"'{name}' as topic"), format_, given)
        written = batch(spark, THEIRS, options(prokurist_kafka, name, includeHeaders=True))
        rows = written.select("key", "value", "partition", "headers").collect()
        shown.append(sorted(map(repr, rows)))
    assert len(shown[0]) == 500
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("columns", "given", "words"),
    [
        (["id as value"], {}, "value is of type bigint"),
        (["cast(id as string) as value"], {"topic": ""}, "neither the option topic nor"),
        (["cast(id as string) as value"], {"tpoic": "x"}, "did you mean topic"),
    ],
)
def test_what_is_wrong_is_said_before_a_task_begins(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    columns: list[str],
    given: dict[str, str],
    words: str,
) -> None:
    """B751, B752: by an AnalysisException that has the column or the option."""
    errors = import_module("pyspark.errors")
    frame = spark.range(10).selectExpr(*columns)
    with pytest.raises(errors.AnalysisException, match=words):
        write(frame, "prokurist", written(prokurist_kafka, "never-made") | given)


def failing_once(frame: "DataFrame", folder: Path) -> "DataFrame":
    """The same rows, but the first attempt of each task ends when it has written some."""
    this_task = import_module("pyspark").TaskContext

    def passed(value: bytes, nth: int) -> bytes:
        context = this_task.get()
        if nth % 1000 == 998 and context.attemptNumber() == 0:
            (folder / f"failed-{context.partitionId()}").touch()
            raise ValueError("this attempt ends")
        return value

    gate = import_module("pyspark.sql.functions").udf(passed, "binary", useArrow=False)
    return frame.withColumn("value", gate("value", "nth"))


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_an_attempt_that_fails_is_written_again_or_once(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    topic: str,
    tmp_path: Path,
    delivery: str,
) -> None:
    """B756, B757: each row is there, and with exactly_once none is twice."""
    given = written(prokurist_kafka, topic)
    if delivery == "exactly_once":
        given |= {"delivery": delivery, "exactlyOnceId": topic, "exactlyOnceRun": "monday"}
    frame = spark.range(0, 8000, 1, 2).selectExpr(
        "encode(string(id), 'utf-8') as value", "int(id) as nth"
    )
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "200")
    try:
        write(failing_once(frame, tmp_path), "prokurist", given)
        if delivery == "exactly_once":
            write(frame, "prokurist", given)  # The run has the name of one that is written.
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert list(tmp_path.iterdir()), "no attempt failed"
    found = values(prokurist_kafka, topic)
    assert set(found) == {b"%d" % nth for nth in range(8000)}
    if delivery == "exactly_once":
        assert set(found.values()) == {1}


# --- streams -------------------------------------------------------------------------------


@contextlib.contextmanager
def stream(
    spark: "SparkSession", given: dict[str, str], folder: Path, source: Path
) -> "Iterator[StreamingQuery]":
    """A query that writes lines of files, a file in each batch."""
    query = (
        spark.readStream.format("text")
        .option("maxFilesPerTrigger", 1)
        .load(str(source))
        .writeStream.format("prokurist")
        .options(**given)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    try:
        yield query
    finally:
        query.stop()


def lines(source: Path, number: int) -> None:
    """Add a file of ten lines."""
    source.mkdir(exist_ok=True)
    staged = source.parent / f"staged-{number}"
    staged.write_text("".join(f"{number}-{nth}\n" for nth in range(10)), "utf-8")
    staged.rename(source / f"{number}.txt")


def finish(query: "StreamingQuery") -> None:
    """Wait for its end."""
    assert query.awaitTermination(DONE), "the query has not ended"


def forget(folder: Path, number: int) -> None:
    """Remove what Spark knows of a batch's commit: it died before it wrote that."""
    for each in (folder / "commits" / str(number), folder / "commits" / f".{number}.crc"):
        each.unlink(missing_ok=True)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_batch_that_spark_repeats_is_written_again_or_once(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    topic: str,
    tmp_path: Path,
    delivery: str,
) -> None:
    """B757: a driver that dies between the sink's commit and Spark's own repeats its batch."""
    given = written(prokurist_kafka, topic, delivery=delivery)
    if delivery == "exactly_once":
        given |= {"exactlyOnceId": topic}
    source, folder = tmp_path / "in", tmp_path / "checkpoint"
    for number in range(3):
        lines(source, number)
    with stream(spark, given, folder, source) as query:
        finish(query)
    assert set(values(prokurist_kafka, topic).values()) == {1}
    forget(folder, 2)
    lines(source, 3)
    with stream(spark, given, folder, source) as query:
        finish(query)
    found = values(prokurist_kafka, topic)
    assert set(found) == {b"%d-%d" % (file, nth) for file in range(4) for nth in range(10)}
    repeated = {count for value, count in found.items() if count > 1}
    assert repeated == ({2} if delivery == "at_least_once" else set())


def test_a_new_checkpoint_under_the_same_name_is_refused(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path
) -> None:
    """B757: its batches begin at 0 again, and would be passed over in silence."""
    errors = import_module("pyspark.errors")
    given = written(prokurist_kafka, topic, delivery="exactly_once", exactlyOnceId=topic)
    source = tmp_path / "in"
    lines(source, 0)
    with stream(spark, given, tmp_path / "first", source) as query:
        finish(query)
        check(query)
    with (
        stream(spark, given, tmp_path / "second", source) as query,
        pytest.raises(
            errors.StreamingQueryException, match="a new checkpoint begins again at 0"
        ),
    ):
        finish(query)
    with stream(
        spark, given | {"ledgerMissing": "continue"}, tmp_path / "second", source
    ) as query:
        finish(query)
    assert set(values(prokurist_kafka, topic).values()) == {2}


@pytest.mark.parametrize("exactly_once", [False, True])
def test_foreach_batch_writes_in_the_update_mode(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    topic: str,
    tmp_path: Path,
    *,
    exactly_once: bool,
) -> None:
    """B758: counts as they change, which no sink of PySpark's takes; repeated batches pass."""
    source, folder = tmp_path / "in", tmp_path / "checkpoint"
    write_batch: Any = kafka_sink(
        prokurist_kafka.direct_bootstrap,
        topic=topic,
        exactly_once=topic if exactly_once else None,
    )

    def run() -> None:
        query = (
            spark.readStream.format("text")
            .option("maxFilesPerTrigger", 1)
            .load(str(source))
            .selectExpr("substring(value, 3, 1) as nth")
            .groupBy("nth")
            .count()
            .selectExpr("nth as key", "concat(nth, '=', count) as value")
            .writeStream.outputMode("update")
            .foreachBatch(write_batch)
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
        )
        try:
            finish(query)
            check(query)
        finally:
            query.stop()

    for number in range(2):
        lines(source, number)
        run()
    if exactly_once:
        forget(folder, 1)
        run()
    found = values(prokurist_kafka, topic)
    assert found == {b"%d=%d" % (nth, count): 1 for nth in range(10) for count in (1, 2)}


def test_complete_mode_appends_each_result(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, tmp_path: Path
) -> None:
    """B759: as Spark's own sink does; nothing is truncated."""
    source = tmp_path / "in"
    for number in range(2):
        lines(source, number)
    query = (
        spark.readStream.format("text")
        .option("maxFilesPerTrigger", 1)
        .load(str(source))
        .groupBy()
        .count()
        .selectExpr("cast(count as string) as value")
        .writeStream.outputMode("complete")
        .format("prokurist")
        .options(**written(prokurist_kafka, topic))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    finish(query)
    check(query)
    until(lambda: values(prokurist_kafka, topic) == {b"10": 1, b"20": 1}, 30)
