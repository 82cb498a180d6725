"""Seeks, pauses and resumes of the consumer.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses. None of these
calls waits for a broker or another thread.
"""

from collections.abc import Collection, Iterable
from typing import Final

from prokurist.application.call_runner import CallRunner
from prokurist.config import OffsetReset
from prokurist.consumer.arguments import partition_in, partitions_in
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.errors import KafkaException
from prokurist.events.application_events import DropStale
from prokurist.events.assigned import AnyAssigned
from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.fetching import Fetching, Use
from prokurist.events.position_state import Position
from prokurist.events.positions import Positions
from prokurist.records.reader import PartitionReader
from prokurist.types import OffsetAndMetadata, TopicPartition

EARLIEST: Final = OffsetReset("earliest")
LATEST: Final = OffsetReset("latest")


class Seeking:
    """The part of `KafkaConsumer` that seeks, pauses and resumes."""

    _caller: CallRunner
    _auto: AutoCommitter
    _assigned: AnyAssigned
    _positions: Positions
    _fetching: Fetching
    _buffer: FetchBuffer[PartitionReader]

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Set the position of a partition; the next poll reads from there.

        Args:
            partition: An assigned one.
            offset: The next offset to read; with the leader epoch of the record before
                it, if that is known: the leader confirms it before it is read from.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        tp = partition_in(partition)
        to = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        with self._caller.inside("seek"):
            self._positions.seek(tp, Position(to.offset, to.leader_epoch))
            self._drop_stale()

    def seek_to_beginning(
        self, partitions: TopicPartition | Iterable[TopicPartition] = ()
    ) -> None:
        """Read on from the beginning of each log; it is looked up when it is needed.

        Args:
            partitions: Assigned ones; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        self._seek_by("seek_to_beginning", partitions, EARLIEST)

    def seek_to_end(self, partitions: TopicPartition | Iterable[TopicPartition] = ()) -> None:
        """Read on from the end of each log; it is looked up when it is needed.

        Args:
            partitions: Assigned ones; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        self._seek_by("seek_to_end", partitions, LATEST)

    def _seek_by(
        self,
        operation: str,
        partitions: TopicPartition | Iterable[TopicPartition],
        reset: OffsetReset,
    ) -> None:
        wanted = partitions_in(partitions)
        with self._caller.inside(operation):
            self._positions.seek_by(wanted or self._assigned.partitions(), reset)
            self._drop_stale()

    def pause(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Pause partitions: no record of them is returned until `resume`.

        Args:
            partitions: Assigned ones.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("pause"):
            self._positions.pause(wanted, paused=True)

    def resume(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Resume paused partitions.

        Args:
            partitions: Assigned ones.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("resume"):
            self._positions.pause(wanted, paused=False)
            self._buffer.stir()

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        with self._caller.inside("paused"):
            return self._positions.paused()

    def _change_assignment(self, partitions: Collection[TopicPartition]) -> None:
        if self._assigned.partitions() != frozenset(partitions):
            self._auto.let_go()
        self._assigned.assign(partitions)
        self._drop_stale()

    def _drop_stale(self) -> None:
        """Drop buffered records and look-ups that are not wanted any more."""
        self._buffer.purge(lambda tp, ticket: self._fetching.use_of(tp, ticket) is Use.DROP)
        self._buffer.stir()
        if self._positions.take_stale():
            try:
                self._caller.post(DropStale(self._caller.call("assign", None)))
            except KafkaException:
                return  # The thread has ended, and looks for nothing.
