"""Deadlines are of reading: neither a frame's age nor a slow stage behind the read ends it."""

import time
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import OURS, batch, options, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

SHORT = {"batchDeadlineMs": 3000, "readStallMs": 3000}
LONGER = 4.0
"""Seconds: more than a task may wait for records."""


def test_a_frame_is_used_again_later_than_the_deadline(
    spark: "SparkSession", prokurist_kafka: RealKafka
) -> None:
    """Its pieces were planned at the first action, and have no age."""
    topic = prokurist_kafka.unique_topic("again", partitions=2)
    write(prokurist_kafka, topic, 20)
    frame = batch(spark, OURS, options(prokurist_kafka, topic, **SHORT))
    assert frame.count() == 20
    time.sleep(LONGER)
    assert frame.count() == 20


def test_a_stage_behind_the_read_may_take_longer_than_the_deadline(
    spark: "SparkSession", prokurist_kafka: RealKafka
) -> None:
    """What is done with the records is slow, and nothing is silent."""
    topic = prokurist_kafka.unique_topic("slow", partitions=2)
    write(prokurist_kafka, topic, 20)

    def slowly(offset: int) -> int:
        time.sleep(LONGER / 8)
        return offset

    slow = import_module("pyspark.sql.functions").udf(slowly, "bigint", useArrow=False)
    frame = batch(spark, OURS, options(prokurist_kafka, topic, **SHORT, arrowBatchBytes=1))
    found = frame.select(slow("offset").alias("offset")).collect()
    assert sorted(row.offset for row in found) == sorted(2 * list(range(10)))
