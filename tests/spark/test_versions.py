"""What holds with every pyspark, pyarrow and pandas that is promised: `make spark-matrix`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prokurist.spark import OffsetManager
from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import DONE

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
