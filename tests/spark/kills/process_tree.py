"""A pipeline and all the processes that came of it, found by a word in their environment.

Who they are is read off their command lines: Spark names its own. They are found wherever
they hang in the tree: an executor outlives the driver that has started it for a moment.

Thread: one at a time.
"""

import json
import os
import random
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import psutil
import pyspark

from prokurist.events.clock import Deadline, MonotonicClock
from tests.spark.interpreter import QUICK, environment
from tests.spark.kills.pipeline import Duty

ROOT: Final = Path(__file__).parents[3]
MARK: Final = "PROKURIST_KILLS"
PROGRAM: Final = "tests.spark.kills.pipeline"
SILENT: Final = """\
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = off
"""
"""Spark's own logging, which would hide what is ours."""
LAST: Final = 20.0
"""Seconds in which the children of a dead driver have to end by itself."""


class Role(StrEnum):
    """What a process is to a pipeline; its brokers are none of its own."""

    PROGRAM = "program"
    DRIVER = "driver"
    RUNNER = "runner"
    EXECUTOR = "executor"
    WORKER = "worker"
    BROKER = "broker"


def role_of(line: list[str], parents: list[str]) -> Role | None:
    """What a process is, by its command line and its parent's."""
    if any(each.endswith("python_streaming_source_runner") for each in line):
        return Role.RUNNER
    if PROGRAM in line:
        return Role.PROGRAM
    if any(each.endswith("SparkSubmit") for each in line):
        return Role.DRIVER
    if any(each.endswith("CoarseGrainedExecutorBackend") for each in line):
        return Role.EXECUTOR
    # Its like beside the driver plan reads; and the daemon, who is the parent, only forks.
    if line[-2:] == ["pyspark.daemon", "pyspark.worker"] == parents[-2:]:
        return Role.WORKER
    return None


class Pipeline:
    """A program that runs, and what it has brought forth.

    Args:
        duty: What it is to do; its folder may hold what an earlier one has left.
    """

    def __init__(self, duty: Duty) -> None:
        self._duty = duty
        self._clock = MonotonicClock()
        self._mark = secrets.token_hex(8)
        self._read = len(self._journal())
        folder = Path(duty.folder)
        self.stderr = folder / f"stderr-{self._mark}"
        with self.stderr.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, duty.text()],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=os.environ | settings(folder) | {MARK: self._mark},
            )

    def happened(self) -> list[tuple[str, str]]:
        """What it has noted since it was started: kinds, and words."""
        return self._journal()[self._read :]

    def count(self, kind: str) -> int:
        """How often something has happened."""
        return sum(each == kind for each, _ in self.happened())

    @property
    def reads(self) -> bool:
        """Whether its query runs, as far as it knows."""
        return [kind for kind, _ in self.happened()][-1:] == ["began"]

    @property
    def ended(self) -> bool:
        """Whether the program itself has."""
        return self._process.poll() is not None

    def all(self) -> list[psutil.Process]:
        """Every living process of it."""
        return [each for each in psutil.process_iter() if self._is_ours(each)]

    def roles(self) -> dict[psutil.Process, Role]:
        """Those of it that have a role."""
        found = {each: role_of(line(each), line_above(each)) for each in self.all()}
        return {each: role for each, role in found.items() if role is not None}

    def of(self, role: Role) -> list[psutil.Process]:
        """Those of it that are this, in order of their numbers."""
        found = [each for each, its in self.roles().items() if its is role]
        return sorted(found, key=lambda each: each.pid)

    def strike(self, role: Role, lot: random.Random) -> bool:
        """End one of these, as a machine does that goes down; with a driver, the program.

        Returns:
            Whether there was one.
        """
        victims = self.of(role)
        if not victims:
            return False
        try:
            lot.choice(victims).kill()
        except psutil.NoSuchProcess:
            return False
        if role is Role.DRIVER:
            self._process.kill()
        return True

    def last_ones(self) -> list[str]:
        """Wait for the program's end, and end what is left: what that was, in words.

        An executor is not told of: one that was still being started when its driver was
        killed takes as long to notice as Spark likes. Its Python processes are.
        """
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST)
        deadline = Deadline.after(self._clock.now(), LAST)
        while (left := self.all()) and not deadline.expired(self._clock.now()):
            self._clock.sleep(0.1)
        left = [each for each in left if role_of(line(each), []) is not Role.EXECUTOR]
        told = [" ".join(line(each))[-160:] for each in left]
        self.close()
        return told

    def close(self) -> None:
        """End all of it; a second time does nothing."""
        self._process.kill()
        self._process.wait()
        for each in self.all():
            each.kill()
        for each in self.all():
            each.wait(LAST)

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return (
                process.status() != psutil.STATUS_ZOMBIE
                and process.environ().get(MARK) == self._mark
            )
        except psutil.Error:
            return False

    def _journal(self) -> list[tuple[str, str]]:
        return [(kind, words) for kind, words in self._lines()]

    def _lines(self) -> Iterator[Any]:
        if self._duty.journal.exists():
            for each in self._duty.journal.read_text().splitlines(keepends=True):
                if each.endswith("\n"):
                    yield json.loads(each)


def line(process: psutil.Process) -> list[str]:
    """How a process was started; nothing for one that is no more."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def line_above(process: psutil.Process) -> list[str]:
    """The same of its parent."""
    try:
        parent = process.parent()
    except psutil.Error:
        return []
    return [] if parent is None else line(parent)


def settings(folder: Path) -> dict[str, str]:
    """An environment in which Spark is silent, and keeps its files below a folder."""
    home, conf, scratch = folder / "spark", folder / "conf", folder / "scratch"
    for each in home, conf, scratch:
        each.mkdir(exist_ok=True)
    # Executors of a local cluster work below Spark's own home, wherever it is installed.
    for each in Path(pyspark.__file__).parent.iterdir():
        if each.name != "work" and not (home / each.name).exists():
            (home / each.name).symlink_to(each)
    (conf / "log4j2.properties").write_text(SILENT)
    (conf / "spark-defaults.conf").write_text(
        f"spark.driver.extraJavaOptions -Djava.io.tmpdir={scratch} {QUICK}\n"
        f"spark.executor.extraJavaOptions {QUICK}\n"
    )
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(scratch),
        "TMPDIR": str(scratch),
        **environment(),
        "PYSPARK_SUBMIT_ARGS": "pyspark-shell",  # They would win over the file.
        "PYTHONPATH": os.pathsep.join(paths),
    }
