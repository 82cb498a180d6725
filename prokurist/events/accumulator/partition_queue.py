"""The batches of one partition, in the order in which they are sent.

Thread: application threads begin batches, under the accumulator's lock; the network thread
takes them, under the same; what is below `sending` is the network thread's alone.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from prokurist.events.accumulator.appending import QueueBase
    from prokurist.events.accumulator.batch import Batch
else:
    from prokurist.events.accumulator.implementation import QueueBase


class PartitionQueue(QueueBase):
    """The open batch of a partition, and those that are closed and not yet sent.

    Args:
        topic: The topic.
        partition: The partition's number.

    Attributes:
        tp: The partition.
        closed: Batches that take no more records and have not been sent, the oldest first.
        leader: The broker that leads the partition, where it is known; of one look at the
            cluster, for the choice of partitions.
        sending: What the network thread keeps of the partition.
        is_due: Whether the network thread has it on its list, or is going to.
    """

    __slots__ = ("closed", "is_due", "leader", "sending", "tp")

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(partition)
        self.tp: TopicPartition = TopicPartition(topic, partition)
        self.closed: deque[Batch] = deque()
        self.leader: int | None = None
        self.sending: Any = None
        self.is_due: bool = False

    @property
    def length(self) -> int:
        """Number of batches that wait to be sent."""
        return len(self.closed) + (self.open_batch is not None)

    def __repr__(self) -> str:
        return f"PartitionQueue({self.tp}, {len(self.closed)} closed, {self.open_batch})"
