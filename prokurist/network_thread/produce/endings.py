"""Ends of batches: delivered or failed, with callbacks, memory, and a line in the log.

Thread: the network thread alone.

Invariants: a batch ends once. Its memory goes back when it has ended and no frame shows it: one
that fails while it is on the wire keeps it until its answer has come or its connection is gone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from prokurist.errors import KafkaException, TransactionAbortedException, Wait
from prokurist.errors.security import name_credentials
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.record_metadata import Outcome
from prokurist.events.producer_log_events import (
    CALLBACK_RAISED,
    CALLBACK_SLOW,
    DELIVERY_FAILED,
    PRODUCER_EPOCH_BUMPED,
    SEQUENCE_RESTARTED,
)
from prokurist.events.trace import Trace
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.produce.attempts import may_have_happened, out_of_time
from prokurist.network_thread.produce.counters import ProduceCounters
from prokurist.network_thread.produce.partition_sending import PartitionSending

SLOW: Final = 0.05
"""Seconds that the callbacks of one batch may take before that is worth a line."""


class Endings:
    """Ends batches.

    Args:
        accumulator: What is not delivered yet.
        timer: The Timer.
        trace: The client's.
        clock: The clock as it is, for how long callbacks take.
        credentials: What the brokers know the client by, for errors of authorization.

    Attributes:
        counters: What is counted of batches.
        last_errors: The last error that an attempt of a batch met.
        failed: Emits each batch that has failed, with its error.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        timer: Timer,
        trace: Trace,
        clock: Callable[[], float],
        credentials: str | None = None,
    ) -> None:
        self.counters: ProduceCounters = ProduceCounters()
        self.last_errors: dict[Batch, KafkaException] = accumulator.last_errors
        self.failed: Signal[Batch, KafkaException] = Signal()
        self._accumulator = accumulator
        self._timer = timer
        self._trace = trace
        self._clock = clock
        self._credentials = credentials

    def deliver(
        self, batch: Batch, sending: PartitionSending, base_offset: int, append_time: int
    ) -> None:
        """A broker has a batch."""
        sending.left(batch)
        if batch.end(Outcome(base_offset, append_time)):
            self.counters.delivered(batch, self._timer.now)
            self._settle(batch)
        self._free(batch)

    def fail(
        self,
        batch: Batch,
        sending: PartitionSending | None,
        error: KafkaException,
        record_errors: Mapping[int, KafkaException] | None = None,
    ) -> None:
        """A batch will not be delivered."""
        on_the_wire = sending is not None and batch in sending.in_flight
        if sending is not None:
            sending.unresolve(batch)
            if not on_the_wire:
                sending.left(batch)
        self._accumulator.remove(batch)
        error.may_have_happened = may_have_happened(batch)
        name_credentials(error, self._credentials)
        named = record_errors or {}
        if batch.end(Outcome(error=error, record_errors=named)):
            self.counters.failed(batch, error, named.values())
            self.failed.emit(batch, error)
            # What a record was refused for, and not that others of its batch failed with it.
            cause = next(iter(named.values()), error)
            if cause.__cause__ is not None or not isinstance(
                cause, TransactionAbortedException
            ):
                # Not for each batch of an abort that the application wants.
                self._trace.emit(
                    DELIVERY_FAILED, records=batch.count, partition=batch.name, error=cause
                )
            self._settle(batch)
        if not on_the_wire:
            self._free(batch)

    def expire(
        self,
        batch: Batch,
        sending: PartitionSending | None,
        obstacle: KafkaException | None,
        waits: Sequence[Wait],
    ) -> None:
        """The `delivery.timeout.ms` of a batch is over.

        Args:
            batch: Which.
            sending: What is kept of its partition.
            obstacle: What stands in its way, where no attempt has met an error.
            waits: What it has waited for.
        """
        self.counters.expired += 1
        last_error = self.last_errors.get(batch, obstacle)
        self.fail(batch, sending, out_of_time(batch, self._timer.now, last_error, waits))

    def give_up(
        self, batch: Batch, sending: PartitionSending | None, why: KafkaException
    ) -> None:
        """A batch fails before its time: the producer is purged or closes."""
        self.fail(batch, sending, type(why)(str(why)))

    def released(self, batch: Batch, sending: PartitionSending) -> None:
        """A batch that had failed is not on the wire any more."""
        sending.left(batch)
        self._free(batch)

    def _free(self, batch: Batch) -> None:
        self.last_errors.pop(batch, None)
        self._accumulator.free(batch)

    def _settle(self, batch: Batch) -> None:
        began = self._clock()
        had_callbacks = self._accumulator.settle(batch, self._callback_raised)
        if not had_callbacks:
            return
        took = self._clock() - began
        self.counters.callback_seconds.observe(took)
        if took > SLOW:
            self._trace.emit(CALLBACK_SLOW, partition=batch.name, took=took)

    def _callback_raised(self, error: BaseException) -> None:
        self._trace.emit(CALLBACK_RAISED, kind=type(error).__name__, error=error)

    def tell_new_epoch(self, sending: PartitionSending) -> None:
        """The numbers of a partition begin again."""
        self.counters.epochs += 1
        if sending.lost:
            self.tell_lost(sending)
        else:
            reason = "its leader lacks what has failed or was deleted, or may lack it"
            self._trace.emit(SEQUENCE_RESTARTED, partition=sending.queue.tp, reason=reason)

    def tell_lost(self, sending: PartitionSending) -> None:
        """The leader of a partition lacks what was acknowledged."""
        self._trace.emit(PRODUCER_EPOCH_BUMPED, partition=sending.queue.tp)

    def __repr__(self) -> str:
        return f"Endings({self.counters})"
