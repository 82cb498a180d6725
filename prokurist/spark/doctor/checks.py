"""Checks of a Spark installation, and advice on failures.

Thread: any; pure functions of the findings.
Invariants: nothing here needs Spark, so the doctor can report its absence.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from pathlib import PurePath
from typing import Final

from prokurist.lazy_dataclasses import dataclass

OLDEST_SPARK: Final = (4, 0)
"""The first with the data source's Python API and its Arrow batches."""
OLDEST_STREAM: Final = (4, 2)
"""The first version with rate limits for Python streams."""
OLDEST_JAVA: Final = 17
OLDEST_ARROW: Final = (17,)
FILTERS: Final = "spark.sql.python.filterPushdown.enabled"
INSTALL: Final = 'pip install "prokurist[spark]"'


class CheckResult(Enum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check, with its advice.

    Attributes:
        name: Its name.
        verdict: Its result.
        text: The finding, in words.
        advice: The advice; None if nothing has to be done.
    """

    name: str
    verdict: CheckResult
    text: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, as it reports itself.

    Attributes:
        executable: Where it is.
        version: Its version, such as `3.11.4`.
        packages: The versions of `prokurist`, `pyspark`, `pyarrow` and `pandas`; of one that
            it does not find there is none.
        host: The name of the machine.
        error: Why a broker could not be reached from it; None where it could or was not
            asked to.
    """

    executable: str
    version: str
    packages: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    error: str | None = None

    @property
    def minor(self) -> tuple[int, ...]:
        """The part of the version that driver and workers must share."""
        return numbers(self.version)[:2]


def numbers(version: str) -> tuple[int, ...]:
    """A version's leading numbers: `4.2.0.dev1` is 4, 2, 0."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def of_driver(driver: Python) -> Iterator[Finding]:
    """Check the packages of the driver."""
    spark = driver.packages.get("pyspark")
    if spark is None:
        yield Finding("PySpark", CheckResult.FAILED, "is not installed here", INSTALL)
    elif numbers(spark) < OLDEST_SPARK:
        text = f"PySpark {spark} has no data sources in Python"
        yield Finding("PySpark", CheckResult.FAILED, text, "Install 4.0 or later, best 4.2.")
    elif numbers(spark) < OLDEST_STREAM:
        yield Finding(
            "PySpark",
            CheckResult.WARNING,
            f"PySpark {spark} reads batches; its streams cannot be bounded by trigger",
            'For streams through format("prokurist") install 4.2 or later.',
        )
    else:
        yield Finding("PySpark", CheckResult.OK, f"PySpark {spark}")
    yield arrow_of(driver, "here")
    pandas = driver.packages.get("pandas")
    if pandas is not None and numbers(pandas) >= (3,):
        yield Finding(
            "pandas",
            CheckResult.WARNING,
            f"pandas {pandas} makes PySpark warn at its start",
            'Nothing of prokurist\'s needs it; pip install "pandas<3" has the warning end.',
        )


def arrow_of(python: Python, where: str) -> Finding:
    """Check that an interpreter has pyarrow for Spark."""
    arrow = python.packages.get("pyarrow")
    if arrow is None:
        return Finding("PyArrow", CheckResult.FAILED, f"is not installed {where}", INSTALL)
    if numbers(arrow) < OLDEST_ARROW:
        text = f"PyArrow {arrow} {where} is too old"
        return Finding("PyArrow", CheckResult.FAILED, text, INSTALL)
    return Finding("PyArrow", CheckResult.OK, f"PyArrow {arrow} {where}")


def of_java(told: str | None) -> Finding:
    """Check the output of `java -version`; None means no Java."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', told or "")
    if found is None:
        return Finding(
            "Java",
            CheckResult.FAILED,
            "there is none: neither below JAVA_HOME nor on the path",
            f"Install Java {OLDEST_JAVA} or 21; only the machine of Spark needs it.",
        )
    # Java 8 called itself 1.8.
    version = int(found[2] if found[1] == "1" and found[2] else found[1])
    if version < OLDEST_JAVA:
        return Finding(
            "Java",
            CheckResult.FAILED,
            f"Java {version} is too old for Spark 4",
            f"Install Java {OLDEST_JAVA} or 21, and have JAVA_HOME name it.",
        )
    return Finding("Java", CheckResult.OK, f"Java {version}")


def of_python(named: str | None, driver: Python, worker: Python | None) -> Finding:
    """Check the interpreter of Spark's workers on this machine.

    Args:
        named: Its setting, `PYSPARK_PYTHON` or Spark's configuration; None without.
        driver: The driver's interpreter.
        worker: The workers'; None where the named program does not start.
    """
    name = "Python"
    way_out = to_name(driver.executable)
    asked = named or "python3"
    if worker is None:
        return Finding(
            name, CheckResult.FAILED, f"workers are to be {asked!r}: no such", way_out
        )
    if worker.minor != driver.minor:
        return Finding(
            name,
            CheckResult.FAILED,
            f"workers are {worker.executable} {worker.version}, the driver is "
            f"{driver.version}: Spark refuses that",
            way_out,
        )
    if "prokurist" not in worker.packages or "pyarrow" not in worker.packages:
        lacks = " and ".join(
            each for each in ("prokurist", "pyarrow") if each not in worker.packages
        )
        return Finding(
            name,
            CheckResult.FAILED,
            f"workers are {worker.executable}, which has no {lacks}; so is what runs a "
            f"stream beside the driver, which sees no --py-files either",
            f"{way_out} Or there: {INSTALL}",
        )
    if named is None and not is_same(worker, driver):
        return Finding(
            name,
            CheckResult.WARNING,
            f"workers are {worker.executable}, as PYSPARK_PYTHON is not set; the driver is "
            f"{driver.executable}",
            way_out,
        )
    return Finding(name, CheckResult.OK, f"workers are {worker.executable} {worker.version}")


def is_same(one: Python, other: Python) -> bool:
    """Return True for the same interpreter: `python` and `python3` of a folder."""
    folders = [PurePath(each.executable).parent for each in (one, other)]
    return folders[0] == folders[1] and one.version == other.version


def of_search(named: str | None) -> Iterator[Finding]:
    """Check that Spark searches for sources in Python.

    Spark looks for them only if its Python exists as a command, and asks a shell with the bare
    name: a path with a space fails.

    Args:
        named: The setting that names the workers' interpreter; None for nothing.
    """
    if named is not None and not is_plain(named):
        yield Finding(
            "Search",
            CheckResult.WARNING,
            f"PYSPARK_PYTHON={named!r} has characters that mean something to a shell, so "
            f'Spark does not find format("prokurist") by itself',
            f"{to_name(named)} Or call prokurist.spark.register(spark).",
        )


def to_name(executable: str) -> str:
    """The advice that names an interpreter to Spark."""
    if is_plain(executable):
        return f"Set PYSPARK_PYTHON={executable} before the session is made."
    path = PurePath(executable)
    return (
        f"Set PYSPARK_PYTHON={path.name}, and have PATH begin with {str(path.parent)!r}, "
        f"before the session is made."
    )


def is_plain(executable: str) -> bool:
    """Return True if a shell reads a text as one word."""
    return shlex.quote(executable) == executable


def of_master(master: str) -> Finding:
    """Check that failed tasks are tried again."""
    if re.fullmatch(r"local(\[[^,\]]+\])?", master):
        tries = master.rstrip("]") + ",3]" if "[" in master else "local[*,3]"
        return Finding(
            "Attempts",
            CheckResult.WARNING,
            f"with {master} a task has one attempt, and its first failure ends the query",
            f"Use {tries} to have it tried again, as a cluster does.",
        )
    return Finding("Attempts", CheckResult.OK, f"{master} tries a task again")


def of_conf(conf: Callable[[str, str], str | None]) -> Iterator[Finding]:
    """Check for settings of Spark that cost time.

    Args:
        conf: The value of a key, or a default.
    """
    for key, cost in (
        ("spark.python.worker.reuse", "each task starts its own worker: about a second"),
        ("spark.python.use.daemon", "each worker is a new interpreter: more than a second"),
    ):
        if conf(key, "true") == "false":
            yield Finding(
                "Settings", CheckResult.WARNING, f"{key}=false: {cost}", "Leave it out."
            )
    pushed = conf(FILTERS, "false") == "true"
    told = "filterPushdown=true reads less" if pushed else "filterPushdown=true would fail"
    yield Finding("Filters", CheckResult.OK, f"{FILTERS} is {str(pushed).lower()}: {told}")


def of_workers(driver: Python, workers: Iterable[Python]) -> Iterator[Finding]:
    """Check the reports of the workers; equal ones once."""
    seen: dict[tuple[str, str, str], Python] = {}
    for each in workers:
        seen.setdefault((each.host, each.executable, each.error or ""), each)
    for worker in seen.values():
        yield of_worker(driver, worker)
        if worker.error is not None:
            yield Finding(
                "Brokers",
                CheckResult.FAILED,
                f"from the worker on {worker.host}: {worker.error}",
                "Executors connect to the brokers themselves, by the addresses that these "
                "advertise: open the way from there.",
            )


def of_worker(driver: Python, worker: Python) -> Finding:
    """Check the Python and the packages of one worker."""
    name, where = "Worker", f"{worker.executable} on {worker.host}"
    for package in ("prokurist", "pyarrow"):
        if package not in worker.packages:
            text = f"{where} has no {package}"
            return Finding(name, CheckResult.FAILED, text, f"On every executor: {INSTALL}")
    ours, theirs = driver.packages.get("prokurist"), worker.packages["prokurist"]
    if ours != theirs:
        return Finding(
            name,
            CheckResult.WARNING,
            f"{where} has prokurist {theirs}, the driver {ours}",
            "Install the same version everywhere.",
        )
    return Finding(name, CheckResult.OK, f"{where}, prokurist {theirs}")
