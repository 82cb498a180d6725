"""Records of a share group, with the application's decisions on them.

Thread: any; a mark is a byte in a table that all threads share.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from prokurist.events.lent.batch import LentBatch
from prokurist.events.lent.lent import Lent
from prokurist.records.consumer_records import ConsumerRecord, Run
from prokurist.records.why_empty import WhyEmpty
from prokurist.types import Acknowledge, TimestampType, TopicPartition


class ShareRecord:
    """One record of a share group, lent until its lock ends.

    As a context it is accepted at the end of the block, and released where the block is left by
    an exception, unless it has a mark already.
    """

    __slots__ = ("_batch", "_index", "_lent", "record")

    def __init__(self, record: ConsumerRecord, batch: LentBatch, lent: Lent) -> None:
        self.record: ConsumerRecord = record
        """The same as a `ConsumerRecord`, without its lock."""
        self._batch = batch
        self._index = record.offset - batch.first
        self._lent = lent

    # --- contents ----------------------------------------------------------------------

    @property
    def topic(self) -> str:
        """The topic that the record was read from."""
        return self.record.topic

    @property
    def partition(self) -> int:
        """The number of the record's partition."""
        return self.record.partition

    @property
    def offset(self) -> int:
        """The record's offset in its partition."""
        return self.record.offset

    @property
    def key(self) -> Any:
        """Its key, as bytes or None, or what a deserializer made of them."""
        return self.record.key

    @property
    def value(self) -> Any:
        """Its value, as bytes or None, or what a deserializer made of them."""
        return self.record.value

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """Its headers in order, a new list each time."""
        return self.record.headers

    @property
    def timestamp(self) -> int:
        """In milliseconds since the epoch; −1 where it has none."""
        return self.record.timestamp

    @property
    def timestamp_type(self) -> TimestampType:
        """Return who set the timestamp, the producer or the broker."""
        return self.record.timestamp_type

    @property
    def datetime(self) -> datetime | None:
        """Its timestamp in UTC; None where it has none, or none a datetime can hold."""
        return self.record.datetime

    # --- its lock ----------------------------------------------------------------------

    @property
    def delivery_count(self) -> int:
        """Number of its deliveries to any member, this one included; 1 at first."""
        return self._batch.delivery_count

    @property
    def locked_until(self) -> float:
        """When its lock ends at the earliest, by `time.monotonic`."""
        return self._batch.until(self._index)

    @property
    def is_held(self) -> bool:
        """True while it is locked for this consumer, and not acknowledged."""
        return self._lent.is_held(self._batch, self._index)

    @property
    def mark(self) -> Acknowledge | None:
        """The decision on it; None without one."""
        return self._lent.mark_of(self._batch, self._index)

    # --- decisions ---------------------------------------------------------------------

    def accept(self) -> None:
        """It was processed. Sent with the next poll or commit; from any thread.

        Raises:
            IllegalStateException: It is acknowledged already, or on its way.
        """
        self._lent.mark(self._batch, self._index, Acknowledge.ACCEPT)

    def release(self) -> None:
        """It was not processed: the group delivers it again, up to its delivery limit.

        Raises:
            IllegalStateException: It is acknowledged already, or on its way.
        """
        self._lent.mark(self._batch, self._index, Acknowledge.RELEASE)

    def reject(self) -> None:
        """It cannot be processed: the group does not deliver it again.

        Raises:
            IllegalStateException: It is acknowledged already, or on its way.
        """
        self._lent.mark(self._batch, self._index, Acknowledge.REJECT)

    def renew(self) -> None:
        """It is being processed: its lock begins again, once that is sent (Kafka 4.2).

        It stays in your hands: later polls do not accept it, and return others.

        Raises:
            IllegalStateException: It is acknowledged already, or on its way.
        """
        self._lent.mark(self._batch, self._index, Acknowledge.RENEW)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.mark in (None, Acknowledge.RENEW):
            self._lent.mark(
                self._batch,
                self._index,
                Acknowledge.ACCEPT if error is None else Acknowledge.RELEASE,
            )

    def __repr__(self) -> str:
        mark = self.mark
        return (
            f"ShareRecord({self.topic}-{self.partition} @ {self.offset}, "
            f"delivery {self.delivery_count}, {'unmarked' if mark is None else mark.name})"
        )


class ShareRecords:
    """Records of one poll, partition by partition; iterating makes them one by one.

    Within a partition they are not in order: a group delivers again what came back.
    """

    __slots__ = ("_lent", "_runs", "count", "why_empty")

    def __init__(
        self,
        runs: Sequence[tuple[LentBatch, Run]],
        lent: Lent,
        why_empty: WhyEmpty | None = None,
    ) -> None:
        self._runs = tuple(runs)
        self._lent = lent
        self.count: int = sum(len(run) for _, run in self._runs)
        """Number of records."""
        self.why_empty: WhyEmpty | None = why_empty
        """Reason for a poll without records; None where there are some."""

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[ShareRecord]:
        for batch, run in self._runs:
            for record in run:
                yield ShareRecord(record, batch, self._lent)

    def partitions(self) -> list[TopicPartition]:
        """The partitions that there are records of."""
        return list(dict.fromkeys(batch.partition for batch, _ in self._runs))

    def records(self, partition: TopicPartition) -> list[ShareRecord]:
        """The records of one partition; an empty list if there are none."""
        return [
            ShareRecord(record, batch, self._lent)
            for batch, run in self._runs
            if batch.partition == partition
            for record in run
        ]

    def accept(self) -> None:
        """Accept all of them that have no mark."""
        self._mark(Acknowledge.ACCEPT)

    def release(self) -> None:
        """Release all of them that have no mark."""
        self._mark(Acknowledge.RELEASE)

    def reject(self) -> None:
        """Reject all of them that have no mark."""
        self._mark(Acknowledge.REJECT)

    def _mark(self, mark: Acknowledge) -> None:
        self._lent.mark_open(dict.fromkeys(batch for batch, _ in self._runs), mark)

    def __repr__(self) -> str:
        return f"ShareRecords({self.count} records)"


def batch_of(record: ShareRecord) -> LentBatch:
    """The delivery that a record belongs to."""
    return record._batch  # noqa: SLF001 - of this very module
