"""Snapshot of a producer for liveness probes.

Thread: any.
"""

from prokurist.application.health import ClientHealth
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerHealth(ClientHealth):
    """A snapshot of a producer for liveness probes, taken without waiting.

    Attributes:
        buffer_total: `buffer.memory`.
        buffer_free: How many bytes of it are free.
        waiting_threads: Threads that wait in `send` for room in it.
        undelivered_batches: Batches that are neither delivered nor have failed.
        oldest_batch_age: Seconds since the oldest of these was begun; None where there is
            none. At `delivery.timeout.ms` it fails.
        transaction_age: Seconds since the first request of the open transaction; None where
            none is open.
        transaction_timeout: `transaction.timeout.ms` in seconds: its coordinator aborts a
            transaction that is open for longer.
    """

    buffer_total: int
    buffer_free: int
    waiting_threads: int
    undelivered_batches: int
    oldest_batch_age: float | None
    transaction_age: float | None
    transaction_timeout: float

    @property
    def is_transaction_late(self) -> bool:
        """True from four fifths of `transaction.timeout.ms` on."""
        return (self.transaction_age or 0.0) >= 0.8 * self.transaction_timeout

    @property
    def buffer_fill(self) -> float:
        """The share of `buffer.memory` that is in use, from 0 to 1."""
        return 1.0 - self.buffer_free / self.buffer_total
