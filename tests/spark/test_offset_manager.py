"""The manager of offsets beside a real Spark: its checkpoints, and its own source's readers."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prokurist import TopicPartition
from prokurist.spark import CheckpointException, OffsetManager
from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import DONE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.kafka

Writing = Callable[[str, int], None]


@pytest.fixture
def topic(prokurist_kafka: RealKafka, write: Writing) -> str:
    """A topic of two partitions with a hundred records."""
    name = prokurist_kafka.unique_topic(partitions=2)
    write(name, 100)
    return name


@pytest.fixture
def offsets(prokurist_kafka: RealKafka) -> OffsetManager:
    """A manager for a group of its own."""
    return OffsetManager(prokurist_kafka.bootstrap, f"g-{secrets.token_hex(6)}", timeout=120.0)


@pytest.fixture(params=["1", "2"])
def log_version(request: pytest.FixtureRequest, spark: "SparkSession") -> Iterator[str]:
    """In which of its two formats Spark writes the offsets of a checkpoint."""
    key = "spark.sql.streaming.offsetLog.formatVersion"
    spark.conf.set(key, request.param)
    yield request.param
    spark.conf.unset(key)


def stream(spark: "SparkSession", kafka: RealKafka, topic: str) -> "DataFrame":
    """A stream of Spark's own source, forty offsets a batch."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 40)
        .load()
    )


def run(frame: "DataFrame", checkpoint: Path, **sink: Any) -> None:
    """Read to the end of the logs, and end."""
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint))
    writer = writer.foreachBatch(sink["each"]) if sink else writer.format("noop")
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(DONE)


def test_a_plan_is_what_spark_reads(
    spark: "SparkSession", offsets: OffsetManager, topic: str, write: Writing
) -> None:
    """By its own source: these offsets, cut into the tasks that the plan foretells."""
    plan = offsets.plan(topic, start_missing="earliest", max_offsets=30, min_partitions=5)
    write(topic, 20)
    frame = spark.read.format("kafka").options(**plan.options()).load()
    rows = frame.select("partition", "offset").collect()
    assert sorted((row["partition"], row["offset"]) for row in rows) == [
        (partition, offset) for partition in (0, 1) for offset in range(15)
    ]
    assert frame.rdd.getNumPartitions() == len(plan.ranges())
    offsets.commit(plan)
    rest = offsets.plan(topic)
    assert spark.read.format("kafka").options(**rest.options()).load().count() == 90
    offsets.commit(rest)
    nothing = offsets.plan(topic)
    assert not nothing
    assert spark.read.format("kafka").options(**nothing.options()).load().count() == 0


@pytest.mark.usefixtures("log_version")
def test_a_checkpoint_of_spark_s_own_source_is_read(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    offsets: OffsetManager,
    topic: str,
    tmp_path: Path,
) -> None:
    """From its files and through the session alike; its last batch becomes the place."""
    run(stream(spark, prokurist_kafka, topic), tmp_path / "cp")
    done = offsets.from_checkpoint(tmp_path / "cp")
    assert done.ends == {TopicPartition(topic, 0): 50, TopicPartition(topic, 1): 50}
    assert done.batch == 2
    through = offsets.from_checkpoint(f"file:{tmp_path}/cp", spark=spark)
    assert (through.ends, through.batch, through.query) == (done.ends, 2, done.query)
    assert offsets.from_checkpoint(tmp_path / "cp", batch=0).ends != done.ends
    offsets.sync_group_from_checkpoint(tmp_path / "cp")
    assert [each.records for each in offsets.lag().values()] == [0, 0]


def test_a_batch_that_was_only_planned_is_not_done(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    offsets: OffsetManager,
    topic: str,
    tmp_path: Path,
) -> None:
    """The query dies in its second batch: the first is committed, however often it dies."""

    def dies(_frame: "DataFrame", batch: int) -> None:
        if batch == 1:
            raise RuntimeError("out of luck")

    frame = stream(spark, prokurist_kafka, topic)
    for _ in range(2):
        with pytest.raises(Exception, match="out of luck"):
            run(frame, tmp_path / "cp", each=dies)
        assert (tmp_path / "cp" / "offsets" / "1").exists()
        done = offsets.from_checkpoint(tmp_path / "cp")
        assert (done.batch, sum(done.ends.values())) == (0, 40)
        offsets.sync_group_from_checkpoint(tmp_path / "cp")
        assert sum(each.records or 0 for each in offsets.lag().values()) == 60


def test_for_each_batch_commits_what_it_has_written(
    spark: "SparkSession",
    prokurist_kafka: RealKafka,
    offsets: OffsetManager,
    topic: str,
    tmp_path: Path,
) -> None:
    """The end of the batch in hand, which Spark has not noted yet; and the last one too."""
    seen: list[int] = []

    def write_and_commit(frame: "DataFrame", batch: int) -> None:
        written = frame.count()
        offsets.commit(offsets.from_checkpoint(tmp_path / "cp", batch=batch))
        seen.append(written)
        committed = sum(each.committed or 0 for each in offsets.lag().values())
        assert committed == sum(seen)

    run(stream(spark, prokurist_kafka, topic), tmp_path / "cp", each=write_and_commit)
    assert seen == [40, 40, 20]
    assert [each.records for each in offsets.lag().values()] == [0, 0]


def test_a_session_says_what_it_cannot_read(
    spark: "SparkSession", offsets: OffsetManager, tmp_path: Path
) -> None:
    """A folder that is not there, a file that is gone, a scheme that it does not know."""
    with pytest.raises(CheckpointException, match="no batch is done: is this the folder"):
        offsets.from_checkpoint(tmp_path / "nothing", spark=spark)
    with pytest.raises(CheckpointException, match="offsets/7 cannot be read"):
        offsets.from_checkpoint(tmp_path, batch=7, spark=spark)
    with pytest.raises(
        CheckpointException, match="nowhere://bucket/cp/commits cannot be read: Py4JJava"
    ):
        offsets.from_checkpoint("nowhere://bucket/cp", spark=spark)
