"""Rows of producers: records, batches and their ends, memory, and waits of `send`.

Thread: any.
"""

from collections.abc import Iterator

from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.reading import ProducerReading


def records(at: ProducerReading) -> Iterator[Value]:
    """Yield the numbers of records delivered, by topic."""
    for topic, produced in at.counters.topics.children.items():
        yield (topic,), produced.records


def produced_bytes(at: ProducerReading) -> Iterator[Value]:
    """Yield the bytes of records delivered, by topic."""
    for topic, produced in at.counters.topics.children.items():
        yield (topic,), produced.bytes


def errors(at: ProducerReading) -> Iterator[Value]:
    """Yield the numbers of failed records, in a batch or before, by the error's name."""
    failed: dict[str, int] = {}
    for family in (at.counters.errors, at.client.sends.errors):
        for name, count in family.children.items():
            failed[name] = failed.get(name, 0) + count.number
    for name, number in failed.items():
        yield (name,), number


def waits(at: ProducerReading) -> Iterator[Value]:
    """Yield the waiting times of `send`, by cause."""
    for what, seconds in at.client.sends.waits.children.items():
        yield (what,), seconds


def transactions(at: ProducerReading) -> Iterator[Value]:
    """Yield the numbers of transactions that have ended, by outcome."""
    for outcome, count in at.counters.transactions.children.items():
        yield (outcome,), count.number


def open_transaction(at: ProducerReading) -> Iterator[Value]:
    """The age of the open transaction; 0 where there is none."""
    yield (), at.since(at.client.side.transaction_since) or 0.0


def oldest(at: ProducerReading) -> Iterator[Value]:
    """The age of the oldest batch; 0 where there is none."""
    yield (), at.since(at.client.side.accumulator.oldest) or 0.0


ROWS: tuple[Metric[ProducerReading], ...] = (
    counter(
        "prokurist_producer_records_sent_total",
        "Records that were delivered.",
        records,
        "topic",
    ),
    counter(
        "prokurist_producer_bytes_total",
        "What those records took in their batches, before compression.",
        produced_bytes,
        "topic",
    ),
    counter(
        "prokurist_producer_record_errors_total",
        "Records that have failed, those that came into no batch included.",
        errors,
        "error",
    ),
    counter(
        "prokurist_producer_batches_total",
        "Batches that were sent, each counted once however often it was tried.",
        lambda at: one(at.counters.batches),
    ),
    counter(
        "prokurist_producer_batch_retries_total",
        "Attempts of batches that came to nothing and were followed by another.",
        lambda at: one(at.counters.retries),
    ),
    counter(
        "prokurist_producer_batches_split_total",
        "Batches that were too large for their broker, and went on in parts.",
        lambda at: one(at.counters.split),
    ),
    counter(
        "prokurist_producer_batches_expired_total",
        "Batches whose delivery.timeout.ms was over before they were delivered.",
        lambda at: one(at.counters.expired),
    ),
    counter(
        "prokurist_producer_epoch_bumps_total",
        "How often the sequence numbers of a partition began again under a new epoch.",
        lambda at: one(at.counters.epochs),
    ),
    histogram(
        "prokurist_producer_batch_bytes",
        "Bytes of each batch that was sent, before compression.",
        lambda at: one(at.counters.batch_bytes),
    ),
    histogram(
        "prokurist_producer_batch_records",
        "Records of each batch that was sent.",
        lambda at: one(at.counters.batch_records),
    ),
    counter(
        "prokurist_producer_uncompressed_bytes_total",
        "Bytes of records in the batches that were sent, before compression.",
        lambda at: one(at.counters.plain_bytes),
    ),
    counter(
        "prokurist_producer_compressed_bytes_total",
        "Bytes of the same records as they were sent, without the headers of their batches.",
        lambda at: one(at.counters.sealed_bytes),
    ),
    histogram(
        "prokurist_producer_queue_seconds",
        "From the beginning of a batch to its first attempt; linger.ms is a part of it.",
        lambda at: one(at.counters.queue_seconds),
    ),
    histogram(
        "prokurist_producer_delivery_seconds",
        "From the beginning of a batch to its delivery.",
        lambda at: one(at.counters.delivery_seconds),
    ),
    histogram(
        "prokurist_producer_wait_seconds",
        "How long calls of send waited: for the topic's metadata, or for room in "
        "buffer.memory; calls that did not have to wait are not counted.",
        waits,
        "for",
    ),
    histogram(
        "prokurist_producer_callback_seconds",
        "How long the delivery callbacks of each batch took that had any.",
        lambda at: one(at.counters.callback_seconds),
    ),
    gauge(
        "prokurist_producer_buffer_available_bytes",
        "How much of buffer.memory is free.",
        lambda at: one(at.client.side.accumulator.memory.free),
    ),
    gauge(
        "prokurist_producer_buffer_limit_bytes",
        "buffer.memory.",
        lambda at: one(at.client.side.accumulator.memory.total),
    ),
    gauge(
        "prokurist_producer_waiting_threads",
        "Threads that wait in send for room in buffer.memory.",
        lambda at: one(at.client.side.accumulator.memory.waiting),
    ),
    gauge(
        "prokurist_producer_oldest_batch_age_seconds",
        "The age of the oldest batch that is not delivered; 0 where there is none.",
        oldest,
    ),
    counter(
        "prokurist_producer_transactions_total",
        "Transactions that have ended: committed or aborted.",
        transactions,
        "outcome",
    ),
    histogram(
        "prokurist_producer_transaction_seconds",
        "From the first request of a transaction to its end.",
        lambda at: one(at.counters.transaction_seconds),
    ),
    gauge(
        "prokurist_producer_transaction_age_seconds",
        "The age of the open transaction, since its first request; 0 where there is none.",
        open_transaction,
    ),
    gauge(
        "prokurist_producer_transaction_limit_seconds",
        "transaction.timeout.ms.",
        lambda at: one(at.client.config.transaction_timeout_ms / 1000),
    ),
    gauge(
        "prokurist_producer_delivery_limit_seconds",
        "delivery.timeout.ms.",
        lambda at: one(at.client.config.delivery_timeout_ms / 1000),
    ),
    gauge(
        "prokurist_producer_requests_in_flight",
        "Produce requests that have no answer yet.",
        lambda at: one(at.client.side.produce.in_flight),
    ),
    gauge(
        "prokurist_producer_unresolved_partitions",
        "Partitions that number no further batch until it is known what became of one that "
        "has failed.",
        lambda at: one(at.client.side.produce.unresolved),
    ),
)
