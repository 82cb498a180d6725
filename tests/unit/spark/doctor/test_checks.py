"""What the doctor for Spark makes of what he sees."""

from dataclasses import replace

import pytest

from prokurist.spark.doctor.checks import (
    CheckResult,
    Finding,
    Python,
    numbers,
    of_conf,
    of_driver,
    of_java,
    of_master,
    of_python,
    of_search,
    of_worker,
    of_workers,
)

HERE = Python(
    "/venv/bin/python",
    "3.12.4",
    {"prokurist": "0.1.0", "pyspark": "4.2.0", "pyarrow": "20.0.0"},
    "driver",
)
OK, WARNING, FAILED = CheckResult


def with_(python: Python = HERE, **packages: str | None) -> Python:
    """The same with other packages; None takes one out."""
    merged = {**python.packages, **packages}
    return replace(python, packages={k: v for k, v in merged.items() if v is not None})


def told(finding: Finding) -> str:
    """All that is said."""
    return f"{finding.name} {finding.text} {finding.advice or ''}"


def test_versions_are_numbers_as_far_as_they_have_some() -> None:
    """Development versions and others that are none included."""
    assert numbers("4.2.0.dev1") == (4, 2, 0)
    assert numbers("3.12.4+local") == (3, 12, 4)
    assert numbers("unknown") == ()


@pytest.mark.parametrize(
    ("driver", "name", "verdict", "said"),
    [
        (HERE, "PySpark", OK, "4.2.0"),
        (with_(pyspark=None), "PySpark", FAILED, 'pip install "prokurist[spark]"'),
        (with_(pyspark="3.5.1"), "PySpark", FAILED, "4.0 or later"),
        (with_(pyspark="4.1.4"), "PySpark", WARNING, "For streams"),
        (HERE, "PyArrow", OK, "20.0.0"),
        (with_(pyarrow=None), "PyArrow", FAILED, 'pip install "prokurist[spark]"'),
        (with_(pyarrow="11.0.0"), "PyArrow", FAILED, "too old"),
        (with_(pandas="3.1.1"), "pandas", WARNING, "pandas<3"),
    ],
)
def test_what_is_installed_beside_the_driver(
    driver: Python, name: str, verdict: CheckResult, said: str
) -> None:
    """PySpark, PyArrow and pandas, with the way out."""
    (finding,) = (each for each in of_driver(driver) if each.name == name)
    assert finding.verdict is verdict
    assert said in told(finding)


def test_pandas_2_is_nothing_to_tell_of() -> None:
    """Nor is none at all."""
    for driver in (HERE, with_(pandas="2.2.0")):
        assert "pandas" not in [each.name for each in of_driver(driver)]


@pytest.mark.parametrize(
    ("said", "verdict", "text"),
    [
        ('openjdk version "17.0.15" 2025-04-15', OK, "Java 17"),
        ('openjdk version "21" 2023-09-19', OK, "Java 21"),
        ('java version "1.8.0_301"', FAILED, "Java 8 is too old"),
        ('openjdk version "11.0.2"', FAILED, "Java 11 is too old"),
        (None, FAILED, "there is none"),
        ("no such thing", FAILED, "there is none"),
    ],
)
def test_java(said: str | None, verdict: CheckResult, text: str) -> None:
    """17 or later; Java 8 called itself 1.8."""
    finding = of_java(said)
    assert (finding.verdict, text in finding.text) == (verdict, True)


