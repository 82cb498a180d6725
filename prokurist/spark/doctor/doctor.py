"""The doctor for Spark: a session and its workers, looked at from within.

`examine` is for an existing session, in a notebook or below `spark-submit`; `prokurist spark
doctor` runs `python -m prokurist.spark.doctor`, which makes one.

Thread: the application's. Processes: it starts `java` and Python for a moment each, and a
job of one small task for each slot.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from prokurist.spark.doctor import interpreter_report
from prokurist.spark.doctor.checks import (
    CheckResult,
    Finding,
    Python,
    of_conf,
    of_driver,
    of_java,
    of_master,
    of_python,
    of_search,
    of_workers,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE: Final = 30.0
"""Seconds for a process that only tells of itself."""


def examine(spark: "SparkSession", bootstrap: str | None = None) -> Iterator[Finding]:
    """Check a session, its settings and its workers.

    Args:
        spark: The session; a classic one, as those of Connect run no jobs of this kind.
        bootstrap: Brokers that the workers shall reach.

    Yields:
        The findings, one by one.
    """
    context = spark.sparkContext
    driver = Python(**json.loads(interpreter_report.told()))
    yield of_master(context.master or "")
    yield from of_conf(spark.conf.get)
    cloudpickle: Any = import_module("pyspark.cloudpickle")
    # By its value: a worker that lacks prokurist must be able to say so.
    cloudpickle.register_pickle_by_value(interpreter_report)
    try:
        slots = max(context.defaultParallelism, 1)
        ask = interpreter_report.told
        reports = (
            context.parallelize(range(slots), slots).map(lambda _: ask(bootstrap)).collect()
        )
    except Exception as error:  # noqa: BLE001 - Spark's, of many kinds
        yield Finding(
            "Worker",
            CheckResult.FAILED,
            f"a job of nothing fails: {last_line(error)}",
            "The cause stands in the executor's stderr; most often its Python is another.",
        )
    else:
        yield from of_workers(driver, [Python(**json.loads(each)) for each in reports])
    finally:
        cloudpickle.unregister_pickle_by_value(interpreter_report)


def before_a_session() -> Iterator[Finding]:
    """Check everything that needs no session."""
    driver = Python(**json.loads(interpreter_report.told()))
    yield from of_driver(driver)
    yield of_java(java())
    named = os.environ.get("PYSPARK_PYTHON")
    yield of_python(named, driver, interpreter(named or "python3"))
    yield from of_search(named)


def java() -> str | None:
    """The output of the Java that Spark would start; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else shutil.which("java")
    run = finished([str(program), "-version"]) if program else None
    return None if run is None else run.stderr


def interpreter(program: str) -> Python | None:
    """The report of an interpreter; None if it is none."""
    run = finished([program, interpreter_report.__file__])
    try:
        return None if run is None else Python(**json.loads(run.stdout))
    except ValueError:
        return None


def finished(command: Sequence[str]) -> "subprocess.CompletedProcess[str] | None":
    """Run a command to its end; None if it cannot be started or does not end."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def last_line(error: Exception) -> str:
    """The line that matters of a failure: Spark's texts are a page long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line or "Exception" in line]
    return (told or lines or [repr(error)])[-1][:300]


def main(arguments: Sequence[str]) -> int:
    """Make a session and write its findings, a JSON object a line.

    Args:
        arguments: A master, and brokers where some shall be reached.
    """
    master, *bootstrap = arguments
    ill = False
    for finding in before_a_session():
        ill = ill or finding.verdict is CheckResult.FAILED
        write(finding)
    if ill:
        return 0  # Spark would fail by the same, and say less about it.
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it is there, as was seen

    builder = SparkSession.builder.appName("prokurist spark doctor").master(master)
    try:
        spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    except Exception as error:  # noqa: BLE001 - Spark's, of many kinds
        text = f"no session with {master}: {last_line(error)}"
        write(Finding("Session", CheckResult.FAILED, text, "Is the master's address right?"))
        return 0
    write(Finding("Session", CheckResult.OK, f"Spark {spark.version} with {master}"))
    for finding in examine(spark, bootstrap[0] if bootstrap else None):
        write(finding)
    spark.stop()
    return 0


def write(finding: Finding) -> None:
    """Write a finding as one line."""
    line = {**asdict(finding), "verdict": finding.verdict.value}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
