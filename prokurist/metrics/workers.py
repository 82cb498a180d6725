"""The samples of several processes behind one port: each writes its own to a directory.

Whichever worker is scraped answers for all: with its own samples of this moment, and those that
the others have written some seconds ago.

Thread: a daemon of its own writes; whichever scrapes reads. Nothing waits for a file.
Invariants: a file appears whole or not at all; that of a process that has ended, or has written
nothing for a while, is not read. A series is in it once: clients of one name are told apart by
their process, and what has no client is added up.
"""

import atexit
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from prokurist.events.clock import epoch_milliseconds

EVERY: Final = 5.0
"""Seconds between two writings."""
STALE: Final = 3 * EVERY
"""How old a file may be and still be read."""
PREFIX: Final = "prokurist_"

Labels: TypeAlias = dict[str, str]
Line: TypeAlias = tuple[str, Labels, float]
"""A sample's name, its labels, and its value."""
Samples: TypeAlias = dict[str, list[Line]]
"""By the name of their metric."""


class WorkerFiles:
    """The files through which the workers of a directory share their samples.

    Args:
        directory: Where the files are; it is made if it is not there.
        samples: Those of this process.
        clock: Seconds since the epoch, as files have them.
    """

    def __init__(
        self,
        directory: Path,
        samples: Callable[[], Samples],
        clock: Callable[[], float] = lambda: epoch_milliseconds() / 1000,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory: Final = directory
        self._samples = samples
        self._clock = clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Write from time to time, until the process ends; in a child after a fork, too."""
        self._start()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._work, name="prokurist-metrics", daemon=True
        )
        self._thread.start()

    def _work(self) -> None:
        over = self._over
        while True:
            # A full disk must not end it: without a file the others know nothing of this one.
            with suppress(OSError):
                self.write()
            if over.wait(EVERY):
                return

    def close(self) -> None:
        """Write no more, and take the file away."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(EVERY)
        with suppress(OSError):
            self._file(os.getpid()).unlink(missing_ok=True)

    def write(self) -> None:
        """Write the samples of this process.

        Raises:
            OSError: They cannot be written.
        """
        pid = os.getpid()
        made = self._file(pid).with_suffix(".tmp")
        made.write_text(json.dumps(self._samples()), "utf-8")
        made.replace(self._file(pid))

    def others(self) -> Iterator[tuple[int, Samples]]:
        """The samples of the other processes that live, and whose they are."""
        for file in sorted(self.directory.glob(f"{PREFIX}*.json")):
            pid = file.stem.removeprefix(PREFIX)
            if not pid.isdecimal() or int(pid) == os.getpid():
                continue
            if not lives(int(pid)):
                with suppress(OSError):
                    file.unlink()
                continue
            with suppress(OSError, ValueError):
                if self._clock() - file.stat().st_mtime <= STALE:
                    yield int(pid), json.loads(file.read_text("utf-8"))

    def _file(self, pid: int) -> Path:
        return self.directory / f"{PREFIX}{pid}.json"

    def __repr__(self) -> str:
        return f"WorkerFiles({self.directory})"


def lives(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def of_process(pid: int, lines: Iterable[Line]) -> Iterator[Line]:
    """The same, with clients told apart by their process where their names do not do so."""
    for name, labels, value in lines:
        client = labels.get("client_id")
        if client is None or f"-{pid}-" in client:
            yield name, labels, value
        else:
            yield name, {**labels, "client_id": f"{client}@{pid}"}, value


def added_up(lines: Iterable[Line]) -> list[Line]:
    """Each series once; the values of equal ones together."""
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for name, labels, value in lines:
        series = name, tuple(sorted(labels.items()))
        sums[series] = sums.get(series, 0.0) + value
    return [(name, dict(labels), value) for (name, labels), value in sums.items()]
