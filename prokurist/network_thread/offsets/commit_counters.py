"""Counters of commits, and the committed offsets as far as known.

Thread: the network thread writes, any reads; see `events.counter_types`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prokurist.errors import KafkaException
from prokurist.events.counter_types import Family
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.types import OffsetAndMetadata, TopicPartition


class CommitResults:
    """The commits of one kind.

    Attributes:
        done: How many the coordinator has taken.
        failed: How many it has refused, or could not be asked.
        timed_out: How many had not ended when their time was over.
    """

    __slots__ = ("done", "failed", "timed_out")

    def __init__(self) -> None:
        self.done: int = 0
        self.failed: int = 0
        self.timed_out: int = 0


MOST_OFFSETS: Final = 100_000
"""Most partitions with known committed offsets; one more clears them all."""


class CommitCounters:
    """Counters of commits, and committed offsets as far as this client knows.

    Attributes:
        kinds: By `sync`, `async` and `auto`.
        done_at: When the coordinator took the last one; None before the first.
        unsettled: Looked-up partitions with offset commits in an open transaction.
    """

    __slots__ = ("_offsets", "done_at", "kinds", "unsettled")

    def __init__(self) -> None:
        self.kinds: Family[CommitResults] = Family(CommitResults)
        self.done_at: float | None = None
        self.unsettled: frozenset[TopicPartition] = frozenset()
        self._offsets: dict[TopicPartition, int] = {}

    def knows(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        """The coordinator has taken or told these; None for a partition without a commit."""
        if len(self._offsets) > MOST_OFFSETS:
            self._offsets = {}
        for tp, committed in offsets.items():
            if committed is None:
                self._offsets.pop(tp, None)
            else:
                self._offsets[tp] = committed.offset

    def offset(self, partition: TopicPartition) -> int | None:
        """Return the committed offset of a partition; None if unknown."""
        return self._offsets.get(partition)

    @contextmanager
    def counted(self, kind: str, now: Callable[[], float]) -> Iterator[None]:
        """Count a commit by its result.

        Args:
            kind: `sync`, `async` or `auto`.
            now: The clock.
        """
        results = self.kinds.of(kind)
        try:
            yield
        except Withdrawn:
            results.timed_out += 1
            raise
        except KafkaException:
            results.failed += 1
            raise
        results.done += 1
        self.done_at = now()
