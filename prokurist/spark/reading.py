"""What a task does: it reads one range, and hands it on as Arrow batches.

Thread: the main one of a Python worker of Spark.

Invariants: all attempts of all tasks of a batch share its budget, which comes along as a
time of day, since monotonic clocks are each machine's own.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    LogTruncationException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from prokurist.events.clock import epoch_milliseconds
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.spark.batches import Batches
from prokurist.spark.failures import DataLossException
from prokurist.spark.ranges import OffsetRange
from prokurist.spark.worker_clients import CLIENTS

LEAST: Final = 1.0
"""Seconds below which an attempt is not begun: it could end in nothing but its deadline."""
FETCH: Final = {"max.partition.fetch.bytes": str(8 << 20)}
"""What is fetched at a time, unless the user says: a task reads one partition alone, and
each fetch has a price of its own."""

log: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Piece:
    """What a task needs to know; it is pickled, and holds no client.

    Attributes:
        range: What is read.
        client: The configuration of the client, its secrets included.
        columns: The columns that are wanted, in order.
        batch_bytes: Bytes of an Arrow batch.
        stall: Seconds that are waited for records.
        budget: Seconds for the whole batch.
        give_up_at: When those are over, in milliseconds since the epoch.
        fail_on_data_loss: Whether records that are gone are an error.
    """

    range: OffsetRange
    client: Mapping[str, str]
    columns: tuple[str, ...]
    batch_bytes: int
    stall: float
    budget: float
    give_up_at: int
    fail_on_data_loss: bool

    def left(self) -> float:
        """Seconds that are left; never more than the whole, whatever the clock says.

        Raises:
            TimeoutException: Too few for an attempt.
        """
        left = min(self.budget, (self.give_up_at - epoch_milliseconds()) / 1000)
        if left < min(LEAST, self.budget / 2):
            raise TimeoutException(
                f"the {self.budget} s that all tasks of this batch share are over, and "
                f"{self.range} is not read again. Raise batchDeadlineMs if reading takes so "
                f"long, and see whether the clocks of driver and executors agree"
            )
        return left

    def __str__(self) -> str:
        return str(self.range)


def read(piece: Piece) -> Iterator[Any]:
    """Read a range as `pyarrow.RecordBatch`es.

    Raises:
        KafkaException: It cannot be read.
    """
    batches = Batches(piece.columns, piece.batch_bytes)
    with CLIENTS.lent(FETCH | dict(piece.client)) as consumer:
        for records in _records(consumer, piece):
            yield from batches.of(records)


def _records(consumer: KafkaConsumer, piece: Piece) -> Iterator[ConsumerRecords]:
    """The records of a range, without those that are gone if they need not be there."""
    wanted = piece.range
    start, cut_at = wanted.start, None
    while start < wanted.end:
        try:
            yield from consumer.read_range(
                wanted.partition, start, wanted.end, piece.left(), stall_timeout=piece.stall
            )
        except OffsetOutOfRangeException as error:
            if piece.fail_on_data_loss:
                raise DataLossException(
                    f"records of {wanted} are gone: {error}. They were removed by age or size, "
                    f"or the topic was made anew. Set failOnDataLoss to false to read what is "
                    f"left"
                ) from error
            following = _after_loss(error, wanted)
            log.warning("records of %s are gone, and are passed over: %s", wanted, error)
            # What this client knew may have been an older log: what is there is read now.
            start, cut_at = (wanted.end if following == cut_at else following), following
        else:
            return


def _after_loss(error: OffsetOutOfRangeException, wanted: OffsetRange) -> int:
    """Where reading goes on after what is gone.

    Raises:
        OffsetOutOfRangeException: Nobody could say in time what is left.
    """
    position = error.offsets.get(wanted.partition, wanted.start)
    if isinstance(error, LogTruncationException):
        return position
    if error.log_start is None:
        # What is left may be all but the first record: another attempt will know.
        raise error
    return error.log_start if error.log_start > position else wanted.end
