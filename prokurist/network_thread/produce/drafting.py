"""Content of a request to a broker: a batch of each partition, in turns.

Thread: the network thread alone.

- A request holds one batch of each partition, up to `max.request.size`; the next one begins
  where it has ended.
- A partition whose head is sent again sends nothing else until that has succeeded.
- With idempotence a batch is numbered as it is taken, which is at its first attempt.
"""

from collections.abc import Callable

from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.cluster import Cluster
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.produce.destinations import Destination
from prokurist.network_thread.produce.endings import Endings
from prokurist.network_thread.produce.partition_sending import PartitionSending
from prokurist.network_thread.produce.producer_ids import NumberingIds
from prokurist.network_thread.produce.transactions.writes import TransactionWrites


class Drafting:
    """Takes the batches of a request.

    Args:
        accumulator: What is to be sent.
        endings: Told when the numbers of a partition begin again.
        ids: Numbers batches; None without idempotence.
        writes: Admits partitions to the transaction; None without transactions.
        timer: The Timer.
        largest: `max.request.size`.
        stir: Has a partition looked at again.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        endings: Endings,
        ids: NumberingIds | None,
        writes: TransactionWrites | None,
        timer: Timer,
        largest: int,
        stir: Callable[[PartitionSending], None],
    ) -> None:
        self._accumulator = accumulator
        self._endings = endings
        self._ids = ids
        self._writes = writes
        self._timer = timer
        self._largest = largest
        self._stir = stir

    def draft(
        self, destination: Destination, cluster: Cluster
    ) -> dict[PartitionSending, Batch]:
        """Take a batch of each partition, in turns, for as much as a request may hold.

        Args:
            destination: The broker.
            cluster: Knows the ids of topics.
        """
        taken: dict[PartitionSending, Batch] = {}
        size = 0
        for _ in range(len(destination.partitions)):
            partition = destination.next()
            if partition is None:
                continue
            partition.address(cluster.id_of(partition.queue.tp.topic))
            batch = self._peek(partition)
            if batch is None:
                continue
            if taken and size + batch.size > self._largest:
                # It begins the next request.
                destination.put_back(partition)
                break
            if self._ids is not None and not self._can_number(self._ids, partition):
                self._stir(partition)
                continue
            if self._writes is not None and not self._writes.admits(partition, self._timer.now):
                continue
            taken[partition] = batch = self._take(partition, batch)
            size += batch.size
        for partition in taken:
            self._stir(partition)
        return taken

    def _peek(self, partition: PartitionSending) -> Batch | None:
        """The batch that a partition may send next."""
        if partition.retries:
            return partition.next_retry()
        if partition.may_send_new(self._timer.now) and self._accumulator.has_due(
            partition.queue
        ):
            return self._accumulator.peek(partition.queue)
        return None

    def _can_number(self, ids: NumberingIds, partition: PartitionSending) -> bool:
        """Return True if a partition's next batch can be numbered; else an id is on its way."""
        while ids.current is not None:
            if partition.prepare(ids.current):
                return True
            self._endings.tell_new_epoch(partition)
            ids.begin_again()
        return False

    def _take(self, partition: PartitionSending, batch: Batch) -> Batch:
        """Take a batch to be sent: an open one takes no more records."""
        if batch not in partition.retries:
            batch = self._accumulator.take(partition.queue) or batch
        if self._ids is not None:
            partition.number(batch)
        partition.sent(batch)
        return batch

    def __repr__(self) -> str:
        return f"Drafting(up to {self._largest} bytes)"
