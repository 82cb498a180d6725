"""`prokurist spark doctor`, where all is well and where it is not; and within a session."""

import json
import os
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
from prokurist.spark.pitfalls import Verdict, to_name
from tests.spark.interpreter import environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def doctor(*arguments: str, python: str | None = None) -> tuple[int, list[dict[str, Any]]]:
    """Run the command: its exit code and its steps."""
    named = environment() if python is None else {"PYSPARK_PYTHON": python}
    run = subprocess.run(
        [sys.executable, "-m", "prokurist", "spark", "doctor", "-J", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **named},
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()]


def test_nothing_is_found_where_all_is_well() -> None:
    """From PySpark to the brokers, which the worker has reached as well."""
    if java() is None:
        pytest.skip("Java is not installed")
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        code, steps = doctor("-b", broker.bootstrap, "-t", "orders", "--master", "local[1,3]")
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


def test_the_command_ends_by_its_timeout_and_leaves_no_spark_behind() -> None:
    """Whatever a session does; the brokers still have their share of the time."""
    clock = MonotonicClock()
    began = clock.now()
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        code, steps = doctor("-b", broker.bootstrap, "--timeout", "4")
    assert clock.now() - began < 4.0 + 10.0
    assert code == 1
    (silent,) = (each for each in steps if each["finding"] == "Spark is silent")
    assert "--timeout gives more time" in silent["advice"]
    assert "DNS" in [each["step"] for each in steps]
    left = [
        each
        for each in psutil.process_iter(["cmdline"])
        if "prokurist.spark.doctor" in (each.info["cmdline"] or ())
    ]
    assert not left


@pytest.mark.kafka
def test_a_session_that_there_is_can_be_examined(spark: "SparkSession") -> None:
    """From a notebook: its workers tell of themselves, and of brokers out of reach."""
    found = list(examine(spark, "127.0.0.1:1"))
    by_name = {each.name: each for each in found}
    assert by_name["Attempts"].verdict is Verdict.OK
    assert by_name["Worker"].verdict is Verdict.OK
    assert by_name["Brokers"].verdict is Verdict.FAILED
    assert "127.0.0.1:1" in by_name["Brokers"].text


def test_what_a_page_of_spark_comes_down_to() -> None:
    """The last line that names an error."""
    page = "Job aborted\n\nDriver stacktrace:\n at x\norg.apache.X: PythonException: no\n at y"
    assert last_line(RuntimeError(page)) == "org.apache.X: PythonException: no"
    assert last_line(RuntimeError("plain")) == "plain"
    assert last_line(RuntimeError()) == "RuntimeError()"
