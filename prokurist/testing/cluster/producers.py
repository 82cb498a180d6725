"""A partition's state of idempotent and transactional producers: Kafka's ProducerStateManager.

Each producer has an entry: its epoch, and its last five batches of that epoch. A batch
that comes again and is among them is answered with the offset that it got the first time;
an older one is out of order. A producer without an entry, since it is new or the broker has
forgotten it, may begin with any sequence number: brokers have not answered
UNKNOWN_PRODUCER_ID to a Produce since KIP-360.

The marker that ends a transaction brings the producer's epoch, too: a later one of an older
epoch is refused. While the coordinator of a transaction is asked about a partition there is
a `Verification`: a batch must not begin behind the lowest sequence number seen since.

Entries outlive the deletion of records. A new leader has followed the old one, and so has
the same. After a truncation they are read from the log. A broker that starts again knows the
last batch of each producer alone.

Thread: the one that drives the model.
"""

from collections import deque
from collections.abc import Container, Iterable
from dataclasses import field
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.batches import RecordBatch

RETAINED: Final = 5
"""Number of batches retained for each producer."""
LAST_SEQUENCE: Final = 0x7FFFFFFF
"""The sequence number that 0 follows on."""
NO_SEQUENCE: Final = -1
"""The last sequence number of a producer without a batch in its epoch."""


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
STALE_EPOCH: Final = SequenceCheck(ErrorCode.invalid_producer_epoch)
OUTSIDE_OF_ITS_TRANSACTION: Final = SequenceCheck(ErrorCode.invalid_txn_state)


