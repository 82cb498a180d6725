"""How long something takes that others have a part in, without what the machine kept from all.

For what a broker answers, or Spark does: `tests.stopwatch` is for what this process does alone,
and sees more of that. Here it is seen how long threads were ready to run and did not, be they
ours, a broker's or Spark's.

Thread: any. Where processes come and go meanwhile, a `with` has a thread of its own look at
them; it ends with that.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from tests.soak.lateness import kept_from

Thread = tuple[int, int]
"""A process and a thread of it, by the system's numbers."""

STEAL: Final = 8
"""The column of /proc/stat with what the host of a virtual machine gave to others."""
LOOKS: Final = 0.2
"""Seconds between two looks. One takes twenty milliseconds where Spark and a broker run."""


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
    """Runs from when it is made.

    What a thread has waited is gone with it. So all code that begins or ends processes is
    watched in a `with`: while that lasts, it is remembered what was last seen of each thread.
    """

    def __init__(self) -> None:
        self._before, self._stolen = waits(), stolen()
        self._last = dict(self._before)
        # Callers read, too: they take turns.
        self._looking = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_often, name="a processes watch")
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look_often(self) -> None:
        while not self._over.wait(LOOKS):
            self._look()

    def _look(self) -> None:
        """Remember what each thread has waited, be it that it has ended since."""
        with self._looking:
            for thread, seconds in waits().items():
                # One that ends while it is looked at seems never to have waited.
                self._last[thread] = max(seconds, self._last.get(thread, 0.0))

    def elapsed(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self._began

    def fair(self) -> float:
        """The same, without those that the machine gave to others: less than 0 on a busy one.

        What threads waited is added up, over all of them: so it is no more than what
        would have been needed, and on a machine that is not shared it is what was. What a
        thread waited that has ended is in the sum as far as a `with` has seen it. The thread
        that looks is not in it: no thread waits for that.
        """
        elapsed = self.elapsed()
        self._look()
        looks = os.getpid(), self._thread.native_id
        with self._looking:
            waited = sum(
                seconds - self._before.get(thread, 0.0)
                for thread, seconds in self._last.items()
                if thread != looks
            )
        return elapsed - waited - (stolen() - self._stolen)
