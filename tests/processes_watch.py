"""How long something takes that others have a part in, without what the machine kept from all.

For what a broker answers, or Spark does: `tests.stopwatch` is for what this process does alone,
and sees more of that. Here it is seen how long threads were ready to run and did not, be they
ours, a broker's or Spark's.

Thread: any.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from tests.soak.lateness import kept_from

Thread = tuple[int, int]
"""A process and a thread of it, by the system's numbers."""

STEAL: Final = 8
"""The column of /proc/stat with what the host of a virtual machine gave to others."""


def waits() -> dict[Thread, float]:
    """Seconds that each thread of this process, and of those below it, was kept from running.

    So a broker's that was started here, and Spark's. Where no Linux counts it, nothing.
    """
    found: dict[Thread, float] = {}
    for process in (os.getpid(), *(each.pid for each in psutil.Process().children(True))):
        with suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                found[process, int(task.name)] = kept_from(task)
    return found


def stolen() -> float:
    """Seconds that the host kept all processors of this machine from running."""
    with suppress(OSError, IndexError):
        line = Path("/proc/stat").read_text("ascii").split("\n", 1)[0]
        return int(line.split()[STEAL]) / os.sysconf("SC_CLK_TCK")
    return 0.0


class ProcessesWatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._waits, self._stolen = waits(), stolen()
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
            max(0.0, seconds - before.get(thread, 0.0)) for thread, seconds in waits().items()
        )
        return elapsed - waited - (stolen() - self._stolen)
