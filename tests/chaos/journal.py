"""What a member of a chaos run writes down, and how it is read again.

Thread: any; a lock keeps the lines in the order of their times.
Invariants: a line is with the kernel before `write` returns, so SIGKILL loses nothing that
was acted upon. Times are CLOCK_MONOTONIC's, which the processes of a machine share.
"""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any, Final, NamedTuple


class Event(NamedTuple):
    """One line.

    Attributes:
        at: When.
        kind: What happened; see `KINDS`.
        what: What is to be known of it.
    """

    at: float
    kind: str
    what: Any


KINDS: Final = {
    "born": "the process is about to join: its style",
    "assigned": "the listener's call begins: the generation or epoch, and partitions",
    "revoking": "the listener's call begins: partitions",
    "revoked": "it returns: partitions",
    "lost": "the listener's call begins: partitions",
    "read": "records are processed: runs of partition, first offset, and the one behind",
    "committed": "a commit has succeeded: pairs of partition and offset",
    "looking": "a look-up of what is committed begins",
    "looked": "it has ended well: pairs of partition and offset",
    "call": "a call has ended: kind, timeout, seconds without callbacks, starved ones, how",
    "window": "a while is over: its seconds, requests by broker, seconds of processor time",
    "logged": "a warning or worse: what it says",
    "wrong": "what must not be: in words",
    "left": "the process has closed its consumer",
}
"""Every kind of event, and what is told of it."""


class Journal:
    """The writing end; one process has one.

    Args:
        path: Where; lines are appended.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lock = threading.Lock()

    def write(self, kind: str, what: Any = None) -> None:
        """Put an event down for good."""
        with self._lock:
            line = json.dumps([time.monotonic(), kind, what], separators=(",", ":"))
            os.write(self._file, line.encode() + b"\n")


class Reading:
    """The reading end, which may look again while the other one writes.

    Attributes:
        events: What has been read.
    """

    def __init__(self, path: Path) -> None:
        self.events: list[Event] = []
        self._path = path
        self._rest = b""
        self._offset = 0

    def more(self) -> list[Event]:
        """What has come since the last look."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        fresh = [Event(*json.loads(line)) for line in lines]
        self.events += fresh
        return fresh
