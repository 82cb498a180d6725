"""What a task does: it reads one range, and hands it on as Arrow batches.

Thread: the main one of a Python worker of Spark, which lives on from task to task. So its
clients do too, and with them their connections: a task finds one that is free, of the same
configuration and of this very process, or builds one.

Invariants: a client is one task's at a time. One whose task has failed is closed, and one
whose task was given up in between is kept. All attempts of all tasks of a batch share its
budget, which comes along as a time of day, since monotonic clocks are each machine's own.
"""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    ConfigWarning,
    KafkaException,
    LogTruncationException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from prokurist.events.clock import epoch_milliseconds
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.spark.batches import Batches
from prokurist.spark.failures import DataLossException
from prokurist.spark.ranges import OffsetRange

MOST_CLIENTS: Final = 4
"""Of different configurations, that a worker keeps."""
LEAST: Final = 1.0
"""Seconds below which an attempt is not begun: it could end in nothing but its deadline."""
CLOSE: Final = 1.0
FETCH: Final = {"max.partition.fetch.bytes": str(1 << 20)}
"""What is fetched at a time, unless the user says; a task reads one partition."""

log: logging.Logger = logging.getLogger(__name__)

Key = tuple[int, tuple[tuple[str, str], ...]]


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
    with CLIENTS.lent(piece.client) as consumer:
        for records in _records(consumer, piece):
            yield from batches.of(records)


def _records(consumer: KafkaConsumer, piece: Piece) -> Iterator[ConsumerRecords]:
    """The records of a range, without those that are gone if they need not be there."""
    wanted = piece.range
    start = wanted.start
    while start < wanted.end:
        try:
            yield from consumer.read_range(
                wanted.partition, start, wanted.end, piece.left(), stall_timeout=piece.stall
            )
        except OffsetOutOfRangeException as error:
            following = _after_loss(error, wanted)
            if piece.fail_on_data_loss:
                raise DataLossException(
                    f"records of {wanted} are gone: {error}. They were removed by age or size, "
                    f"or the topic was made anew. Set failOnDataLoss to false to read what is "
                    f"left"
                ) from error
            log.warning("records of %s are gone, and are passed over: %s", wanted, error)
            start = following
        else:
            return


def _after_loss(error: OffsetOutOfRangeException, wanted: OffsetRange) -> int:
    """Where reading goes on after what is gone."""
    position = error.offsets.get(wanted.partition, wanted.start)
    if isinstance(error, LogTruncationException) or error.log_start is None:
        return wanted.end
    return min(error.log_start, wanted.end) if error.log_start > position else wanted.end


class Clients:
    """The clients of this process; see the module."""

    def __init__(self) -> None:
        self._free: dict[Key, KafkaConsumer] = {}

    @contextmanager
    def lent(self, config: Mapping[str, str]) -> Iterator[KafkaConsumer]:
        """A client for one task."""
        key = os.getpid(), tuple(sorted(config.items()))
        consumer = self._free.pop(key, None) or self._made(config)
        try:
            yield consumer
        except KafkaException:
            consumer.close(CLOSE)
            raise
        except BaseException:
            self._keep(key, consumer)
            raise
        else:
            self._keep(key, consumer)

    def _made(self, config: Mapping[str, str]) -> KafkaConsumer:
        with warnings.catch_warnings():
            # The driver has said them.
            warnings.simplefilter("ignore", ConfigWarning)
            return KafkaConsumer(FETCH | dict(config), auto_offset_reset="none")

    def _keep(self, key: Key, consumer: KafkaConsumer) -> None:
        former = self._free.pop(key, None)
        self._free[key] = consumer
        for each in [former] if former else []:
            each.close(CLOSE)
        while len(self._free) > MOST_CLIENTS:
            self._free.pop(next(iter(self._free))).close(CLOSE)

    def close(self) -> None:
        """Close those that are free."""
        while self._free:
            self._free.popitem()[1].close(CLOSE)


CLIENTS: Final = Clients()
