"""`register`: the source is there, and what will fail is told of beforehand."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed")

from prokurist.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


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
    assert f"PYSPARK_PYTHON={sys.executable}" in line
