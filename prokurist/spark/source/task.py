"""A task: reads one range, and hands it on as Arrow batches.

Thread: the main one of a Python worker of Spark.

Invariants: a piece carries durations and no moment, because Spark plans a frame once and
reads its pieces for as long as its session lives. What is bounded is silence: the time that a
task waits for a record. What Spark does with the records meanwhile is not counted.
"""

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    KafkaException,
    LogTruncationException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.spark.errors import DataLossException
from prokurist.spark.offset_ranges import OffsetRange
from prokurist.spark.source.arrow_batches import ArrowBatches
from prokurist.spark.source.worker_consumers import CLIENTS, made
from prokurist.types import TopicPartition

FETCH: Final = {"max.partition.fetch.bytes": str(8 << 20)}
"""Size of a fetch, unless the user sets it: a task reads one partition alone, and each fetch
has a cost of its own."""

LOOK: Final = 2.0
"""Seconds of an attempt's wait that are kept for a look at the end of the log."""

CLOCK: Final = MonotonicClock()

log: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Piece:
    """Input of a task; it is pickled, and holds no client.

    Attributes:
        range: What is read.
        client: The configuration of the client, its secrets included.
        columns: The columns that are wanted, in order.
        batch_bytes: Bytes of an Arrow batch.
        stall: Seconds that one attempt waits for a record, at most.
        budget: Seconds that all attempts of the task wait for a record, at most.
        fail_on_data_loss: Whether records that are gone are an error.
    """

    range: OffsetRange
    client: Mapping[str, str] = field(repr=False)
    columns: tuple[str, ...]
    batch_bytes: int
    stall: float
    budget: float
    fail_on_data_loss: bool

    def patience(self, attempt: int) -> float:
        """Return the seconds that an attempt waits for a record before it fails.

        Each attempt has half of what the ones before it have left of the budget. So their sum
        stays below it however many attempts Spark is configured for, and none is left without.

        Args:
            attempt: Its number, counted from 0.
        """
        return min(self.stall, math.ldexp(self.budget, -attempt - 1))

    def __str__(self) -> str:
        return str(self.range)


def read(piece: Piece, attempt: int = 0) -> Iterator[Any]:
    """Read a range as `pyarrow.RecordBatch`es.

    Args:
        piece: What is read.
        attempt: Which of Spark's attempts at this task it is, counted from 0.

    Raises:
        KafkaException: It cannot be read.
    """
    batches = ArrowBatches(piece.columns, piece.batch_bytes)
    with CLIENTS.lent(FETCH | dict(piece.client)) as consumer:
        for records in _records(consumer, piece, attempt):
            yield from batches.of(records)


def _records(consumer: KafkaConsumer, piece: Piece, attempt: int) -> Iterator[ConsumerRecords]:
    """Read a range, without lost records if they may be missing."""
    wanted = piece.range
    patience = piece.patience(attempt)
    look = min(LOOK, patience / 4)
    start, cut_at = wanted.start, None
    while start < wanted.end:
        try:
            for records in consumer.read_range(
                wanted.partition, start, wanted.end, stall_timeout=patience - look
            ):
                start = records.next_offsets()[wanted.partition].offset
                yield records
        except TimeoutException as error:
            gone = _find_loss(consumer, piece, start, look, error)
            if gone is None:
                error.add_note(
                    f"Attempt {attempt} of this task waits {patience:g} s for a record, and "
                    f"asks in the last {look:g} s of them where the log ends: at most "
                    f"readStallMs, and half of what earlier attempts left of batchDeadlineMs."
                )
                raise
            if piece.fail_on_data_loss:
                raise DataLossException(
                    f"records of {wanted} are gone: {gone}. Set failOnDataLoss to false to "
                    f"read what is left"
                ) from error
            log.warning("records of %s may be gone, and reading ends here: %s", wanted, gone)
            return
        except OffsetOutOfRangeException as error:
            if piece.fail_on_data_loss:
                raise DataLossException(
                    f"records of {wanted} are gone: {error}. They were removed by age or size, "
                    f"or the topic was created again. Set failOnDataLoss to false to read "
                    f"what is left"
                ) from error
            following = _after_loss(error, wanted)
            # What this client knew may have been an older log: what is there is read now.
            start, cut_at = (wanted.end if following == cut_at else following), following
            rest = f"goes on at offset {start}" if start < wanted.end else "ends here"
            log.warning("records of %s may be gone, and reading %s: %s", wanted, rest, error)
        else:
            return


def _find_loss(
    consumer: KafkaConsumer, piece: Piece, position: int, seconds: float, error: Exception
) -> str | None:
    """Return why a range ends where reading has come, in words; None for any other log.

    A range was within its log when it was planned. The topic was deleted since, or created
    again with fewer records: nothing comes any more, and an attempt after a restart of the
    query would wait for the same records. A log that is read up to its end, and a topic that
    two lists lack, are told from a leader that is away, from a broker that lags, and from an
    open transaction, which a note on the error names.
    """
    tp, deadline = piece.range.partition, Deadline.after(CLOCK.now(), seconds)
    try:
        if _is_listed(consumer, tp, deadline):
            last = consumer.end_offsets([tp], deadline.remaining(CLOCK.now()))[tp]
            if last > position:
                return None
            whole = _log_end(piece, deadline)
            if whole is not None and whole > position:
                error.add_note(
                    f"A transaction is open at offset {last} of {tp}, and ends by its "
                    f"transaction.timeout.ms at the latest: raise readStallMs above that, or "
                    f"end the range at that offset."
                )
                return None
            return f"its log ends at {last}. It was cut back, or the topic was created again"
        CLOCK.sleep(deadline.remaining(CLOCK.now()) / 2)
        if _is_listed(consumer, tp, deadline):
            return None
    except KafkaException:
        return None
    return f"brokers list no partition {tp}. The topic {tp.topic!r} was deleted"


def _log_end(piece: Piece, deadline: Deadline) -> int | None:
    """Return the end of a log behind open transactions; None if all of it is read."""
    if ConsumerConfig(piece.client).isolation_level != "read_committed":
        return None
    tp = piece.range.partition
    with made({**piece.client, "isolation.level": "read_uncommitted"}) as consumer:
        return consumer.end_offsets([tp], deadline.remaining(CLOCK.now()))[tp]


def _is_listed(consumer: KafkaConsumer, tp: TopicPartition, deadline: Deadline) -> bool:
    """Return True if a broker lists a partition now."""
    left = deadline.remaining(CLOCK.now())
    listed = consumer.list_topics(left, topics=[tp.topic]).get(tp.topic, ())
    return any(each.partition == tp.partition for each in listed)


def _after_loss(error: OffsetOutOfRangeException, wanted: OffsetRange) -> int:
    """Return the offset to go on from after lost records.

    Raises:
        OffsetOutOfRangeException: What is left could not be looked up in time.
    """
    position = error.offsets.get(wanted.partition, wanted.start)
    if isinstance(error, LogTruncationException):
        return position
    if error.log_start is None:
        # What is left may be all but the first record: another attempt will know.
        raise error
    return error.log_start if error.log_start > position else wanted.end