@dataclass(slots=True)
class ProducerState:
    """One producer's entry.

    Attributes:
        epoch: Its epoch.
        written_at: When it wrote last, by the model's time.
        last_timestamp: The latest timestamp of its last batch or marker.
        coordinator_epoch: The epoch of the coordinator that ended its last transaction;
            −1 for none.
        batches: Its last batches of that epoch, oldest first.
    """

    epoch: int
    written_at: float
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=RETAINED))

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record; −1 without a batch in its epoch."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The offset of its last record; −1 without a batch in its epoch."""
        return self.batches[-1].last_offset if self.batches else -1

    def enter(self, epoch: int) -> None:
        """Begin an epoch; the batches of the one before do not count any more."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


@dataclass(slots=True)
class Verification:
    """A producer's question to its transaction coordinator about the partition.

    Attributes:
        epoch: The producer's epoch.
        lowest: The lowest sequence number with which it was asked.
        adds: True if the question adds the partition to the transaction.
    """

    epoch: int
    lowest: int
    adds: bool

    def hear(self, epoch: int, sequence: int) -> None:
        """Take the numbers of another batch into account."""
        if epoch > self.epoch:
            self.epoch, self.lowest = epoch, sequence
        elif epoch == self.epoch:
            self.lowest = min(self.lowest, sequence)


class ProducerStates:
    """The entries of all producers, for one partition."""

    __slots__ = ("_entries", "_verifications")

    def __init__(self) -> None:
        self._entries: dict[int, ProducerState] = {}
        self._verifications: dict[int, Verification] = {}

    def __repr__(self) -> str:
        return f"ProducerStates({len(self._entries)} producers)"

    def entries(self) -> dict[int, ProducerState]:
        """The entries by producer id."""
        return dict(self._entries)

    def epoch_of(self, producer_id: int) -> int | None:
        """The epoch of a producer; None for an unknown one."""
        entry = self._entries.get(producer_id)
        return None if entry is None else entry.epoch

    def verify(self, producer_id: int, epoch: int, sequence: int, *, adds: bool) -> None:
        """Note that the coordinator of a transaction is asked about a batch."""
        begun = self._verifications.setdefault(producer_id, Verification(epoch, sequence, adds))
        begun.hear(epoch, sequence)

    def check(self, batch: RecordBatch, *, in_transaction: bool = False) -> SequenceCheck:
        """Check a batch's epoch and sequence numbers against its producer's last batches.

        Args:
            batch: The batch.
            in_transaction: True if the producer has a transaction open in the partition.
        """
        if not batch.has_producer:
            return APPEND
        entry = self._entries.get(batch.producer_id)
        if entry is not None:
            if batch.producer_epoch < entry.epoch:
                return STALE_EPOCH
            if batch.producer_epoch == entry.epoch:
                span = (batch.base_sequence, batch.last_sequence)
                for written in entry.batches:
                    if (written.first_sequence, written.last_sequence) == span:
                        return SequenceCheck(ErrorCode.none, written)
        if not self._in_sequence(batch, entry):
            return OUT_OF_ORDER
        if in_transaction and not batch.is_transactional:
            return OUTSIDE_OF_ITS_TRANSACTION
        return APPEND

    def _in_sequence(self, batch: RecordBatch, entry: ProducerState | None) -> bool:
        begun = self._verifications.get(batch.producer_id) if self._verifications else None
        if begun is not None:
            without_batches = entry is None or not entry.batches
            if begun.adds and batch.base_sequence and without_batches:
                return False
            if batch.base_sequence > begun.lowest:
                return False
        if entry is None:
            return True
        if batch.producer_epoch > entry.epoch:
            return batch.base_sequence == 0
        last = entry.last_sequence
        return batch.base_sequence == (0 if last == LAST_SEQUENCE else last + 1)

    def update(self, batch: RecordBatch, now: float) -> None:
        """Note a batch that was appended."""
        if batch.is_transactional:
            self._verifications.pop(batch.producer_id, None)
        # Batches that a test puts into a log have a producer and no sequence numbers.
        if not batch.has_producer or batch.base_sequence < 0:
            return
        entry = self._entry(batch, now)
        entry.batches.append(
            BatchMetadata(
                batch.base_sequence,
                batch.last_sequence,
                batch.base_offset,
                batch.last_offset,
                batch.max_timestamp,
            )
        )

    def end(self, marker: RecordBatch, now: float, coordinator_epoch: int) -> None:
        """Note a marker that was appended.

        Args:
            marker: The marker.
            now: The time.
            coordinator_epoch: The epoch of the coordinator that wrote it.
        """
        begun = self._verifications.get(marker.producer_id)
        # The next transaction may ask already, in the epoch that the marker brings.
        if begun is not None and not (begun.adds and begun.epoch == marker.producer_epoch):
            del self._verifications[marker.producer_id]
        self._entry(marker, now).coordinator_epoch = coordinator_epoch

    def enter(self, producer_id: int, epoch: int, now: float) -> ProducerState:
        """The entry of a producer that writes now, in its epoch."""
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerState(epoch, now)
        entry.enter(epoch)
        entry.written_at = now
        return entry

    def _entry(self, batch: RecordBatch, now: float) -> ProducerState:
        entry = self.enter(batch.producer_id, batch.producer_epoch, now)
        entry.last_timestamp = batch.max_timestamp
        return entry

    def rebuild(self, batches: Iterable[RecordBatch], now: float) -> None:
        """Read the entries from a log; producers without a remaining batch are forgotten."""
        before, self._entries = self._entries, {}
        for batch in batches:
            known = before.get(batch.producer_id)
            written_at = now if known is None else known.written_at
            if batch.is_control:
                self.end(batch, written_at, -1 if known is None else known.coordinator_epoch)
            else:
                self.update(batch, written_at)

    def restart(self) -> None:
        """Keep the last batch of each producer, the content of a snapshot."""
        for entry in self._entries.values():
            while len(entry.batches) > 1:
                entry.batches.popleft()

    def expire(self, before: float, kept: Container[int] = ()) -> None:
        """Forget the producers that wrote last before a moment, or then.

        Args:
            before: The moment.
            kept: The producers to keep: those with an open transaction.
        """
        gone = [
            each
            for each, entry in self._entries.items()
            if entry.written_at <= before and each not in kept
        ]
        for producer_id in gone:
            del self._entries[producer_id]

    def forget(self, producer_id: int | None = None) -> None:
        """Forget a producer, or all."""
        if producer_id is None:
            self._entries.clear()
        else:
            self._entries.pop(producer_id, None)
