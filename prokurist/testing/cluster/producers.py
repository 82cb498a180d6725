"""The numbers of idempotent producers: what is a repetition and what is a gap.

A partition keeps the last five batches of each producer, as brokers do: one of them
that comes again is answered with the offset it got the first time. An older one is
out of order to it like any other.

Thread: the one that drives the model.
"""

from collections import deque
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.batches import NO_PRODUCER, RecordBatch

REMEMBERED: Final = 5
LAST_SEQUENCE: Final = 0x7FFFFFFF


class Written(NamedTuple):
    """A batch that was appended."""

    first: int
    last: int
    base_offset: int


class SequenceCheck(NamedTuple):
    """What to do with a batch: append it, or answer without.

    Attributes:
        code: The error to answer with; `none` for a batch that is welcome.
        base_offset: Where a repeated batch went the first time.
    """

    code: ErrorCode
    base_offset: int | None = None


WELCOME: Final = SequenceCheck(ErrorCode.none)


class ProducerNumbers:
    """Epoch and recent sequences of each producer, for one partition."""

    __slots__ = ("_epochs", "_recent")

    def __init__(self) -> None:
        self._epochs: dict[int, int] = {}
        self._recent: dict[int, deque[Written]] = {}

    def __repr__(self) -> str:
        return f"ProducerNumbers({len(self._epochs)} producers)"

    def judge(self, batch: RecordBatch) -> SequenceCheck:
        """Whether a batch follows on what its producer wrote before."""
        if batch.producer_id == NO_PRODUCER:
            return WELCOME
        epoch = self._epochs.get(batch.producer_id)
        recent = self._recent.get(batch.producer_id)
        if epoch is None or not recent:
            # Nothing known, as after retention: a broker takes any beginning.
            return WELCOME
        if batch.producer_epoch < epoch:
            return SequenceCheck(ErrorCode.invalid_producer_epoch)
        if batch.producer_epoch > epoch:
            fresh = batch.base_sequence == 0
            return WELCOME if fresh else SequenceCheck(ErrorCode.out_of_order_sequence_number)
        for written in recent:
            if (written.first, written.last) == (batch.base_sequence, batch.last_sequence):
                return SequenceCheck(ErrorCode.none, written.base_offset)
        expected = 0 if recent[-1].last == LAST_SEQUENCE else recent[-1].last + 1
        if batch.base_sequence == expected:
            return WELCOME
        return SequenceCheck(ErrorCode.out_of_order_sequence_number)

    def truncate(self, end: int) -> None:
        """Forget the batches that a log which was cut back has no longer."""
        for producer_id, recent in list(self._recent.items()):
            kept = [each for each in recent if each.base_offset < end]
            self._recent[producer_id] = deque(kept, REMEMBERED)

    def remember(self, batch: RecordBatch) -> None:
        """Note a batch that was appended."""
        if batch.producer_id == NO_PRODUCER:
            return
        if self._epochs.get(batch.producer_id) != batch.producer_epoch:
            self._epochs[batch.producer_id] = batch.producer_epoch
            self._recent[batch.producer_id] = deque(maxlen=REMEMBERED)
        written = Written(batch.base_sequence, batch.last_sequence, batch.base_offset)
        self._recent[batch.producer_id].append(written)
