"""Ages of the first unread records, estimated between readings of the metrics.

Each reading notes the log end offsets. From these follows the time at which the record at a
position was written, to within the interval of two readings. Of records older than the first
reading, only a lower bound is known.

Thread: any; two readers at once may lose a note of one of them.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias
from uuid import UUID
from weakref import WeakKeyDictionary

from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.events.committable import PartitionOffsets
from prokurist.metrics.log_ends import LogEnds
from prokurist.types import TopicPartition

Log: TypeAlias = tuple[TopicPartition, UUID | None]
"""The log of a partition: of a topic that was deleted and made again it is another one."""


class LagAges:
    """Log end offsets seen, of all clients of this process."""

    def __init__(self) -> None:
        self._clients: WeakKeyDictionary[CountedConsumer, dict[Log, LogEnds]] = (
            WeakKeyDictionary()
        )

    def seen(
        self, client: CountedConsumer, places: Sequence[PartitionOffsets], now: float
    ) -> dict[TopicPartition, float]:
        """Note the log ends, and return the ages in seconds; 0 for a partition read to its end.

        Args:
            client: Whose partitions they are.
            places: Where they stand; what is not among them is forgotten.
            now: The client's clock.
        """
        before = self._clients.get(client, {})
        kept: dict[Log, LogEnds] = {}
        ages: dict[TopicPartition, float] = {}
        for place in places:
            if place.position is None or place.end is None:
                continue
            log = place.partition, place.topic
            ends = kept[log] = before.get(log) or LogEnds()
            ends.seen(place.end, now, place.position)
            age = ends.age(place.position, now)
            if age is not None:
                ages[place.partition] = age
        self._clients[client] = kept
        return ages

    def __repr__(self) -> str:
        return f"LagAges({len(self._clients)} clients)"


AGES: Final = LagAges()
"""Those of this process."""
