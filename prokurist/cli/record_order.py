"""Output order of records from several partitions.

`AsTheyCome` writes each batch as it was read; `Merge` (`--merge`) writes by timestamp, and
`Newest` (`-n`) keeps the newest of all partitions.

Thread: the main one.
Invariants: within a partition the order is that of the log. The number of buffered records is
bounded.
"""

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol

from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition

MOST_HELD: Final = 2000
"""Records of one partition that may wait for those of another; then it is paused."""


class RecordOrder(Protocol):
    """Takes records as they are read, and gives them out as they are to be written."""

    def take(self, records: Iterable[ConsumerRecord]) -> None:
        """Take records that were read."""
        ...

    def ready(self, unfinished: Collection[TopicPartition]) -> Sequence[ConsumerRecord]:
        """The records that can be written, if more may come of these partitions."""
        ...

    def full(self) -> Collection[TopicPartition]:
        """Partitions with enough buffered records for now."""
        ...


class AsTheyCome:
    """Holds nothing back."""

    def __init__(self) -> None:
        self._taken: list[ConsumerRecord] = []

    def take(self, records: Iterable[ConsumerRecord]) -> None:
        """See `RecordOrder.take`."""
        self._taken.extend(records)

    def ready(self, _unfinished: Collection[TopicPartition]) -> Sequence[ConsumerRecord]:
        """See `RecordOrder.ready`."""
        taken, self._taken = self._taken, []
        return taken

    def full(self) -> Collection[TopicPartition]:
        """See `RecordOrder.full`."""
        return ()


class Merge:
    """Gives out the record with the smallest timestamp, once each partition has one or none."""

    def __init__(self) -> None:
        self._held: dict[TopicPartition, deque[ConsumerRecord]] = {}

    def take(self, records: Iterable[ConsumerRecord]) -> None:
        """See `RecordOrder.take`."""
        for record in records:
            self._held.setdefault(partition_of(record), deque()).append(record)

    def ready(self, unfinished: Collection[TopicPartition]) -> Sequence[ConsumerRecord]:
        """See `RecordOrder.ready`."""
        return list(self._smallest(unfinished))

    def _smallest(self, unfinished: Collection[TopicPartition]) -> Iterator[ConsumerRecord]:
        if any(not self._held.get(tp) for tp in unfinished):
            return
        heads = [(held[0].timestamp, tp) for tp, held in self._held.items() if held]
        heapq.heapify(heads)
        while heads:
            _, tp = heads[0]
            held = self._held[tp]
            yield held.popleft()
            if held:
                heapq.heapreplace(heads, (held[0].timestamp, tp))
                continue
            if tp in unfinished:
                return
            heapq.heappop(heads)

    def full(self) -> Collection[TopicPartition]:
        """See `RecordOrder.full`."""
        return {tp for tp, held in self._held.items() if len(held) >= MOST_HELD}


class Newest:
    """Gives out the newest records of all partitions, when there are no more.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: list[ConsumerRecord] = []

    def take(self, records: Iterable[ConsumerRecord]) -> None:
        """See `RecordOrder.take`."""
        self._kept.extend(records)
        if len(self._kept) > 2 * self._count + MOST_HELD:
            self._prune()

    def ready(self, unfinished: Collection[TopicPartition]) -> Sequence[ConsumerRecord]:
        """See `RecordOrder.ready`."""
        if unfinished:
            return ()
        self._prune()
        kept, self._kept = self._kept, []
        return kept

    def full(self) -> Collection[TopicPartition]:
        """See `RecordOrder.full`."""
        return ()

    def _prune(self) -> None:
        # Of equal timestamps the order is the log's, as that of the sort is stable.
        self._kept.sort(key=lambda record: record.timestamp)
        del self._kept[: -self._count]


def partition_of(record: ConsumerRecord) -> TopicPartition:
    """Return a record's partition."""
    return TopicPartition(record.topic, record.partition)
