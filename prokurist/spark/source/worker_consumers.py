"""The clients of one of Spark's processes.

Thread: the main one of a Python worker of Spark, which lives on from task to task. So its
clients do too, and with them their connections: a task finds one that is free, of the same
configuration and of this very process, or builds one.

Invariants: a client is one task's at a time. One whose task has failed is closed, and one
whose task was given up in between is kept.
"""

import gc
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import ConfigWarning, KafkaException

MOST_CLIENTS: Final = 4
"""Of different configurations, that a worker keeps."""
CLOSE: Final = 1.0
"""Seconds for closing one: it has nothing to lose."""

A_LARGE_BLOCK: Final = 31 << 20
"""Bytes; just below the largest of which glibc takes notice."""

Key = tuple[int, bytes]
"""The process, and a digest of the configuration, which may hold secrets."""


def made(config: Mapping[str, str], **keys: Any) -> KafkaConsumer:
    """Build a client, without warnings about its configuration.

    The driver gives them once, when it reads the options; clients are built in many processes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return KafkaConsumer(config, **keys)


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


class WorkerConsumers:
    """The clients of this process, kept from task to task."""

    def __init__(self) -> None:
        self._free: dict[Key, KafkaConsumer] = {}

    @contextmanager
    def lent(self, config: Mapping[str, str]) -> Iterator[KafkaConsumer]:
        """Lend a client to one task."""
        text = json.dumps(sorted(config.items()))
        key = os.getpid(), hashlib.sha256(text.encode()).digest()
        # Copies that a fork has made must not be closed here.
        self._free = {each: free for each, free in self._free.items() if each[0] == key[0]}
        consumer = self._free.pop(key, None) or self._built(config)
        try:
            yield consumer
        except KafkaException:
            consumer.close(CLOSE)
            raise
        except BaseException:
            self._keep(key, consumer)
            raise
        else:
            self._keep(key, consumer)

    def _built(self, config: Mapping[str, str]) -> KafkaConsumer:
        keep_memory()
        spare_what_stays()
        return made(config, auto_offset_reset="none")

    def _keep(self, key: Key, consumer: KafkaConsumer) -> None:
        former = self._free.pop(key, None)
        self._free[key] = consumer
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


CLIENTS: Final = WorkerConsumers()
