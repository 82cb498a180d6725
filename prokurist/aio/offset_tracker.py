"""The tracker of records that are done in any order, for tasks.

Thread: the event loop's; `done` may come from any.
"""

from collections.abc import Iterable
from datetime import timedelta

from prokurist.aio.driving import drive
from prokurist.consumer.arguments import partitions_in
from prokurist.consumer.offset_tracker import TrackerCore
from prokurist.events.clock import as_seconds
from prokurist.types import TopicPartition


class OffsetTracker(TrackerCore):
    """Tracks the returned records that are done, in any order.

    `KafkaConsumer.track_offsets` makes one; see `prokurist.OffsetTracker`.
    """

    async def wait(
        self,
        timeout: float | timedelta,
        partitions: TopicPartition | Iterable[TopicPartition] | None = None,
    ) -> bool:
        """Wait until all outstanding records are done, or those of some partitions.

        In a rebalance listener workers may finish their records so before a partition goes.

        Args:
            timeout: Seconds; there is no default.
            partitions: The partitions; None for all that are assigned.

        Returns:
            True if they are; False when the time is over.
        """
        seconds = as_seconds(timeout)
        wanted = None if partitions is None else frozenset(partitions_in(partitions))
        with self._caller.inside("wait"):
            return await drive(self._await_done(seconds, wanted), self._caller.now)
