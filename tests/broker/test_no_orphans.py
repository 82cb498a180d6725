"""What a test run leaves behind when it ends, and when it is killed: nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

Eventually = Callable[..., Any]

INNER = """
import json, os, time

def test_it(prokurist_kafka, prokurist_topic):
    (node,) = prokurist_kafka._controls.nodes._nodes
    if {frozen}:
        prokurist_kafka.freeze()
    told = [node.process.pid, node.process.guard_pid, str(node.folder)]
    with open("told.part", "w") as file:
        json.dump(told, file)
    os.rename("told.part", "told.json")
    time.sleep({seconds})
"""


def _nested(folder: Path, *, frozen: bool, seconds: float) -> subprocess.Popen[str]:
    (folder / "test_inner.py").write_text(INNER.format(frozen=frozen, seconds=seconds))
    environ = {key: value for key, value in os.environ.items() if "PROKURIST" not in key}
    environ |= {
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        # The rung under test; the ladder would prefer an engine.
        "DOCKER_HOST": "unix:///no/such/socket",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "prokurist.testing.plugin", "."],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("startable")
@pytest.mark.parametrize("frozen", [False, True], ids=["running", "frozen"])
def test_a_test_run_that_is_killed_leaves_no_broker(
    tmp_path: Path, eventually: Eventually, *, frozen: bool
) -> None:
    """SIGKILL gives it no moment; the guard sees its pipe end and clears up."""
    told = tmp_path / "told.json"
    with _nested(tmp_path, frozen=frozen, seconds=300) as run:
        try:
            eventually(lambda: told.exists() or run.poll() is not None, 180)
            assert run.poll() is None, run.communicate()
            broker, guard, folder = json.loads(told.read_text())
            assert "kafka.Kafka" in psutil.Process(broker).cmdline()
        finally:
            run.kill()
            run.communicate()
    eventually(lambda: _is_gone(broker))
    eventually(lambda: _is_gone(guard))
    assert not Path(folder).exists()
    assert not Path(folder).parent.exists()


@pytest.mark.usefixtures("startable")
def test_a_healthy_run_is_silent_and_leaves_nothing(tmp_path: Path) -> None:
    """Not a line on stderr, no process, no folder; though its test froze the broker."""
    with _nested(tmp_path, frozen=True, seconds=0) as run:
        out, err = run.communicate(timeout=180)
    assert "1 passed" in out
    assert err == ""
    broker, guard, folder = json.loads((tmp_path / "told.json").read_text())
    assert _is_gone(broker)
    assert _is_gone(guard)
    assert not Path(folder).parent.exists()


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
