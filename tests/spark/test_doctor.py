"""`prokurist spark doctor`, where all is well and where it is not; and within a session."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from prokurist.events.clock import MonotonicClock
from prokurist.testing.broker import EmbeddedBroker

pytest.importorskip("pyspark", reason="PySpark is not installed")

from prokurist.spark.doctor import examine, interpreter, java, last_line
from prokurist.spark.doctor.checks import CheckResult, to_name
from tests.spark.interpreter import environment
from tests.spark.jobs import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def doctor(
    *arguments: str, python: str | None = None, **more: str
) -> tuple[int, list[dict[str, Any]]]:
    """Run the command: its exit code and its steps."""
    named = environment() if python is None else {"PYSPARK_PYTHON": python}
    run = subprocess.run(
        [sys.executable, "-m", "prokurist", "spark", "doctor", "-J", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **named, **more},
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()]


def test_nothing_is_found_where_all_is_well() -> None:
    """From PySpark to the brokers, which the worker has reached as well."""
    if java() is None:
        pytest.skip("Java is not installed")
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        brokers = ("-b", broker.bootstrap, "-t", "orders")
        code, steps = doctor(*brokers, "--master", "local[1,3]", "--timeout", "600")
    found = {each["step"]: each["verdict"] for each in steps}
    assert set(found.values()) <= {"ok", "skipped", "warning"}, steps
    assert [each for each in found if found[each] == "ok"][:4] == [
        *("PySpark", "PyArrow", "Java", "Python"),
    ]
    assert found["Worker"] == found["Session"] == found["Metadata"] == "ok"
    assert code == 0


def test_a_worker_without_the_package_is_found_before_a_session_is_made() -> None:
    """In a second, with the interpreter's name and the way out."""
    bare = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    seen = interpreter(str(bare))
    if seen is None or "prokurist" in seen.packages:
        pytest.skip("there is no interpreter without prokurist beside this one")
    code, steps = doctor(python=str(bare))
    (failed,) = (each for each in steps if each["verdict"] == "failed")
    assert code == 1
    assert failed["step"] == "Python"
    assert "has no prokurist" in failed["finding"]
    assert to_name(sys.executable) in failed["advice"]
    assert "Session" not in [each["step"] for each in steps]


JAVA = """#!/bin/sh
case "$*" in *-version*) exec {java} "$@" ;; esac
exec sleep 600
"""
"""One that tells of itself, and never becomes a session."""


def test_the_command_ends_by_its_timeout_and_leaves_no_spark_behind(tmp_path: Path) -> None:
    """Even if a session hangs; the brokers still have their share of the time."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else shutil.which("java")
    if java() is None:
        pytest.skip("Java is not installed")
    silent_one = tmp_path / "bin" / "java"
    silent_one.parent.mkdir()
    silent_one.write_text(JAVA.format(java=program))
    silent_one.chmod(0o755)
    clock = MonotonicClock()
    began = clock.now()
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        code, steps = doctor("-b", broker.bootstrap, "--timeout", "20", JAVA_HOME=str(tmp_path))
    # And as long as this machine takes to begin and end the command.
    assert clock.now() - began < 20.0 + 60.0
    assert code == 1
    (silent,) = [each for each in steps if each["finding"] == "Spark is silent"]
    assert "--timeout gives more time" in silent["advice"]
    assert "DNS" in [each["step"] for each in steps]
    until(lambda: not [each for each in psutil.process_iter() if is_told(each, tmp_path)])


def is_told(process: psutil.Process, home: Path) -> bool:
    """Whether it has this home of Java's."""
    try:
        return process.environ().get("JAVA_HOME") == str(home)
    except psutil.Error:
        return False


@pytest.mark.kafka
def test_a_session_that_there_is_can_be_examined(spark: "SparkSession") -> None:
    """From a notebook: its workers tell of themselves, and of brokers out of reach."""
    found = list(examine(spark, "127.0.0.1:1"))
    by_name = {each.name: each for each in found}
    assert by_name["Attempts"].verdict is CheckResult.OK
    assert by_name["Worker"].verdict is CheckResult.OK
    assert by_name["Brokers"].verdict is CheckResult.FAILED
    assert "127.0.0.1:1" in by_name["Brokers"].text


def test_what_a_page_of_spark_comes_down_to() -> None:
    """The last line that names an error."""
    page = "Job aborted\n\nDriver stacktrace:\n at x\norg.apache.X: PythonException: no\n at y"
    assert last_line(RuntimeError(page)) == "org.apache.X: PythonException: no"
    assert last_line(RuntimeError("plain")) == "plain"
    assert last_line(RuntimeError()) == "RuntimeError()"
