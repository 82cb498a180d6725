"""Exactly once, by way of the driver: the rows of a batch and its number in one transaction.

The ledger is an offset of the group `exactlyOnceId`: that of partition 0 of a topic is the
number of the last batch that is written, plus one, and its metadata names the query. The
transaction that brings the rows commits it.

Thread: the driver's, or the main one of a short process beside it.

Invariants: Spark begins batch N+1 when N is committed, and hands over the rows of each task
once. `init_transactions` has completed the transaction of an earlier driver, and fenced it,
before the ledger is read; so a batch that the ledger shows is visible, and one that it does
not show never will be.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import InvalidProducerEpochException, ProducerFencedException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.errors import LedgerException
from prokurist.spark.sink.columns import SinkColumns
from prokurist.spark.sink.options import ExactlyOnce, SinkSettings
from prokurist.spark.sink.worker_producers import made
from prokurist.spark.sink.writing import RowWriter
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition, counted

CLOCK: Final = MonotonicClock()
ABORTED: Final = "their transaction is aborted, so none of them is visible"

log: logging.Logger = logging.getLogger("prokurist.spark")


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a query, or one run of a job.

    Attributes:
        number: Its number; None for a job, whose `name` is that of the run.
        name: The id of the query, or the name of the run; empty where it is not known.
    """

    number: int | None
    name: str

    def __str__(self) -> str:
        if self.number is None:
            return f"run {self.name!r}"
        return f"batch {self.number}"


def commit_once(
    settings: SinkSettings,
    once: ExactlyOnce,
    columns: SinkColumns,
    batch: Batch,
    rows: Callable[[], Iterator[pa.RecordBatch]],
) -> bool:
    """Write a batch, unless the ledger shows that it is written.

    Args:
        settings: The settings of the writer.
        once: Of them, those of exactly once.
        columns: The columns of the rows.
        batch: The batch.
        rows: Its rows; not asked for if they are written.

    Returns:
        True if it was written now.

    Raises:
        KafkaException: It is not written, or not known to be; the ledger tells the next time.
        LedgerException: The ledger does not show the batches before.
        ProducerFencedException: Another driver has this `exactlyOnceId`.
        InvalidProducerEpochException: The same, found by a broker that a row was sent to.
    """
    with _fenced(once), made(settings.client) as producer:
        producer.init_transactions(settings.deadline)
        ledger = Ledger(once, settings.deadline)
        entry = ledger.read()
        following = entry_after(entry, batch, once)
        if following is None:
            log.info("%s is written already, and passed over", batch)
            return False
        writer = RowWriter(producer, columns, ABORTED)
        with producer.transaction(settings.deadline) as transaction:
            for each in rows():
                writer.write(each)
            writer.finish()
            transaction.send_offsets(
                {ledger.place: following}, ConsumerGroupMetadata(once.id), settings.deadline
            )
    log.debug("%s is written: %s", batch, counted(writer.rows, "row"))
    return True


class Ledger:
    """The entry of the last batch.

    Args:
        once: The settings.
        timeout: Seconds for reading it.
    """

    def __init__(self, once: ExactlyOnce, timeout: float) -> None:
        self.place: TopicPartition = TopicPartition(once.ledger_topic, 0)
        self._once = once
        self._timeout = timeout

    def read(self) -> OffsetAndMetadata | None:
        """Return the entry; None if there is none."""
        deadline = Deadline.after(CLOCK.now(), self._timeout)
        with KafkaConsumer(
            self._once.reader,
            group_id=self._once.id,
            isolation_level="read_committed",
            enable_auto_commit=False,
            allow_auto_create_topics=False,
        ) as consumer:
            left = deadline.remaining(CLOCK.now())
            return consumer.committed([self.place], left)[self.place]


def entry_after(
    entry: OffsetAndMetadata | None, batch: Batch, once: ExactlyOnce
) -> OffsetAndMetadata | None:
    """Return the ledger's entry with a batch; None if it is written already.

    Raises:
        LedgerException: Batches were written that the entry does not show, or it is another
            query's, or that of a later batch than the one after.
    """
    written = entry.offset if entry is not None else 0
    if batch.number is None:
        if entry is not None and named_in(entry) == batch.name:
            return None
        return OffsetAndMetadata(written + 1, metadata=json.dumps({"run": batch.name}))
    if not once.continues:
        _check(entry, batch, once)
    elif entry is not None and not _is_of(entry, batch):
        written = 0  # The count is another checkpoint's.
    if written > batch.number:
        return None
    return OffsetAndMetadata(batch.number + 1, metadata=json.dumps({"query": batch.name}))


def named_in(entry: OffsetAndMetadata) -> str:
    """Return the query or run that an entry names; empty if it names none."""
    try:
        found = json.loads(entry.metadata or "{}")
    except ValueError:
        return ""
    return str(found.get("query", found.get("run", ""))) if isinstance(found, dict) else ""


def _check(entry: OffsetAndMetadata | None, batch: Batch, once: ExactlyOnce) -> None:
    """Check that the entry is this query's, or that there can be none yet."""
    if entry is None:
        if batch.number:
            raise LedgerException(
                f"the ledger of {once.id!r} has no entry, and this is {batch}: whether those "
                f"before it are written cannot be known. The entry is an offset of the group "
                f"{once.id!r}, which expires when nothing is committed for as long as the "
                f"broker's offsets.retention.minutes. Set ledgerMissing to continue to go on, "
                f"once, if batch {batch.number - 1} was the last that was written"
            )
        return
    if _is_of(entry, batch):
        return
    query = named_in(entry)
    if batch.name and query and query != batch.name:
        raise LedgerException(
            f"the ledger of {once.id!r} is that of query {query}, up to batch "
            f"{entry.offset - 1}, and this is {batch} of query {batch.name}: a new checkpoint "
            f"begins again at 0. Give the query an exactlyOnceId of its own, or set "
            f"ledgerMissing to continue, once"
        )
    raise LedgerException(
        f"the ledger of {once.id!r} shows batch {entry.offset - 1} as written, and this is "
        f"{batch}: Spark repeats the last batch alone, so the checkpoint is a new one or an "
        f"older copy, and its batches have other rows. Give the query an exactlyOnceId of its "
        f"own, or set ledgerMissing to continue, once: rows may come twice then"
    )


def _is_of(entry: OffsetAndMetadata, batch: Batch) -> bool:
    """Return True if an entry is that of a batch's query and checkpoint, as far as is known."""
    query = named_in(entry)
    if batch.name and query and query != batch.name:
        return False
    return batch.number is None or entry.offset <= batch.number + 1


@contextmanager
def _fenced(once: ExactlyOnce) -> Iterator[None]:
    """Name the other driver in the error of one that is fenced."""
    try:
        yield
    except (ProducerFencedException, InvalidProducerEpochException) as error:
        error.add_note(
            f"Another driver writes with exactlyOnceId {once.id!r}: the same query was started "
            f"again, or another one has the name. This one stops; the batch is the other's."
        )
        raise
