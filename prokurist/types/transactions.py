"""Transactions and producers as an administrator sees them.

Thread: any; frozen values.
"""

from datetime import datetime
from enum import StrEnum

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


class TransactionState(StrEnum):
    """A state of a transactional id; the names are the protocol's."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """A transactional id in a list.

    Attributes:
        transactional_id: The id.
        producer_id: Its producer id.
        state: A `TransactionState`, or the word of a newer broker.
        coordinator: The id of the broker that coordinates it.
    """

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id, and its transaction.

    Attributes:
        transactional_id: The id.
        state: A `TransactionState`, or the word of a newer broker.
        producer_id: Its producer id.
        epoch: The producer's epoch.
        timeout: Its `transaction.timeout.ms`, in seconds.
        started: When the transaction began; None if there is none.
        partitions: The partitions of the transaction.
    """

    transactional_id: str
    state: str
    producer_id: int
    epoch: int
    timeout: float
    started: datetime | None
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """A producer that a partition knows.

    Attributes:
        producer_id: Its id.
        epoch: Its epoch.
        last_sequence: The sequence number of its last record; None where it has written none.
        last_at: The timestamp of its last batch or marker; None without one, or for one that no
            calendar has.
        coordinator_epoch: The epoch of the coordinator that has written its last marker; None
            where there was none.
        transaction_start: The first offset of its open transaction; None if none is open.
    """

    producer_id: int
    epoch: int
    last_sequence: int | None
    last_at: datetime | None
    coordinator_epoch: int | None
    transaction_start: int | None


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """A transaction that is open in a partition, and that no coordinator will end.

    Attributes:
        partition: The partition.
        producer: The producer, as the partition knows it.
        transactional_id: Its transactional id, as far as a coordinator knows it still.
    """

    partition: TopicPartition
    producer: ActiveProducer
    transactional_id: str | None

    def __str__(self) -> str:
        return (
            f"transaction of producer {self.producer.producer_id} in epoch "
            f"{self.producer.epoch}, open in {self.partition} since offset "
            f"{self.producer.transaction_start}"
        )


@dataclass(frozen=True, slots=True)
class FencedProducer:
    """A transactional id whose producers were fenced.

    Attributes:
        producer_id: Its producer id.
        epoch: The epoch that older producers are refused for.
    """

    producer_id: int
    epoch: int
