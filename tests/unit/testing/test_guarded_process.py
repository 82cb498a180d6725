"""The guard: its child, its folder, and what becomes of both when the parent is gone."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import KafkaFailed
from prokurist.testing.kafka.guarded_process import GuardedProcess

CLOCK = MonotonicClock()
SLEEPER = ["sleep", "300"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A node's folder below one that the nodes of a cluster share."""
    one = tmp_path / "cluster" / "node-0"
    one.mkdir(parents=True)
    return one


@pytest.fixture
def guarded(folder: Path) -> Iterator[GuardedProcess]:
    """A guard without a child."""
    process = GuardedProcess(folder, CLOCK)
    yield process
    process.close()


def soon() -> Deadline:
    """Far enough for a slow machine."""
    return Deadline.after(CLOCK.now(), 10)


def child_of(process: GuardedProcess) -> psutil.Process:
    """The child, as the system sees it."""
    assert process.pid is not None
    return psutil.Process(process.pid)


def gone(pid: int) -> bool:
    """Whether a process has ended, within a bound."""
    deadline = soon()
    while not deadline.expired(CLOCK.now()):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        CLOCK.sleep(0.02)
    return False


def test_the_child_has_a_group_of_its_own(guarded: GuardedProcess, folder: Path) -> None:
    """Ctrl-C in a terminal goes to the test run's group, and must not reach the broker."""
    guarded.run(SLEEPER, folder / "log")
    child = child_of(guarded)
    assert os.getpgid(child.pid) == child.pid
    assert os.getpgid(guarded.guard_pid) not in {os.getpgid(0), child.pid}
    assert child.cwd() == str(folder)
    assert guarded.running()
    assert guarded.exit_code() is None


def test_an_interrupted_question_leaves_no_answer_for_the_next(
    guarded: GuardedProcess, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between a command and its answer: the next command gets its own."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    guarded.run(SLEEPER, folder / "log")
    with monkeypatch.context() as patched:
        patched.setattr(select, "select", interrupted)
        with pytest.raises(KeyboardInterrupt):
            guarded.running()
    guarded.signal(signal.SIGKILL)
    assert not guarded.running()
    assert guarded.exit_code() == -signal.SIGKILL


def test_its_output_goes_to_the_log_and_its_code_is_kept(
    guarded: GuardedProcess, folder: Path
) -> None:
    """Both streams; a second run appends."""
    for word in ("one", "two"):
        guarded.run(["sh", "-c", f"echo {word}; echo {word} >&2; exit 3"], folder / "log")
        assert guarded.wait(soon()) == 3
    assert (folder / "log").read_text() == "one\none\ntwo\ntwo\n"


def test_a_stopped_child_has_stopped_on_return(guarded: GuardedProcess, folder: Path) -> None:
    """No answer can slip out after freeze() returned; and it goes on afterwards."""
    guarded.run(SLEEPER, folder / "log")
    child = child_of(guarded)
    for _ in range(3):
        assert guarded.signal(signal.SIGSTOP)
        assert child.status() == psutil.STATUS_STOPPED
        assert guarded.signal(signal.SIGSTOP)
        assert guarded.signal(signal.SIGCONT)
        assert child.status() != psutil.STATUS_STOPPED


def test_a_killed_child_is_gone_on_return(guarded: GuardedProcess, folder: Path) -> None:
    """Even one that was stopped; and a signal to an ended process is no error."""
    guarded.run(SLEEPER, folder / "log")
    pid = guarded.pid
    assert pid is not None
    guarded.signal(signal.SIGSTOP)
    assert not guarded.signal(signal.SIGKILL)
    assert not psutil.pid_exists(pid)
    assert guarded.exit_code() == -signal.SIGKILL
    assert not guarded.signal(signal.SIGTERM)
    assert (folder / "log").exists()


def test_a_wait_ends_by_its_deadline(guarded: GuardedProcess, folder: Path) -> None:
    """With None: it still runs."""
    guarded.run(SLEEPER, folder / "log")
    assert guarded.wait(Deadline.after(CLOCK.now(), 0.05)) is None


def test_what_cannot_be_run_is_told(guarded: GuardedProcess, folder: Path) -> None:
    """And so is a second child beside the first."""
    with pytest.raises(KafkaFailed, match="could not start /no/such/java"):
        guarded.run(["/no/such/java"], folder / "log")
    guarded.run(SLEEPER, folder / "log")
    with pytest.raises(KafkaFailed, match="still runs"):
        guarded.run(SLEEPER, folder / "log")


def test_closing_kills_and_removes(guarded: GuardedProcess, folder: Path) -> None:
    """A stopped child too; the shared folder goes with the last node."""
    other = folder.parent / "node-1"
    other.mkdir()
    second = GuardedProcess(other, CLOCK)
    guarded.run(SLEEPER, folder / "log")
    pid = guarded.pid
    assert pid is not None
    guarded.signal(signal.SIGSTOP)
    guarded.close()
    guarded.close()
    assert not psutil.pid_exists(pid)
    assert not folder.exists()
    assert other.exists()
    second.close()
    assert not folder.parent.exists()
    with pytest.raises(KafkaFailed, match="closed"):
        guarded.running()


def test_a_guard_that_was_killed_is_told(guarded: GuardedProcess, folder: Path) -> None:
    """The harness does not wait for an answer that cannot come."""
    guarded.run(SLEEPER, folder / "log")
    child = child_of(guarded)
    os.kill(guarded.guard_pid, signal.SIGKILL)
    with pytest.raises(KafkaFailed, match="is gone"):
        guarded.running()
    child.kill()


PARENT = """
import json, os, signal, sys, time
from pathlib import Path
from prokurist.events.clock import MonotonicClock
from prokurist.testing.kafka.guarded_process import GuardedProcess

folder = Path(sys.argv[1])
process = GuardedProcess(folder, MonotonicClock())
process.run(["sleep", "300"], folder / "log")
if sys.argv[2] == "stopped":
    process.signal(signal.SIGSTOP)
heir = 0
if sys.argv[2] == "forked":
    # A fork keeps the pipe open: no end of input tells the guard.
    heir = os.fork()
    if heir == 0:
        os.close(1)
        time.sleep(300)
print(json.dumps([process.pid, process.guard_pid, heir]), flush=True)
time.sleep(300)
"""


@pytest.mark.parametrize("state", ["running", "stopped", "forked"])
def test_a_parent_that_is_killed_takes_all_along(folder: Path, state: str) -> None:
    """SIGKILL leaves it no moment to clean up: the guard does."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder), state],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as parent:
        assert parent.stdout is not None
        child, guard, heir = json.loads(parent.stdout.readline())
        parent.kill()
    try:
        assert gone(child)
        assert gone(guard)
        assert not folder.exists()
    finally:
        if heir:
            os.kill(heir, signal.SIGKILL)


def test_a_guard_that_is_asked_to_end_takes_its_child_along(
    guarded: GuardedProcess, folder: Path
) -> None:
    """SIGTERM to the guard is no way to make an orphan; Ctrl-C is not its business."""
    guarded.run(SLEEPER, folder / "log")
    pid = guarded.pid
    assert pid is not None
    os.kill(guarded.guard_pid, signal.SIGINT)
    assert guarded.running()
    os.kill(guarded.guard_pid, signal.SIGTERM)
    assert gone(pid)
    assert gone(guarded.guard_pid)
