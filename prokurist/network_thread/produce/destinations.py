"""Brokers with waiting partitions.

Thread: the network thread alone. A turn looks at the brokers that something waits for, and at
no partition that has nothing to send.
"""

from collections import deque
from typing import Final

from prokurist.network_thread.produce.partition_sending import PartitionSending
from prokurist.types import Node

NOT_WAITING: Final = -1.0


class Destination:
    """One broker.

    Args:
        node: The broker.

    Attributes:
        node: The broker; as metadata names it at present.
        partitions: Those that have something to send to it, in the order of their turns.
        in_flight: Requests that it has not answered.
        stuck_since: Since when it takes nothing though something waits; −1 while it does.
    """

    def __init__(self, node: Node) -> None:
        self.node: Node = node
        self.partitions: deque[PartitionSending] = deque()
        self.in_flight: int = 0
        self.stuck_since: float = NOT_WAITING

    def add(self, partition: PartitionSending) -> None:
        """A partition has something to send."""
        partition.is_listed = True
        self.partitions.append(partition)

    def next(self) -> PartitionSending | None:
        """The partition whose turn it is, off the list."""
        if not self.partitions:
            return None
        partition = self.partitions.popleft()
        partition.is_listed = False
        return partition

    def put_back(self, partition: PartitionSending) -> None:
        """It is its turn again, before the others'."""
        partition.is_listed = True
        self.partitions.appendleft(partition)

    def clear(self) -> list[PartitionSending]:
        """All that wait, off the list."""
        waiting, self.partitions = list(self.partitions), deque()
        for each in waiting:
            each.is_listed = False
        return waiting

    def __repr__(self) -> str:
        return f"Destination({self.node}, {len(self.partitions)} wait, {self.in_flight} sent)"
