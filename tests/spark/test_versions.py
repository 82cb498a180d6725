"""What holds with every pyspark, pyarrow and pandas that is promised: `make spark-matrix`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prokurist.spark import OffsetManager, kafka_sink
from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import DONE, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.kafka

ROWS = 1000
ALL = [(partition, offset) for partition in (0, 1) for offset in range(ROWS // 2)]


@pytest.fixture
def given(prokurist_kafka: RealKafka, write: Callable[[str, int], None]) -> dict[str, str]:
    """Options of a topic with some records."""
    topic = prokurist_kafka.unique_topic("versions", 2)
    write(topic, ROWS)
    return {
        "kafka.bootstrap.servers": prokurist_kafka.direct_bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def places(frame: "DataFrame") -> list[tuple[int, int]]:
    """Where the rows of a frame were, in order."""
    found = frame.select("partition", "offset").collect()
    return sorted((each["partition"], each["offset"]) for each in found)


def test_a_batch_has_every_record(spark: "SparkSession", given: dict[str, str]) -> None:
    """With all its columns, through plain rows and through pandas."""
    frame = spark.read.format("prokurist").options(**given).load()
    assert places(frame) == ALL
    (row,) = frame.where("partition = 1 and offset = 2").collect()
    assert bytes(row["value"]) == b"5"
    assert (row["key"], row["headers"], row["timestampType"]) == (None, None, 0)
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert len(frame.select("value", "timestamp").toPandas()) == ROWS


def test_a_stream_has_every_record_or_is_refused(
    spark: "SparkSession", given: dict[str, str], tmp_path: Path
) -> None:
    """A pyspark before 4.2 cannot do it, and a sentence says so."""
    frame = spark.readStream.format("prokurist").options(**given).load()
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(tmp_path / "rows"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 2):
        with pytest.raises(Exception, match=r"need pyspark 4\.2 or later: older"):
            query.start().awaitTermination(DONE)
    else:
        assert query.start().awaitTermination(DONE)
        assert places(spark.read.parquet(str(tmp_path / "rows"))) == ALL


def test_a_manager_plans_and_commits(spark: "SparkSession", given: dict[str, str]) -> None:
    """What was read is not planned again."""
    topic, bootstrap = given["subscribe"], given["kafka.bootstrap.servers"]
    offsets = OffsetManager(bootstrap, f"of-{topic}", timeout=120.0)
    plan = offsets.plan(topic, start_missing="earliest")
    assert places(spark.read.format("prokurist").options(**plan.options()).load()) == ALL
    offsets.commit(plan)
    assert not offsets.plan(topic)


def test_batches_and_streams_are_written(
    spark: "SparkSession", prokurist_kafka: RealKafka, tmp_path: Path
) -> None:
    """B762: at least once and exactly once; a pyspark before 4.1 says how to write a stream."""
    topic = prokurist_kafka.unique_topic("written", 2)
    given = {"kafka.bootstrap.servers": prokurist_kafka.direct_bootstrap, "topic": topic}
    once = {"delivery": "exactly_once", "exactlyOnceId": f"{topic}-job"}
    rows = spark.range(10).selectExpr("concat('batch', id) as value")
    rows.write.format("prokurist").mode("append").options(**given).save()
    for _ in range(2):
        writer = rows.write.format("prokurist").mode("append").options(**given, **once)
        writer.option("exactlyOnceRun", "monday").save()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines.txt").write_text("stream1\nstream2\n", "utf-8")
    lines = spark.readStream.format("text").load(str(tmp_path / "in"))
    stream = lines.writeStream.trigger(availableNow=True)
    direct = stream.format("prokurist").options(**given)
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        with pytest.raises(Exception, match=r"written by pyspark 4\.1 or later: with 4\.0 use"):
            direct.option("checkpointLocation", str(tmp_path / "1")).start().awaitTermination(
                DONE
            )
    else:
        query = direct.option("checkpointLocation", str(tmp_path / "1")).start()
        assert query.awaitTermination(DONE)
    by_function = lines.writeStream.trigger(availableNow=True).foreachBatch(
        kafka_sink(
            prokurist_kafka.direct_bootstrap, topic=topic, exactly_once=f"{topic}-function"
        )
    )
    query = by_function.option("checkpointLocation", str(tmp_path / "2")).start()
    assert query.awaitTermination(DONE)
    with_streams = 1 if spark.version < "4.1" else 2
    found = values(prokurist_kafka, topic)
    batches = dict.fromkeys((b"batch%d" % nth for nth in range(10)), 2)
    assert found == batches | dict.fromkeys((b"stream1", b"stream2"), with_streams)
