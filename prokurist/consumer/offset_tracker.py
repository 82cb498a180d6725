"""Tracking of records that finish out of order, and of the offsets safe to commit.

Thread: `done` and the numbers from any, the workers' for one; the rest is the application's.

Outstanding records stand beside the positions (`events/stored_offsets.py`), so commits find
both in one place, and the outstanding records of a partition go when the partition does.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Protocol

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.consumer.arguments import partitions_in
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import as_seconds
from prokurist.events.committable import Committable
from prokurist.types import TopicPartition


class Place(Protocol):
    """Interface of a record's place; ConsumerRecord has it."""

    @property
    def topic(self) -> str:
        """Its topic."""
        ...

    @property
    def partition(self) -> int:
        """The number of its partition."""
        ...

    @property
    def offset(self) -> int:
        """Its offset."""
        ...


class TrackerCore:
    """Core of the trackers of both consumers: all but the wait.

    Args:
        caller: The way to the network thread.
        committable: Knows outstanding records.
        background: Has a poll look again.
    """

    def __init__(
        self, caller: CallRunner, committable: Committable, background: BackgroundEvents
    ) -> None:
        self._caller = caller
        self._committable = committable
        self._background = background
        self._waiting: tuple[Call, Callable[[], bool]] | None = None

    def done(self, record: Place) -> bool:
        """Take note that a record is done: from any thread, and at once.

        A record that was done before counts no second time, and neither does one of a
        partition that was given up, or sought elsewhere, since the record was returned:
        another member, or this one, gets it again. Both change nothing but the metric
        `prokurist_consumer_records_done_total`.

        Args:
            record: A record that this consumer has returned, or a copy of one.

        Returns:
            True if it was outstanding.
        """
        tp = TopicPartition(record.topic, record.partition)
        if not self._committable.finish(tp, record.offset):
            return False
        if self._committable.take_held_up():
            self._background.nudge()
        waiting = self._waiting
        if waiting is not None and waiting[1]():
            waiting[0].finish()
        return True

    @property
    def outstanding(self) -> int:
        """Number of returned records that are not done."""
        return self._committable.outstanding().records

    @property
    def held_back(self) -> int:
        """Number of done records behind an outstanding one; they cannot be committed yet."""
        return self._committable.outstanding().held_back

    def _await_done(
        self, seconds: float, wanted: frozenset[TopicPartition] | None
    ) -> Steps[bool]:
        call = self._caller.call("wait", seconds)

        def is_over() -> bool:
            return self._committable.outstanding(wanted).records == 0

        # Shown before the look: what is done later ends the wait.
        self._waiting = call, is_over
        try:
            return is_over() or (yield from self._caller.wait(call, call.deadline))
        finally:
            self._waiting = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.outstanding} outstanding, {self.held_back} held back)"
        )


class OffsetTracker(TrackerCore):
    """Tracks the returned records that are done, in any order.

    `KafkaConsumer.track_offsets` makes one. From then on each record that the consumer
    returns is outstanding until `done` is told of it. Commits without offsets, automatic ones
    included, end before the lowest outstanding record of each partition: after a
    crash, a record that was not done comes again.
    """

    def wait(
        self,
        timeout: float | timedelta,
        partitions: TopicPartition | Iterable[TopicPartition] | None = None,
    ) -> bool:
        """Wait until all outstanding records are done, or those of some partitions.

        It is for the consumer's own thread: before `close`, and in a rebalance listener, where
        workers may finish their records before the partition goes. Nothing is polled meanwhile,
        so it should take less than `max.poll.interval.ms`, for which the group waits.

        Args:
            timeout: Seconds; there is no default.
            partitions: The partitions; None for all that are assigned.

        Returns:
            True if they are; False when the time is over.

        Raises:
            WakeupException: `wakeup` was called.
        """
        seconds = as_seconds(timeout)
        wanted = None if partitions is None else frozenset(partitions_in(partitions))
        with self._caller.inside("wait"):
            return self._caller.drive(self._await_done(seconds, wanted))
