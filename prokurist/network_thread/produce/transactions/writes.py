"""Requests of the present transaction so far: the facts that its end depends on.

Thread: the network thread alone.

By the protocol of `transaction.version` 2 brokers add partitions and groups themselves
(*implicit*). Before, each partition is added by a request of its own, and its batches wait for
the answer. The protocol is chosen between transactions, never within one.
"""

from typing import TYPE_CHECKING

from prokurist.events.transaction_state import Transaction
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from prokurist.network_thread.produce.partition_sending import PartitionSending


class TransactionWrites:
    """The requests of the present transaction.

    Args:
        transactional_id: `transactional.id`.
        transaction: The state of the transaction.

    Attributes:
        transactional_id: The same.
        transaction: The same.
        implicit: True if brokers add partitions and groups themselves.
        open_since: Time of the first request; None before.
        is_added: True once a broker has confirmed a partition or a group of the transaction.
        has_records: True once a batch was handed over to be written.
        numbers_lost: True if the next transaction needs another epoch.
        added: Partitions added by requests of their own.
        missing: Partitions with batches that wait to be added.
        groups: Groups added by requests of their own.
    """

    def __init__(self, transactional_id: str, transaction: Transaction) -> None:
        self.transaction: Transaction = transaction
        self.transactional_id: str = transactional_id
        self.implicit: bool = False
        self.open_since: float | None = None
        self.is_added: bool = False
        self.has_records: bool = False
        self.numbers_lost: bool = False
        self.added: set[TopicPartition] = set()
        self.missing: dict[TopicPartition, PartitionSending] = {}
        self.groups: set[str] = set()

    def admits(self, partition: "PartitionSending", now: float) -> bool:
        """Return True if a batch of a partition may be written now; else have it added."""
        tp = partition.queue.tp
        if not self.transaction.writes_records:
            return False
        if not self.implicit and tp not in self.added:
            self.missing[tp] = partition
            return False
        self.written(now)
        self.has_records = True
        return True

    def written(self, now: float) -> None:
        """Note that a request was handed over to be written."""
        if self.open_since is None:
            self.open_since = now

    def begin_again(self, *, implicit: bool) -> None:
        """Forget the transaction: its end has come."""
        self.implicit = implicit
        self.open_since = None
        self.is_added = self.has_records = self.numbers_lost = False
        self.added.clear()
        self.missing.clear()
        self.groups.clear()

    def __repr__(self) -> str:
        protocol = "implicit" if self.implicit else f"{len(self.added)} partitions added"
        return f"TransactionWrites({self.transactional_id}, {protocol})"
