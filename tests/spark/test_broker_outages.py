"""One broker of three is killed or frozen while a query runs, with default options.

Spark's own source lives through it, so this one does: no row is lost, none comes twice.
"""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import OURS, check, options, rows, stream_to, until, written_out

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.minutes]

PARTITIONS = 6
ENDLESS = "0 seconds"


class Load:
    """Records that are written all the time, evenly over the partitions.

    Attributes:
        count: How many have been handed to the producer.
    """

    def __init__(self, kafka: RealKafka, topic: str) -> None:
        self.count = 0
        self._topic = topic
        self._ending = threading.Event()
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": kafka.direct_bootstrap,
                "enable.idempotence": True,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.wait(0.005):
            self._producer.produce(self._topic, b"v", partition=self.count % PARTITIONS)
            self._producer.poll(0)
            self.count += 1

    def close(self) -> None:
        """End it, when all is written."""
        self._ending.set()
        self._thread.join()
        assert self._producer.flush(120) == 0

    def offsets(self) -> dict[int, list[int]]:
        """What a query that began at the beginning has to have read by then."""
        return {
            number: list(range(len(range(number, self.count, PARTITIONS))))
            for number in range(PARTITIONS)
        }


@pytest.fixture
def topic(prokurist_own_cluster: RealKafka) -> str:
    """A topic of which each broker has a copy."""
    return prokurist_own_cluster.unique_topic(
        "outage", partitions=PARTITIONS, replication_factor=3
    )


@pytest.fixture
def load(prokurist_own_cluster: RealKafka, topic: str) -> Iterator[Load]:
    """What is written to it meanwhile."""
    written = Load(prokurist_own_cluster, topic)
    yield written
    written.close()


@pytest.mark.parametrize(("outage", "seconds"), [("kill", 5.0), ("freeze", 20.0)])
def test_one_broker_after_the_other_is_away(
    spark: "SparkSession",
    prokurist_own_cluster: RealKafka,
    topic: str,
    load: Load,
    tmp_path: Path,
    outage: str,
    seconds: float,
) -> None:
    """The query lives, and has each row exactly once."""
    kafka = prokurist_own_cluster
    query = stream_to(
        spark,
        OURS,
        options(kafka, topic, startingOffsets="earliest"),
        tmp_path,
        processingTime=ENDLESS,
    )
    try:
        until(lambda: rows(query) > 0)
        for node in range(3):
            down: Callable[[int], None] = getattr(kafka, outage)
            up: Callable[[int], None] = kafka.restart if outage == "kill" else kafka.thaw
            down(node)
            time.sleep(seconds)
            up(node)
            seen = load.count
            until(lambda seen=seen: rows(query) >= seen)  # type: ignore[misc]
        load.close()
        until(lambda: rows(query) >= load.count)
        check(query)
    finally:
        query.stop()
    assert written_out(spark, tmp_path) == load.offsets()


def test_a_query_starts_while_a_broker_is_away(
    spark: "SparkSession",
    prokurist_own_cluster: RealKafka,
    topic: str,
    load: Load,
    tmp_path: Path,
) -> None:
    """It reads the other partitions, and the rest from where it should when it can."""
    kafka = prokurist_own_cluster
    until(lambda: load.count > 100)
    kafka.freeze(0)
    query = stream_to(
        spark,
        OURS,
        options(kafka, topic, startingOffsets="earliest"),
        tmp_path,
        processingTime=ENDLESS,
    )
    try:
        until(lambda: rows(query) > 0)
        kafka.thaw(0)
        load.close()
        until(lambda: rows(query) >= load.count)
    finally:
        query.stop()
    assert written_out(spark, tmp_path) == load.offsets()


def test_a_cluster_in_which_no_broker_answers_is_told(
    spark: "SparkSession",
    prokurist_own_cluster: RealKafka,
    topic: str,
    load: Load,
    tmp_path: Path,
) -> None:
    """Within the default deadline of a minute, and some seconds for Spark itself."""
    kafka = prokurist_own_cluster
    query = stream_to(
        spark,
        OURS,
        options(kafka, topic, startingOffsets="earliest"),
        tmp_path,
        processingTime=ENDLESS,
    )
    until(lambda: rows(query) > 0)
    load.close()
    until(lambda: rows(query) >= load.count)
    for node in range(3):
        kafka.freeze(node)
    began = time.monotonic()
    with pytest.raises(Exception, match="TimeoutException"):
        query.awaitTermination(120)
    assert 30.0 < time.monotonic() - began < 90.0
    query.stop()
