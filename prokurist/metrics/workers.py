"""The samples of several processes behind one port: each writes its own to a directory.

Whichever worker is scraped answers for all: with its own samples of this moment, and those that
the others have written some seconds ago.

Thread: a daemon of its own writes, and so does whichever scrapes; that reads the others' files,
too. Nothing waits for a file.
Invariants: a file appears whole or not at all; that of a process that has ended, or has written
nothing for a while, is not read. A series is of one process: clients of one name are told apart
by it, and so is what has no client. No counter goes back: what a scrape tells is in the file
first, so that the next one, which another worker may answer, tells no less. Prometheus would
take it for a restart, and count all of it once more.
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
"""Age in seconds from which a file is no longer read."""
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
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Write from time to time, until the process ends; in a child after a fork, too."""
        self._start()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._over = threading.Event()
        # After a fork: that of the parent may be held by a thread that is not here.
        self._turn = threading.Lock()
        self._thread = threading.Thread(
            target=self._work, name="prokurist-metrics", daemon=True
        )
        self._thread.start()

    def _work(self) -> None:
        over = self._over
        while True:
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

    def write(self) -> Samples:
        """Write the samples of this process, and return them, even where the disk is full.

        One at a time: later readings are written later.
        """
        with self._turn:
            samples = self._samples()
            if not self._over.is_set():
                with suppress(OSError):
                    self._put(samples)
            return samples

    def _put(self, samples: Samples) -> None:
        file = self._file(os.getpid())
        made = file.with_suffix(".tmp")
        made.write_text(json.dumps(samples), "utf-8")
        made.replace(file)

    def others(self) -> Iterator[tuple[int, Samples]]:
        """Yield the samples of the other living processes, each with its process."""
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
    """True if the process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def of_process(pid: int, lines: Iterable[Line]) -> Iterator[Line]:
    """Add the process as a label, unless the name of the client is distinct already."""
    for name, labels, value in lines:
        client = labels.get("client_id")
        if client is None:
            # Not added up: a sum would go back when a process ends.
            yield name, {**labels, "pid": str(pid)}, value
        elif f"-{pid}-" in client:
            yield name, labels, value
        else:
            yield name, {**labels, "client_id": f"{client}@{pid}"}, value
