"""`prokurist spark doctor`: checks of a Spark installation, before any record is read.

The checks of `prokurist.spark.doctor` run in a process of their own: it starts a JVM, which may
print anything and may never answer. Then the brokers, as `prokurist doctor` does it, from here.

Thread: the main one; one reads the process's output.
Invariants: the process and all its children end with the command.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Final

from prokurist.cli import doctor
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.steps import Step, StepResult

SHARE: Final = 0.8
"""Of the time that is left, for Spark."""

CLOSE: Final = 10.0
"""Seconds for a session that has told all to end by itself."""

MORE_TIME: Final = "--timeout gives more time; a first start may take a minute."


def run(asked: CommandOptions, master: str, topics: list[str]) -> Iterator[Step]:
    """Take the steps; each is yielded when it is over.

    Args:
        asked: Options of every command; without brokers none is looked for.
        master: Spark's master.
        topics: Topics that have to exist.
    """
    given = asked.brokers
    yield from spark_steps(asked, master, given)
    if given is None:
        yield Step("Brokers", StepResult.SKIPPED, "none are named: -b")
        return
    yield from doctor.run(asked, None, topics)


def spark_steps(asked: CommandOptions, master: str, bootstrap: str | None) -> Iterator[Step]:
    """Yield the steps of the other process, until it ends or the time is over."""
    command = [sys.executable, "-m", "prokurist.spark.doctor", master]
    with subprocess.Popen(
        [*command, *([bootstrap] if bootstrap else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        lines: SimpleQueue[str | None] = SimpleQueue()
        reading = threading.Thread(target=read, args=(process.stdout, lines), daemon=True)
        reading.start()
        patience = 0.0
        try:
            for line, took in timed(lines, asked):
                if line is None:
                    yield Step("Session", StepResult.FAILED, "Spark is silent", took, MORE_TIME)
                    return
                found = json.loads(line)
                verdict = StepResult(found["verdict"])
                yield Step(found["name"], verdict, found["text"], took, found["advice"])
            patience = min(asked.left(), CLOSE)
        finally:
            end(process, patience)
            reading.join()
        if process.returncode > 0:
            text = f"the process that looks at Spark has ended with {process.returncode}"
            yield Step(
                "Session",
                StepResult.FAILED,
                text,
                None,
                f"Run it to see why: {' '.join(command)}",
            )


def timed(
    lines: "SimpleQueue[str | None]", asked: CommandOptions
) -> Iterator[tuple[str | None, float]]:
    """Each line, and how long it took; None, at last, for one that has not come in time."""
    began = asked.clock.now()
    while True:
        try:
            # Some of the time is kept for the brokers.
            line = lines.get(timeout=asked.left() * SHARE)
        except Empty:
            yield None, asked.clock.now() - began
            return
        if line is None:
            return
        now = asked.clock.now()
        yield line, now - began
        began = now


def read(source: IO[str] | None, lines: "SimpleQueue[str | None]") -> None:
    """Pass on the output, line by line, and None at its end."""
    for line in source or ():
        if line.startswith("{"):
            lines.put(line)
    lines.put(None)


def end(process: "subprocess.Popen[str]", left: float) -> None:
    """See its end, and that of all that it has started: a JVM, workers.

    Args:
        process: The first of its group.
        left: Seconds for it to end by itself.
    """
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=left)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
