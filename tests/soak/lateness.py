"""How late calls end: a histogram of fixed size, for a run of any length; and whose fault."""

import os
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

RANKS: Final = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


class Lateness:
    """For each kind of call how far behind its deadline it ended, in milliseconds.

    Attributes:
        calls: How many calls there were of each kind, in time or not.
        early: Calls that gave up before their deadline, in words.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.early: list[str] = []
        self._late: dict[str, Counter[float]] = {}

    def ended(self, kind: str, timeout: float, elapsed: float, *, gave_up: bool) -> None:
        """A call has ended.

        Args:
            kind: Which.
            timeout: The seconds that it was given.
            elapsed: The seconds that it took.
            gave_up: Whether it ended since its time was over.
        """
        self.calls[kind] += 1
        behind = elapsed - timeout
        if gave_up and behind < -0.001 and len(self.early) < 20:
            self.early.append(f"{kind}({timeout}) gave up after {elapsed:.4f} s")
        if behind >= -0.001:
            # Coarser where it is larger: the number of keys stays small.
            tenths = max(0.0, behind * 1000)
            key = round(tenths, 1) if tenths < 20 else float(round(tenths))
            self._late.setdefault(kind, Counter())[key] += 1

    def table(self) -> dict[str, dict[str, float]]:
        """For each kind the figures of those calls that came to their deadline."""
        return {
            kind: {"calls": self.calls[kind], "to the deadline": late.total()} | ranks(late)
            for kind, late in sorted(self._late.items())
        }


def ranks(late: Mapping[float, int]) -> dict[str, float]:
    """The percentiles of a histogram."""
    total = sum(late.values())
    found: dict[str, float] = {}
    for name, rank in RANKS.items():
        seen = 0
        for value in sorted(late):
            seen += late[value]
            found[name] = value
            if seen >= rank * total:
                break
    return found


def starved(thread: threading.Thread) -> float:
    """Seconds that a thread was ready to run, and the machine ran others.

    Where no Linux counts it, 0.
    """
    return kept_from(Path(f"/proc/self/task/{_number(thread)}"))


def thread_waits() -> dict[int, float]:
    """The same of each of Python's threads that lives now, by its number."""
    return {_number(each): starved(each) for each in threading.enumerate()}


def _number(thread: threading.Thread) -> int:
    """The number by which Linux knows a thread; 0 for one that has not begun."""
    # The first thread of a process has the process's; in a forked one CPython names the
    # parent's.
    return os.getpid() if thread is threading.main_thread() else thread.native_id or 0


def starved_since(before: Mapping[int, float]) -> float:
    """What all of them have waited since an earlier `thread_waits`; see `grown`."""
    return grown(before, thread_waits())


def grown(before: Mapping[int, float], now: Mapping[int, float]) -> float:
    """How much longer threads have waited.

    By thread: a sum over all falls, when one ends, by what that one has ever waited. What it
    has waited in between is not known, and not in it.
    """
    return sum(max(0.0, kept - before.get(each, 0.0)) for each, kept in now.items())


def kept_from(task: Path) -> float:
    """The same of one thread, be it another process's, by its folder below /proc."""
    with suppress(OSError, IndexError):
        return int((task / "schedstat").read_text("ascii").split()[1]) / 1e9
    return 0.0
