"""The plugin in another project's test runs, without any Kafka; and our own leak check."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

NO_KAFKA = """
import pytest
from prokurist.testing.kafka import DockerUnavailable, JavaMissing, ladder

def pytest_configure():
    def no_docker(timeout=0):
        raise DockerUnavailable("no Docker engine answers")
    def no_java(version):
        raise JavaMissing("no Java on the path", way_out=f"install one for {version}")
    ladder.ask_docker, ladder.find_java = no_docker, no_java
"""

nested = pytest.mark.slow

Running = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Running:
    """Run pytest in a folder of its own, with the plugin and nothing of ours besides."""

    def go(*arguments: str, env: dict[str, str] | None = None, **files: str) -> object:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        environ = {key: value for key, value in os.environ.items() if "PROKURIST" not in key}
        environ |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "prokurist.testing.plugin", *arguments],
            cwd=tmp_path,
            env=environ | (env or {}),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return go  # type: ignore[return-value]


def test_the_plugin_is_light() -> None:
    """It is imported in each of our users' runs: nothing comes along but pytest."""
    code = (
        "import sys, pytest; before = set(sys.modules); import prokurist.testing.plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert loaded == ["prokurist", "prokurist.testing", "prokurist.testing.plugin"]


HEAVY = {
    *("cramjam", "cryptography", "docker", "gssapi", "kio", "prometheus_client", "pyarrow"),
    *("pyspark", "ssl", "testcontainers", "typer"),
}
"""Modules that the plugin must not import before one of its fixtures is used."""

WATCHING = """
import sys

def look(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "socket.connect"):
        print("STARTED", event, arguments, flush=True)

sys.addaudithook(look)

def pytest_unconfigure(config):
    print("LOADED", *sys.modules, flush=True)
"""


@nested
def test_a_run_without_the_fixtures_loads_three_modules(run: Running) -> None:
    """From its options to its end: nothing heavy, no process such as Java's, no connection."""
    ran = run(
        "-s", "--prokurist-kafka-version=3.9.2",
        env={"PYTEST_ADDOPTS": "-p watching"},  # Before the plugin, which it is to see begin.
        watching=WATCHING, test_it="def test_it(): pass\n",
    )  # fmt: skip
    assert "1 passed" in ran.stdout
    assert "STARTED" not in ran.stdout
    (line,) = [each for each in ran.stdout.splitlines() if each.startswith("LOADED")]
    loaded = set(line.split())
    assert not {each for each in loaded if each.partition(".")[0] in HEAVY}
    ours = {each for each in loaded if each.startswith("prokurist")}
    assert ours == {"prokurist", "prokurist.testing", "prokurist.testing.plugin"}


def test_the_entry_point_is_this_plugin() -> None:
    """An installed prokurist brings nothing else into a run of pytest."""
    names = [
        each for each in entry_points(group="pytest11") if each.value.startswith("prokurist")
    ]
    assert [each.value for each in names] == ["prokurist.testing.plugin"]


FIXTURES = (
    "prokurist_kafka",
    "prokurist_cluster",
    "prokurist_own_kafka",
    "prokurist_own_cluster",
    "prokurist_topic",
)


@nested
def test_without_kafka_each_fixture_skips_in_one_line(run: Running) -> None:
    """So that skips can be counted by their reason."""
    tests = (f"def test_{fixture}({fixture}): pass\n" for fixture in FIXTURES)
    ran = run("-rs", conftest=NO_KAFKA, test_it="".join(tests))
    told = [line for line in ran.stdout.splitlines() if line.startswith("SKIPPED")]
    assert told
    for line in told:
        assert "no Kafka: no Docker engine answers; no Java on the path" in line
    assert f"{len(FIXTURES)} skipped" in ran.stdout
    assert ran.returncode == 0


@nested
def test_where_kafka_is_required_its_absence_fails(run: Running) -> None:
    """With the way out of each rung, and no traceback through the harness."""
    ran = run(
        conftest=NO_KAFKA,
        test_it="def test_it(prokurist_kafka): pass\n",
        env={"PROKURIST_REQUIRE_KAFKA": "1"},
    )
    assert "1 error" in ran.stdout
    assert "jars: no Java on the path; install one for 4.3.1" in ran.stdout
    assert "real_kafka.py" not in ran.stdout
    assert ran.returncode == 1


@nested
def test_the_version_is_an_option_and_the_marker_wins(run: Running) -> None:
    """Which Kafka would have been started is seen in the reason that it was not."""
    test = (
        "import pytest\n"
        "def test_option(prokurist_own_kafka): pass\n"
        "@pytest.mark.prokurist_broker(version='4.1.0')\n"
        "def test_marker(prokurist_own_kafka): pass\n"
    )
    ran = run(
        "--prokurist-kafka-version=3.9.2",
        "--strict-markers",
        conftest=NO_KAFKA,
        test_it=test,
        env={"PROKURIST_REQUIRE_KAFKA": "1"},
    )
    assert "install one for 3.9.2" in ran.stdout
    assert "install one for 4.1.0" in ran.stdout


@nested
def test_a_marker_with_a_mistake_is_an_error(run: Running) -> None:
    """A typing mistake must not start the wrong broker."""
    test = (
        "import pytest\n"
        "@pytest.mark.prokurist_broker('3.9.2')\n"
        "def test_without_a_name(prokurist_own_kafka): pass\n"
        "@pytest.mark.prokurist_broker(versoin='3.9.2')\n"
        "def test_misspelled(prokurist_own_kafka): pass\n"
    )
    ran = run("-rE", conftest=NO_KAFKA, test_it=test)
    told = [line for line in ran.stdout.splitlines() if line.startswith("E  ")]
    assert (
        sum("takes version=, properties= and security=, by name" in each for each in told) == 2
    )
    assert "2 errors" in ran.stdout


HEALING = """
import pytest

class Kafka:
    hurt = False
    def heal(self):
        type(self).hurt = False

@pytest.fixture
def client():
    yield
    assert not Kafka.hurt, "a client cannot be closed against a frozen broker"
    Kafka.hurt = True

def pytest_sessionstart(session):
    from prokurist.testing import plugin
    session.config.stash[plugin._SHARED].append(Kafka())

@pytest.fixture
def kafka():
    return Kafka
"""


@nested
def test_a_test_that_fails_does_not_poison_the_next(run: Running) -> None:
    """What it did to the shared Kafka is undone, before and after its fixtures end."""
    test = (
        "def test_one(kafka, client):\n    kafka.hurt = True\n    assert False\n"
        "def test_two(kafka):\n    assert not kafka.hurt\n"
    )
    ran = run(conftest=HEALING, test_it=test)
    assert "1 failed, 1 passed" in ran.stdout


@nested
def test_a_healing_that_fails_leaves_no_fixture_open(run: Running) -> None:
    """It is the test's error, and its fixtures end all the same."""
    conftest = HEALING.replace("type(self).hurt = False", "raise ValueError('sick')")
    test = (
        "import pytest\n"
        "@pytest.fixture\n"
        "def one():\n    yield\n    print('fixture ended')\n"
        "def test_one(one): pass\n"
        "def test_two(one): pass\n"
    )
    ran = run("-s", conftest=conftest, test_it=test)
    assert ran.stdout.count("fixture ended") == 2
    assert "ValueError: sick" in ran.stdout
    assert "2 passed, 2 errors" in ran.stdout


LEAKING = """
import socket, subprocess, sys, threading, pytest
kept = []
def test_thread():
    stop = threading.Event()
    kept.append(stop)
    threading.Thread(target=stop.wait, name="left-behind").start()
def test_socket():
    kept.append(socket.socket())
def test_process():
    kept.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
def test_tidy():
    thread = threading.Thread(target=threading.Event().wait, args=(0.1,))
    thread.start()
@pytest.mark.parametrize("number", [1, 2])
def test_skipped(number):
    pytest.skip("no Java on the path")
def test_other():
    pytest.skip("no Maven on the path")
def test_end():
    kept[0].set(), kept[1].close(), kept[2].kill(), kept[2].wait()
"""


@nested
def test_our_own_runs_fail_leaks_and_count_skips(run: Running) -> None:
    """A thread, a socket, a process; what ends by itself in a moment is no leak."""
    conftest = (ROOT / "tests" / "conftest.py").read_text("utf-8")
    assert "GRACE = 20.0" in conftest
    ran = run(
        "-p",
        "no:cacheprovider",
        conftest=conftest.replace("GRACE = 20.0", "GRACE = 1.0"),
        test_it=LEAKING,
    )
    assert "real Kafka: " in ran.stdout
    assert "left behind: thread left-behind" in ran.stdout
    assert "left behind: socket socket:[" in ran.stdout
    assert "left behind: process " in ran.stdout
    assert "5 passed, 3 skipped, 3 errors" in ran.stdout
    assert "skipped 2: no Java on the path" in ran.stdout
    assert "skipped 1: no Maven on the path" in ran.stdout
