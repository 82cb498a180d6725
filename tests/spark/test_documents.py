"""The blocks of docs/ that want a session of Spark's."""

import contextlib
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.kafka import RealKafka
from tests.documents import Block, blocks
from tests.spark.jobs import OURS, batch, options

pytest.importorskip("pyspark", reason="PySpark is not installed")

from prokurist.spark.watcher.listener import OPEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

WANTING = [each for each in blocks() if each.language == "python" and each.wants_spark]


@pytest.mark.parametrize("block", WANTING, ids=str)
def test_it_runs(
    block: Block, spark: "SparkSession", prokurist_kafka: RealKafka, write: Any, tmp_path: Path
) -> None:
    """To its end, in an empty folder, with records in its topic."""
    topic = f"orders-{secrets.token_hex(4)}"
    prokurist_kafka.create_topic(topic, partitions=2)
    write(topic, 20)
    text = block.text.replace("localhost:9092", prokurist_kafka.direct_bootstrap)
    text = text.replace('"subscribe", "orders"', f'"subscribe", "{topic}"')
    bills = prokurist_kafka.unique_topic("bills", partitions=2)
    text = re.sub(r'("topic", |topic=|"subscribe", )"bills"', rf'\1"{bills}"', text)
    # A ledger outlives its page's checkpoint where the broker is not ours.
    text = re.sub(r'("exactlyOnceId", |exactly_once=)"', rf'\1"{bills}-', text)
    text = text.replace("metrics_port=9108", "metrics_port=0")
    for path in ("checkpoint", "windows", "orders", "to-bills", "counts", "once"):
        # The folder of a JVM is that in which it was started.
        for option in ("checkpointLocation", "path"):
            text = text.replace(f'("{option}", "{path}")', f'("{option}", "{tmp_path / path}")')
    text = text.replace('parquet("orders")', f'parquet("{tmp_path / "orders"}")')
    text = text.replace("spark.stop()", "")  # The session is that of all tests.
    before = set(OPEN)
    try:
        with contextlib.chdir(tmp_path):
            exec(compile(text, str(block), "exec"), {"spark": spark})  # noqa: S102 - our pages
    finally:
        for listener in set(OPEN) - before:
            listener.close()
    if bills in text:
        isolation = {"kafka.isolation.level": "read_committed"}
        given = options(prokurist_kafka, bills, extra=isolation)
        assert batch(spark, OURS, given).count() > 0, "nothing was written"
