"""How long something takes, and how much of that the machine kept from brokers and from us.

Tests hold what is promised of time against a real clock, on machines that are shared. What
the promise says nothing about is left out by being measured: the time in which a thread was
ready to run, and did not.

Thread: any.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

Thread = tuple[int, int]
"""A process and a thread of it, by the system's numbers."""

STEAL: Final = 8
"""The column of /proc/stat with what the host of a virtual machine gave to others."""


def waits(*, alone: bool) -> dict[Thread, float]:
    """Seconds that each thread of this process was kept from running.

    Where no Linux counts it, there is nothing.

    Args:
        alone: Not those of the processes below it: brokers that were started here, and Spark.
    """
    found: dict[Thread, float] = {}
    below = [] if alone else [each.pid for each in psutil.Process().children(recursive=True)]
    for process in (os.getpid(), *below):
        with suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with suppress(OSError, IndexError):
                    text = (thread / "schedstat").read_text("ascii")
                    found[process, int(thread.name)] = int(text.split()[1]) / 1e9
    return found


def stolen() -> float:
    """Seconds that the host kept all processors of this machine from running."""
    with suppress(OSError, IndexError):
        line = Path("/proc/stat").read_text("ascii").split("\n", 1)[0]
        return int(line.split()[STEAL]) / os.sysconf("SC_CLK_TCK")
    return 0.0


class ProcessesWatch:
    """Runs from when it is made.

    Args:
        alone: Whether what is measured needs this process alone, and no broker.
    """

    def __init__(self, *, alone: bool = False) -> None:
        self._alone = alone
        self._waits, self._stolen = waits(alone=alone), stolen()
        self._began = time.monotonic()

    def elapsed(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self._began

    def fair(self) -> float:
        """The same, without those that the machine gave to others: less than 0 on a busy one.

        What threads waited is added up, whoever waited for whom: so it is no more than what
        would have been needed, and on a machine that is not shared it is what was.
        """
        elapsed, before = self.elapsed(), self._waits
        waited = sum(
            max(0.0, seconds - before.get(thread, 0.0))
            for thread, seconds in waits(alone=self._alone).items()
        )
        return elapsed - waited - (stolen() - self._stolen)
