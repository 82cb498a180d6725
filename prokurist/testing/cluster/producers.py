"""A partition's state of idempotent producers, as of Kafka's ProducerStateManager.

Each producer has an entry: its epoch, and its last five batches of that epoch. A batch
that comes again and is among them is answered with the offset that it got the first time;
an older one is out of order. A producer without an entry, since it is new or the broker has
forgotten it, may begin with any sequence number: brokers have not answered
UNKNOWN_PRODUCER_ID to a Produce since KIP-360.

Entries outlive the deletion of records. A new leader has followed the old one, and so has
the same. After a truncation they are read from the log. A broker that starts again knows the
last batch of each producer alone.

Thread: the one that drives the model.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.batches import RecordBatch

RETAINED: Final = 5
"""Number of batches retained for each producer."""
LAST_SEQUENCE: Final = 0x7FFFFFFF
"""The sequence number that 0 follows on."""


class BatchMetadata(NamedTuple):
    """A batch that was appended.

    Attributes:
        first_sequence: The sequence number of its first record.
        last_sequence: That of its last record.
        base_offset: The offset that it got.
        last_offset: The offset of its last record.
        timestamp: Its latest timestamp, in milliseconds since the epoch.
    """

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class SequenceCheck(NamedTuple):
    """Result of the sequence check of a batch.

    Attributes:
        code: The error to answer with; `none` for a batch to append or to answer.
        duplicate: The batch that was appended before, if this one is a repetition of it.
    """

    code: ErrorCode
    duplicate: BatchMetadata | None = None


APPEND: Final = SequenceCheck(ErrorCode.none)
OUT_OF_ORDER: Final = SequenceCheck(ErrorCode.out_of_order_sequence_number)


@dataclass(slots=True)
class ProducerState:
    """One producer's entry.

    Attributes:
        epoch: Its epoch.
        written_at: When it wrote last, by the model's time.
        batches: Its last batches of that epoch, oldest first.
    """

    epoch: int
    written_at: float
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=RETAINED))

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record."""
        return self.batches[-1].last_sequence


class ProducerStates:
    """The entries of all producers, for one partition."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, ProducerState] = {}

    def __repr__(self) -> str:
        return f"ProducerStates({len(self._entries)} producers)"

    def entries(self) -> dict[int, ProducerState]:
        """The entries by producer id."""
        return dict(self._entries)

    def check(self, batch: RecordBatch) -> SequenceCheck:
        """Check a batch's epoch and sequence numbers against its producer's last batches."""
        entry = self._entries.get(batch.producer_id)
        if not batch.has_producer or entry is None:
            return APPEND
        if batch.producer_epoch < entry.epoch:
            return SequenceCheck(ErrorCode.invalid_producer_epoch)
        if batch.producer_epoch > entry.epoch:
            return APPEND if batch.base_sequence == 0 else OUT_OF_ORDER
        span = (batch.base_sequence, batch.last_sequence)
        for written in entry.batches:
            if (written.first_sequence, written.last_sequence) == span:
                return SequenceCheck(ErrorCode.none, written)
        last = entry.last_sequence
        expected = 0 if last == LAST_SEQUENCE else last + 1
        return APPEND if batch.base_sequence == expected else OUT_OF_ORDER

    def update(self, batch: RecordBatch, now: float) -> None:
        """Note a batch that was appended."""
        # Batches that a test puts into a log have a producer and no sequence numbers.
        if not batch.has_producer or batch.base_sequence < 0:
            return
        entry = self._entries.get(batch.producer_id)
        if entry is None or entry.epoch != batch.producer_epoch:
            entry = self._entries[batch.producer_id] = ProducerState(batch.producer_epoch, now)
        entry.written_at = now
        entry.batches.append(
            BatchMetadata(
                batch.base_sequence,
                batch.last_sequence,
                batch.base_offset,
                batch.last_offset,
                batch.max_timestamp,
            )
        )

    def rebuild(self, batches: Iterable[RecordBatch], now: float) -> None:
        """Read the entries from a log; producers without a remaining batch are forgotten."""
        before, self._entries = self._entries, {}
        for batch in batches:
            known = before.get(batch.producer_id)
            self.update(batch, now if known is None else known.written_at)

    def restart(self) -> None:
        """Keep the last batch of each producer, the content of a snapshot."""
        for entry in self._entries.values():
            last = entry.batches[-1]
            entry.batches.clear()
            entry.batches.append(last)

    def expire(self, before: float) -> None:
        """Forget the producers that wrote last before a moment, or then."""
        gone = [each for each, entry in self._entries.items() if entry.written_at <= before]
        for producer_id in gone:
            del self._entries[producer_id]

    def forget(self, producer_id: int | None = None) -> None:
        """Forget a producer, or all."""
        if producer_id is None:
            self._entries.clear()
        else:
            self._entries.pop(producer_id, None)
