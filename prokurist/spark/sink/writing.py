"""Rows into a producer: each batch whole, no object for a row, and the first error by its row.

Thread: the main one of a Python worker of Spark, or the driver's.

Invariants: at most `MOST_HELD` calls are out of sight; each row is acknowledged when `finish`
returns. All waits are bounded by the producer's own keys, which the options set.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from prokurist.errors import KafkaException, TransactionAbortedException
from prokurist.lazy_dataclasses import dataclass
from prokurist.producer.producer import KafkaProducer
from prokurist.spark.errors import SinkRowException
from prokurist.spark.sink.columns import RoutedRows, SinkColumns, parts_of
from prokurist.types import TopicPartition, counted

if TYPE_CHECKING:
    from prokurist.events.accumulator.deliveries import Deliveries

MOST_HELD: Final = 64
"""Calls of `send_batch` whose outcome is looked at later."""
WRITTEN_AGAIN: Final = "another attempt at the task writes them again"
"""Consequence of a failure for rows that are written, at least once."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One call of `send_batch`.

    Attributes:
        part: The rows that it was given a part of.
        start: The first of them, by its place in the part.
        row: The place of the part's batch in the task.
        deliveries: Their outcomes.
    """

    part: RoutedRows
    start: int
    row: int
    deliveries: "Deliveries"


@dataclass(slots=True)
class WrittenRange:
    """Offsets of rows in one partition.

    Attributes:
        first: The lowest.
        last: The highest.
        rows: How many rows are acknowledged; others may have written between.
    """

    first: int
    last: int
    rows: int


@dataclass(slots=True)
class RowWriter:
    """Writes batches of rows.

    Attributes:
        producer: Where they go.
        columns: The columns of the rows.
        afterwards: The fate of written rows after a failure.
        rows: How many rows were given.
        acknowledged: How many of them are acknowledged.
        ranges: Their offsets.
    """

    producer: KafkaProducer
    columns: SinkColumns
    afterwards: str = WRITTEN_AGAIN
    rows: int = 0
    acknowledged: int = 0
    ranges: dict[TopicPartition, WrittenRange] = field(default_factory=dict)
    _held: "deque[Sent]" = field(default_factory=deque)

    def write(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch.

        Raises:
            KafkaException: A row could not be written; a note names it.
        """
        row = self.rows
        self.rows += batch.num_rows
        for part in parts_of(batch, self.columns):
            for sent in self._sent(part, row):
                self._held.append(sent)
                while len(self._held) > MOST_HELD:
                    self._look(self._held.popleft())

    def finish(self) -> None:
        """Wait until all rows are acknowledged.

        Raises:
            KafkaException: One is not; a note names it.
        """
        while self._held:
            self._look(self._held.popleft())

    def _sent(self, part: RoutedRows, row: int) -> Iterator[Sent]:
        """Send the rows of a part, in as many calls as it takes."""
        if part.topic is None:
            raise SinkRowException(
                f"row {row + part.place(0)} has no topic: its column topic is "
                f"null. Filter such rows out, or give the option topic, which is for all rows"
            )
        if part.partition is not None and part.partition < 0:
            raise SinkRowException(
                f"row {row + part.place(0)} has the partition {part.partition}: a "
                f"partition is not negative; null has one chosen"
            )
        start = 0
        while start < part.rows.num_rows:
            deliveries = self.producer.send_batch(
                part.topic,
                part.rows.slice(start),
                partition=part.partition,
                headers=self.columns.headers,
                timestamp=self.columns.timestamp,
            )
            sent = Sent(part, start, row, deliveries)
            yield sent
            if deliveries.error is not None:
                # `max.block.ms` is over; what was sent before may have failed first.
                self.finish()
            start += deliveries.count

    def _look(self, sent: Sent) -> None:
        """Wait for one call's rows."""
        failed = sent.deliveries.exception()
        self._count(sent.deliveries)
        if failed is not None:
            raise self._first_failure(sent)

    def _count(self, deliveries: "Deliveries") -> None:
        for topic, partition, offset, records in deliveries.offsets():
            self.acknowledged += records
            tp = TopicPartition(topic, partition)
            last = offset + records - 1
            known = self.ranges.get(tp)
            if known is None:
                self.ranges[tp] = WrittenRange(offset, last, records)
                continue
            known.first = min(known.first, offset)
            known.last = max(known.last, last)
            known.rows += records

    def _first_failure(self, sent: Sent) -> KafkaException:
        """Return the error of the first row that has failed, with its row in a note.

        Rows that fail since another has failed their transaction are not the first.
        """
        for each in self._held:
            # Waited for no more.
            self._count(each.deliveries)
        found = [
            (each, position, error)
            for each in (sent, *self._held)
            for position, error in each.deliveries.failed()
        ]
        self._held.clear()
        causes = [
            each for each in found if not isinstance(each[2], TransactionAbortedException)
        ]
        cause, position, error = (causes or found)[0]
        part, place = cause.part, cause.part.place(cause.start + position)
        partition = part.partition
        if position < cause.deliveries.count:
            handle = next(islice(cause.deliveries, position, None))
            error = handle.exception() or error
            partition = handle.partition if handle.partition >= 0 else partition
        where = part.topic if partition is None else f"{part.topic}-{partition}"
        error.add_note(
            f"Row {cause.row + place}, for {where}. {self.acknowledged} of the "
            f"{counted(self.rows, 'row')} so far {'is' if self.acknowledged == 1 else 'are'} "
            f"written; {self.afterwards}."
        )
        return error
