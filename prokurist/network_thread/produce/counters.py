"""Counters of a producer's network thread: a step a batch, never one a record.

Thread: the network thread writes, any reads; see `events.counter_types`.
"""

from collections.abc import Collection, Iterable

from prokurist.events.accumulator.batch import Batch
from prokurist.events.counter_types import BYTES, Count, Family, Histogram


def sizes() -> Histogram:
    """A histogram of bytes."""
    return Histogram(BYTES)


class TopicProduced:
    """Delivered records and bytes of one topic.

    Attributes:
        records: How many.
        bytes: What they took in their batches, before compression.
    """

    __slots__ = ("bytes", "records")

    def __init__(self) -> None:
        self.records: int = 0
        self.bytes: int = 0


class ProduceCounters:
    """Batches, and what became of them.

    Attributes:
        topics: What was delivered, by topic.
        errors: Records that have failed, by the error's name.
        retries: Attempts that came to nothing and were followed by another.
        batches: Batches that were sent, each counted once.
        split: Batches that were too large for their broker.
        expired: Batches whose `delivery.timeout.ms` was over.
        epochs: How often numbers began again, by reason.
        batch_bytes: Bytes of batches, before compression.
        batch_records: Records of batches.
        sealed_bytes: Bytes of their records in all, as they were sent.
        plain_bytes: The same before compression.
        queue_seconds: How long batches waited to be sent for the first time.
        delivery_seconds: From the beginning of a batch to its end.
        callback_seconds: How long the callbacks of a batch took, where there were any.
        transactions: Transactions that have ended, by outcome.
        transaction_seconds: From the first request of a transaction to its end.
    """

    def __init__(self) -> None:
        self.topics: Family[TopicProduced] = Family(TopicProduced)
        self.errors: Family[Count] = Family(Count)
        self.retries: int = 0
        self.batches: int = 0
        self.split: int = 0
        self.expired: int = 0
        self.epochs: int = 0
        self.batch_bytes: Histogram = sizes()
        self.batch_records: Histogram = Histogram(tuple(float(4**power) for power in range(10)))
        self.sealed_bytes: int = 0
        self.plain_bytes: int = 0
        self.queue_seconds: Histogram = Histogram()
        self.delivery_seconds: Histogram = Histogram()
        self.callback_seconds: Histogram = Histogram()
        self.transactions: Family[Count] = Family(Count)
        self.transaction_seconds: Histogram = Histogram()

    def transacted(self, outcome: str, seconds: float | None) -> None:
        """Count a transaction that has ended; without a request it took no time."""
        self.transactions.of(outcome).number += 1
        if seconds is not None:
            self.transaction_seconds.observe(seconds)

    def sent(self, batches: Iterable[Batch], now: float) -> None:
        """Batches were handed to the network."""
        for batch in batches:
            if batch.retries:
                continue
            self.batches += 1
            self.queue_seconds.observe(now - batch.created)
            self.batch_bytes.observe(batch.size)
            self.batch_records.observe(batch.count)
            self.plain_bytes += batch.payload
            compressed = batch.sealed
            self.sealed_bytes += batch.payload if compressed is None else len(compressed)

    def delivered(self, batch: Batch, now: float) -> None:
        """A batch is delivered."""
        topic = self.topics.of(batch.topic)
        topic.records += batch.count
        topic.bytes += batch.payload
        self.delivery_seconds.observe(now - batch.created)

    def failed(
        self, batch: Batch, error: BaseException, named: Collection[BaseException] = ()
    ) -> None:
        """A batch has failed.

        Args:
            batch: Which.
            error: What its records have failed with.
            named: The errors of records that have one of their own.
        """
        self.errors.of(type(error).__name__).number += batch.count - len(named)
        for each in named:
            self.errors.of(type(each).__name__).number += 1

    def __repr__(self) -> str:
        return f"ProduceCounters({self.batches} batches)"
