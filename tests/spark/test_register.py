"""`register`: the source is there, and what will fail is told of beforehand."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prokurist.testing.broker import EmbeddedBroker

pytest.importorskip("pyspark", reason="PySpark is not installed")

from prokurist.spark import register
from prokurist.spark.doctor import java
from prokurist.spark.doctor.checks import to_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka


def test_a_good_session_is_registered_with_without_a_word(
    spark: "SparkSession", caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing to tell of."""
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        register(spark)
    assert [each.message for each in caplog.records if "pandas" not in each.message] == []


def test_workers_of_another_interpreter_are_told_of(
    spark: "SparkSession",
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the first read fails with a broken pipe."""
    bare = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    if not bare.exists() or bare == Path(sys.executable):
        pytest.skip("there is no interpreter without prokurist beside this one")
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare))
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        register(spark)
    (line,) = (each.message for each in caplog.records if "Python" in each.message)
    assert "has no prokurist" in line
    assert to_name(sys.executable) in line


PROGRAM = """
import sys
from pyspark.sql import SparkSession
from prokurist.spark import register

spark = SparkSession.builder.master("local[1]").getOrCreate()
reader = spark.read.format("prokurist").option("subscribe", "orders")
reader = reader.option("kafka.bootstrap.servers", sys.argv[1])
try:
    reader.load()
except Exception as error:
    print("DATA_SOURCE_NOT_FOUND" in str(error))
register(spark)
print(reader.load().count())
"""


@pytest.mark.slow
def test_a_session_that_does_not_look_for_sources_has_it_when_it_is_registered(
    tmp_path: Path,
) -> None:
    """Spark looks for none where a shell takes the path of its Python for two words."""
    if java() is None:
        pytest.skip("Java is not installed")
    (tmp_path / "a folder").symlink_to(sys.prefix)
    python = tmp_path / "a folder" / "bin" / Path(sys.executable).name
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        run = subprocess.run(
            [python, "-c", PROGRAM, broker.bootstrap],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env=os.environ | {"PYSPARK_PYTHON": str(python)},
        )
    assert run.stdout.split() == ["True", "0"], run.stderr
