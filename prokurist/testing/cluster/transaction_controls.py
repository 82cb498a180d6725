"""Controls of transactional ids, their coordinators and their markers.

Thread: any for a served cluster; the driver's for a model.
"""

from typing import NamedTuple

from prokurist.testing.cluster.steering import Fault, Steering
from prokurist.testing.cluster.transaction_coordinator import write_markers
from prokurist.testing.cluster.transactions import (
    FEATURE,
    PREPARING,
    Transaction,
    TransactionSettings,
)
from prokurist.types import TopicPartition


class TransactionDescription(NamedTuple):
    """State of a transactional id, as its coordinator has it.

    Attributes:
        state: Kafka's word for where it stands, such as `Ongoing` or `CompleteCommit`.
        producer_id: The id of its producer.
        epoch: The epoch of its producer.
        timeout: After how many seconds an open transaction is aborted.
        partitions: The partitions of the open transaction, `__consumer_offsets` included.
    """

    state: str
    producer_id: int
    epoch: int
    timeout: float
    partitions: frozenset[TopicPartition]


class TransactionControls(Steering):
    """Transactional ids, their coordinators and their markers."""

    __slots__ = ()

    def configure_transactions(self, settings: TransactionSettings) -> None:
        """Change the brokers' configuration of transactions, from now on.

        A version above 0 is finalised, as by `finalize("transaction.version", …)`.
        """
        with self._change() as (cluster, _):
            cluster.state.transactions.settings = settings
            if settings.version and cluster.state.features.get(FEATURE) != settings.version:
                cluster.state.features[FEATURE] = settings.version
                cluster.state.features_epoch += 1

    def transactions(self) -> dict[str, TransactionDescription]:
        """Describe every transactional id that is known."""
        with self._change() as (cluster, now):
            return {
                each.name: described(each) for each in cluster.state.transactions.entries(now)
            }

    def forget_transaction(self, name: str) -> None:
        """Have a transactional id forgotten, as after `transactional.id.expiration.ms`.

        The partitions of an open transaction stay without a marker.
        """
        with self._change() as (cluster, _):
            cluster.state.transactions.forget(name)

    def transaction_coordinator(self, name: str) -> int | None:
        """Return the broker that coordinates a transactional id; None without one."""
        with self._change() as (cluster, _):
            return cluster.state.transaction_coordinator(name)

    def move_transaction_coordinator(self, name: str, node: int) -> None:
        """Have another broker coordinate a transactional id, as after a failover.

        It knows all that the one before wrote down, and writes the markers of an end that is
        not complete once more.
        """
        with self._change() as (cluster, now):
            state = cluster.state
            state.broker(node)
            before = state.transaction_coordinator(name)
            state.transactions.seat(name).coordinator = node
            known = state.transactions.find(name, now)
            if known is not None and before != node:
                known.fail_over()
            state.changed(now)

    def transaction_coordinator_loading(
        self, name: str, *, seconds: float | None = None, times: int | None = None
    ) -> Fault:
        """Have the coordinator of a transactional id still load.

        It loads for a time or for so many requests; without either until this is undone.
        """
        with self._change() as (cluster, now):
            seat = cluster.state.transactions.seat(name)
            seat.begin_loading(now, seconds, times)

        def undo() -> None:
            with self._change():
                seat.end_loading()

        return Fault(f"{name} loading", undo)

    def hold_markers(self) -> Fault:
        """Have no marker written: transactions stay `PrepareCommit` or `PrepareAbort`.

        EndTxn is answered all the same, later requests by CONCURRENT_TRANSACTIONS, until this
        is undone.
        """

        def undo() -> None:
            with self._change() as (cluster, now):
                transactions = cluster.state.transactions
                transactions.held = False
                for each in transactions.entries(now):
                    if each.phase in PREPARING:
                        write_markers(cluster.state, each, now)

        with self._change() as (cluster, _):
            cluster.state.transactions.held = True
        return Fault("hold_markers", undo)


def described(transaction: Transaction) -> TransactionDescription:
    """The description of a transactional id."""
    return TransactionDescription(
        transaction.phase.value,
        transaction.producer_id,
        transaction.epoch,
        transaction.timeout,
        frozenset(transaction.open_partitions),
    )
