"""The source and the listener through Spark Connect, with a real server.

Connect wants packages that nothing else here wants: `make spark-matrix` has them.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import values

pytest.importorskip("pyspark", reason="PySpark is not installed")
pytest.importorskip("grpc", reason="what Spark Connect needs is not installed")

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RECORDS = 20
WITHIN = 600
"""Seconds for two Pythons and a JVM that are begun for this, on a machine that is shared."""


def test_sources_sinks_and_a_listener(
    prokurist_kafka: RealKafka, write: Callable[[str, int], None], tmp_path: Path
) -> None:
    """B764: all are registered there and run there; the client's process tells the group."""
    topic = prokurist_kafka.unique_topic(partitions=2)
    copy = prokurist_kafka.unique_topic("copy", partitions=2)
    write(topic, RECORDS)
    user = [sys.executable, "-m", "tests.spark.connect_user"]
    run = subprocess.run(
        [*user, prokurist_kafka.direct_bootstrap, topic, str(tmp_path), copy],
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [str(RECORDS)], run.stdout
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.direct_bootstrap, group_id="spark.connected"
    ) as consumer:
        committed = consumer.committed([TopicPartition(topic, number) for number in range(2)])
    assert [each and each.offset for each in committed.values()] == [RECORDS // 2] * 2
    assert values(prokurist_kafka, copy) == {b"%d" % nth: 3 for nth in range(RECORDS)}
