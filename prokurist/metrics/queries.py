"""Readings of Spark queries for the catalogue of metrics, and the queries that are read.

The seam between `prokurist.spark`, which knows the queries, and the catalogue, which knows
nothing of Spark: `watch` adds a callable that makes readings of a query, for as long as the
query runs.

Thread: any; `_lock` is held for a few assignments, and a reading is made outside of it.
Invariants: so many queries are read at most; of those that are added when there are as many,
the log tells once.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from prokurist.events.counter_types import MOST_LABELS, Histogram
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition

LOG: Final = logging.getLogger("prokurist.metrics")


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """One partition that a query reads.

    Attributes:
        partition: The partition.
        committed: The group's committed offset; None while unknown, or without one.
        end: Where the log ended when it was last looked at; None before.
        lag: Offsets between the end of the query's last batch and that.
        lag_seconds: The age of the first record that is not done; 0 where all are.
    """

    partition: TopicPartition
    committed: int | None
    end: int | None
    lag: int | None
    lag_seconds: float | None


@dataclass(frozen=True, slots=True)
class QueryReading:
    """One Spark query at one moment.

    Attributes:
        query: Its name, or else its id.
        group: The group that is told of its progress.
        partitions: Those that have series of their own.
        unlisted: How many have none.
        lag: Of all partitions together; None while none is known.
        lag_seconds: The largest of all.
        batch: The number of the last batch that is done.
        batch_ended: When that was, in seconds since 1970.
        batches: How long the batches took.
        rows: How many rows they had.
        commits: How many commits ended how.
        commit_seconds: How long they took.
        samples_failed: How often the ends of the logs could not be looked up.
    """

    query: str
    group: str
    partitions: Sequence[PartitionReading]
    unlisted: int
    lag: int | None
    lag_seconds: float | None
    batch: int | None
    batch_ended: float | None
    batches: Histogram
    rows: int
    commits: Mapping[str, int]
    commit_seconds: Histogram
    samples_failed: int


class Readable(Protocol):
    """Interface of one query, for readings."""

    def reading(self, most_partitions: int) -> QueryReading:
        """Read the query's present state.

        Args:
            most_partitions: How many partitions are listed at most.
        """
        ...


class OpenQueries:
    """The watched queries of this process that run.

    Args:
        most: How many are read.
    """

    def __init__(self, most: int = MOST_LABELS) -> None:
        self._most = most
        self._lock = threading.RLock()
        self._queries: tuple[Readable, ...] = ()
        self._warned = False

    def add(self, query: Readable) -> None:
        """Add a query that has started."""
        with self._lock:
            self._queries = (*self._queries, query)
            warn = len(self._queries) > self._most and not self._warned
            self._warned = self._warned or warn
        if warn:
            LOG.warning(
                "more than %d queries are watched: those that came later have no series until "
                "others end",
                self._most,
            )

    def remove(self, query: Readable) -> None:
        """Remove a query that has ended."""
        with self._lock:
            self._queries = tuple(each for each in self._queries if each is not query)

    def read(self, most_partitions: int) -> list[QueryReading]:
        """Read every running query; of several with one name the latest."""
        readings = (each.reading(most_partitions) for each in self._queries[: self._most])
        return list({(each.query, each.group): each for each in readings}.values())

    def __repr__(self) -> str:
        return f"OpenQueries({len(self._queries)})"


QUERIES: Final = OpenQueries()
"""Those of this process."""