@pytest.mark.parametrize(
    ("named", "worker", "verdict", "said"),
    [
        (None, HERE, OK, "/venv/bin/python 3.12.4"),
        (None, replace(HERE, executable="/venv/bin/python3"), OK, "/venv/bin/python3 3.12.4"),
        ("x", None, FAILED, "'x': no such"),
        (None, None, FAILED, "'python3': no such"),
        ("x", replace(HERE, version="3.11.2"), FAILED, "the driver is 3.12.4"),
        (
            None,
            with_(replace(HERE, executable="/usr/bin/python3"), pyarrow=None),
            FAILED,
            "has no pyarrow",
        ),
        ("x", with_(prokurist=None, pyarrow=None), FAILED, "prokurist and pyarrow"),
        (None, replace(HERE, executable="/usr/bin/python3"), WARNING, "is not set"),
        ("/usr/bin/python3", replace(HERE, executable="/usr/bin/python3"), OK, "/usr/bin"),
    ],
)
def test_the_interpreter_of_workers(
    named: str | None, worker: Python | None, verdict: CheckResult, said: str
) -> None:
    """Missing, of another version, without packages, or another than one thinks."""
    finding = of_python(named, HERE, worker)
    assert finding.verdict is verdict
    assert said in told(finding)
    if verdict is not OK:
        assert "PYSPARK_PYTHON=/venv/bin/python" in told(finding)


def test_an_interpreter_whose_path_is_no_one_word_to_a_shell() -> None:
    """Spark asks one, and looks for no source where it says no; the way out is by PATH."""
    for found in (None, "python3", "/venv/bin/python"):
        assert list(of_search(found)) == []
    (finding,) = of_search("/my files/venv/bin/python3")
    assert finding.verdict is WARNING
    assert 'does not find format("prokurist")' in finding.text
    way_out = "Set PYSPARK_PYTHON=python3, and have PATH begin with '/my files/venv/bin'"
    assert way_out in told(finding)
    assert "register(spark)" in told(finding)
    driver = replace(HERE, executable="/my files/venv/bin/python3")
    assert way_out in told(of_python(None, driver, HERE))


@pytest.mark.parametrize(
    ("master", "verdict", "said"),
    [
        ("local", WARNING, "local[*,3]"),
        ("local[4]", WARNING, "local[4,3]"),
        ("local[*]", WARNING, "local[*,3]"),
        ("local[2,3]", OK, ""),
        ("local-cluster[2,1,1024]", OK, ""),
        ("spark://host:7077", OK, ""),
        ("yarn", OK, ""),
    ],
)
def test_a_master_with_one_attempt(master: str, verdict: CheckResult, said: str) -> None:
    """`local[N]` ends a query with the first failure of a task."""
    finding = of_master(master)
    assert finding.verdict is verdict
    assert said in told(finding)


def test_settings_that_cost_something() -> None:
    """A second for each task; left as they are, there is nothing to tell."""
    [filters] = of_conf(lambda _, default: default)
    assert filters.verdict is OK
    assert "filterPushdown=true would fail" in filters.text
    found = list(of_conf(lambda _key, _default: "false"))
    assert [each.verdict for each in found] == [WARNING, WARNING, OK]
    assert "spark.python.worker.reuse=false" in found[0].text
    [filters] = of_conf(lambda _key, _default: "true")
    assert "filterPushdown=true reads less" in filters.text


@pytest.mark.parametrize(
    ("worker", "verdict", "said"),
    [
        (HERE, OK, "/venv/bin/python on driver"),
        (with_(prokurist=None), FAILED, "has no prokurist"),
        (with_(pyarrow=None), FAILED, "has no pyarrow"),
        (with_(prokurist="0.0.9"), WARNING, "prokurist 0.0.9, the driver 0.1.0"),
    ],
)
def test_a_worker(worker: Python, verdict: CheckResult, said: str) -> None:
    """What it lacks, or has in another version."""
    finding = of_worker(HERE, worker)
    assert finding.verdict is verdict
    assert said in finding.text


def test_workers_are_told_of_once_each_and_so_is_what_they_cannot_reach() -> None:
    """Eight slots of one machine are one line."""
    far = replace(HERE, host="far", error="no way to b1:9092")
    found = list(of_workers(HERE, [HERE] * 8 + [far] * 8))
    assert [(each.name, each.verdict) for each in found] == [
        ("Worker", OK),
        ("Worker", OK),
        ("Brokers", FAILED),
    ]
    assert "from the worker on far: no way to b1:9092" in found[2].text
