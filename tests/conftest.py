"""What every test run says and checks: the rung of the ladder, skips by reason, leaks.

The leak check: a test that leaves a thread, a socket or a child process behind
fails. What a session fixture started before the test is none of the test's.
"""

import gc
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from prokurist.events.clock import Clock, Deadline, MonotonicClock
from prokurist.records.implementation import CHOICE
from prokurist.testing.kafka import survey

GRACE = 20.0
"""Seconds for threads and sockets that are ending to end, on a machine with much else to do."""


def pytest_configure() -> None:
    """Have Ctrl-C mean what it means in a terminal, wherever the run was started.

    A shell starts what it puts in the background with SIGINT ignored, and each
    child inherits that; then a test that interrupts one waits in vain.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector's sight: it stays to the end.

    Ten thousand tests would be gone through again and again, for a tenth of all the time.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Keep the shared nodes of a real Kafka to one process; `--dist loadfile` asks for it."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.sharing_out import ByBrokers

    return ByBrokers(config, log)


def pytest_report_header() -> list[str]:
    """Say which rung of the ladder serves, found by asking, and which codec runs."""
    return [f"real Kafka: {survey()}", f"record codec: {CHOICE.name}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skips by their reasons: an unseen skip is a missing test."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        longrepr = report.longrepr
        text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        reasons[text.removeprefix("Skipped: ")] += 1
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}", yellow=True)


@dataclass(frozen=True)
class Held:
    """What this process holds at one moment."""

    threads: frozenset[threading.Thread]
    sockets: frozenset[str]
    children: frozenset[psutil.Process]
    reaper: bool

    @classmethod
    def now(cls) -> "Held":
        """Look."""
        return cls(
            threads=frozenset(threading.enumerate()),
            sockets=frozenset(_sockets()),
            children=frozenset(_children()),
            reaper=_has_reaper(),
        )

    def beyond(self, before: "Held") -> list[str]:
        """What there is now and was not before, in words."""
        found = [f"thread {thread.name}" for thread in self.threads - before.threads]
        found += [
            f"process {child.pid} {_command(child)}"
            for child in self.children - before.children
        ]
        # By number: a session's proxy may have changed its listening socket for another.
        # testcontainers' reaper begins with the first container, and stays with its sockets.
        if self.reaper == before.reaper and len(self.sockets) > len(before.sockets):
            found += [f"socket {one}" for one in self.sockets - before.sockets]
        return found


def _children() -> Iterator[psutil.Process]:
    # Not recursively: the broker below a session's guard may have been restarted.
    lists = [*Path("/proc/self/task").glob("*/children")]
    if not lists:
        # psutil looks at every process there is, which takes a hundred times as long.
        yield from psutil.Process().children()
    for each in lists:
        with suppress(OSError):  # The thread has ended.
            for pid in each.read_text().split():
                with suppress(psutil.NoSuchProcess):
                    yield psutil.Process(int(pid))


def _sockets() -> Iterator[str]:
    if sys.platform == "linux":
        for entry in Path("/proc/self/fd").iterdir():
            try:
                target = str(entry.readlink())
            except OSError:
                continue  # the descriptor by which we look
            if target.startswith("socket:"):
                yield target
    else:
        for connection in psutil.Process().net_connections(kind="all"):
            yield f"{connection.fd} {connection.laddr} {connection.raddr}"


def _has_reaper() -> bool:
    containers = sys.modules.get("testcontainers.core.container")
    return containers is not None and containers.Reaper._instance is not None


def _command(child: psutil.Process) -> str:
    try:
        return " ".join(child.cmdline())[:120]
    except psutil.Error:
        return "(ended, and was not waited for)"


def leaks_since(before: Held, clock: Clock) -> list[str]:
    """What is still held beyond `before` after a short grace."""
    deadline = Deadline.after(clock.now(), GRACE)
    while (found := Held.now().beyond(before)) and not deadline.expired(clock.now()):
        clock.sleep(0.02)
    return found


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a socket or a process behind."""
    before = Held.now()
    yield
    if found := leaks_since(before, MonotonicClock()):
        pytest.fail("the test left behind: " + "; ".join(found), pytrace=False)
