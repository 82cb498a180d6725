"""Clients that one of Spark's processes keeps from task to task.

Thread: the main one of a Python worker of Spark, which lives on from task to task. So its
clients do too, and with them their connections: a task finds one that is free, of the same
configuration and of this very process, or builds one.

Invariants: a client is one task's at a time. One whose task has failed is closed, and one
whose task was given up in between is kept, unless `keeps_interrupted` is false.
"""

import gc
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Generic, Protocol, TypeVar

from prokurist.errors import KafkaException

MOST_CLIENTS: Final = 4
"""Of different configurations, that a worker keeps."""
CLOSE: Final = 1.0
"""Seconds for closing one: it has nothing to lose."""

A_LARGE_BLOCK: Final = 31 << 20
"""Bytes; just below the largest of which glibc takes notice."""

Key = tuple[int, bytes]
"""The process, and a digest of the configuration, which may hold secrets."""


class Closable(Protocol):
    """A client that can be closed within some seconds."""

    def close(self, timeout: float, /) -> Any:
        """Close it."""


C = TypeVar("C", bound=Closable)


def keep_memory() -> None:
    """Have the C library keep the memory that a batch has freed, for the next one.

    glibc gives the end of its heap back when that is more than twice as large as the largest
    block that it has ever mapped and been given back. Without a large one that is a few MiB,
    and nearly each batch had its pages taken away and faulted in again: rows of 1 KiB came at
    seven eighths of their rate. The block costs nothing, as nothing is written to it; another C
    library does as it likes.
    """
    bytes(A_LARGE_BLOCK)


def spare_what_stays() -> None:
    """Freeze what is loaded, so that the garbage collector passes over it.

    Spark's workers collect after each task, and went through all that was imported each time:
    a tenth of what their main thread did. Done once, by the first task.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


class WorkerClients(ABC, Generic[C]):
    """The clients of this process, kept from task to task."""

    keeps_interrupted: bool = True
    """True if a client is kept whose task was given up."""

    def __init__(self) -> None:
        self._free: dict[Key, C] = {}

    @contextmanager
    def lent(self, config: Mapping[str, str]) -> Iterator[C]:
        """Lend a client to one task."""
        text = json.dumps(sorted(config.items()))
        key = os.getpid(), hashlib.sha256(text.encode()).digest()
        # Copies that a fork has made must not be closed here.
        self._free = {each: free for each, free in self._free.items() if each[0] == key[0]}
        client = self._free.pop(key, None)
        if client is None:
            keep_memory()
            spare_what_stays()
            client = self.build(config)
        try:
            yield client
        except KafkaException:
            client.close(CLOSE)
            raise
        except BaseException:
            if self.keeps_interrupted:
                self._keep(key, client)
            else:
                client.close(CLOSE)
            raise
        else:
            self._keep(key, client)

    @abstractmethod
    def build(self, config: Mapping[str, str]) -> C:
        """Build a client."""

    def _keep(self, key: Key, client: C) -> None:
        former = self._free.pop(key, None)
        self._free[key] = client
        if former is not None:
            former.close(CLOSE)
        while len(self._free) > MOST_CLIENTS:
            self._free.pop(next(iter(self._free))).close(CLOSE)

    def close(self) -> None:
        """Close the idle clients."""
        while self._free:
            self._free.popitem()[1].close(CLOSE)

    def __len__(self) -> int:
        """The number of idle clients."""
        return len(self._free)
