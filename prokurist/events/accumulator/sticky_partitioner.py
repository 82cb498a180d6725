"""Partitioner of records without a key (KIP-794).

One partition gets `batch.size` bytes, then the next one is chosen: each partition once in a
round whose order is drawn, so that shares are even. With
`partitioner.adaptive.partitioning.enable` a partition that has more batches waiting than
another one is passed over in that round: a slow broker gets less.

Thread: any application thread, under `_lock`, and the network thread, which begins another
round where leaders have changed.
"""

import threading
from collections.abc import Collection
from random import Random

from prokurist.events.accumulator.appending import TopicQueues as Topic
from prokurist.events.accumulator.partition_queue import PartitionQueue


class StickyPartitioner:
    """Chooses partitions for records without a key.

    Args:
        random: Draws the order of rounds.
        adaptive: `partitioner.adaptive.partitioning.enable`.

    Attributes:
        unavailable: Brokers that took nothing for `partitioner.availability.timeout.ms`;
            replaced as a whole.
        preferred: Brokers in `client.rack`, where `partitioner.rack.aware` is set; likewise.
    """

    def __init__(self, random: Random, *, adaptive: bool) -> None:
        self.unavailable: Collection[int] = frozenset()
        self.preferred: Collection[int] = frozenset()
        self._random = random
        self._adaptive = adaptive
        self._lock = threading.RLock()

    def choose(self, topic: Topic) -> None:
        """Set the partition that is used from now on."""
        with self._lock:
            topic.sticky, topic.sticky_bytes = self._next(topic), 0

    def draw_again(self, topic: Topic) -> None:
        """Begin another round: brokers that lead partitions of this one have come or gone."""
        with self._lock:
            topic.round = []
            topic.sticky, topic.sticky_bytes = self._next(topic), 0

    def _next(self, topic: Topic) -> PartitionQueue:
        left: list[PartitionQueue] = topic.round
        while not left:
            left = self._fit(topic)
            self._random.shuffle(left)
            topic.round = left
        # A signal handler may choose wherever something is called, and find fewer then.
        chosen = left.pop()
        if self._adaptive and left:
            rival = left[-1]
            if rival.length < chosen.length and left and left[-1] is rival:
                chosen, left[-1] = rival, chosen
            rest = left[:]
            if len(rest) == 1 and rest[0].length > chosen.length + 1:
                left.clear()  # It has enough to send, and gets nothing in this round.
        return chosen

    def _fit(self, topic: Topic) -> list[PartitionQueue]:
        """The partitions that records may go to: those of the first demand that some meet."""
        every: list[PartitionQueue] = topic.queues
        led = [each for each in every if each.leader is not None]
        up = [each for each in led if each.leader not in self.unavailable]
        near = [each for each in up if each.leader in self.preferred]
        return list(next(filter(None, (near, up, led)), every))

    def __repr__(self) -> str:
        return f"StickyPartitioner({len(self.unavailable)} brokers unavailable)"
