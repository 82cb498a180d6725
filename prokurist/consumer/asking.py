"""Calls of the consumer of threads that ask brokers: positions, commits, look-ups.

Thread: the application's. A part of `KafkaConsumer`.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from prokurist.application.telemetry import client_instance_id, require_push
from prokurist.consumer.arguments import (
    offsets_in,
    partition_in,
    partitions_in,
    topic_in,
    topics_in,
)
from prokurist.consumer.commit_queue import CommitCallback
from prokurist.consumer.core import ConsumerCore
from prokurist.consumer.lookups import edge_in, timestamps_in
from prokurist.consumer.offset_tracker import OffsetTracker
from prokurist.events.application_events import Edge
from prokurist.events.clock import as_seconds
from prokurist.types import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    TopicPartition,
)

if TYPE_CHECKING:
    from uuid import UUID


class AskingCalls(ConsumerCore):
    """The part of `KafkaConsumer` that asks brokers."""

    # --- positions and commits -------------------------------------------------------

    def position(
        self, partition: TopicPartition, timeout: float | timedelta | None = None
    ) -> int:
        """Return the offset of the next record to read.

        A known position is returned at once. Otherwise it is looked up: the group's committed
        offset, or else the offset by `auto.offset.reset`. A position with the leader epoch of
        the record before it is known only after the leader has confirmed it.

        Args:
            partition: An assigned one.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            GroupAuthorizationException: Not allowed in the group.
            IllegalStateException: The partition is not assigned.
            LogTruncationException: The log was cut back before the position, and
                `auto.offset.reset` is `none`.
            NoOffsetForPartitionException: Nothing is committed, and
                `auto.offset.reset` is `none`; it names all such partitions.
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on the topic.
            WakeupException: `wakeup` was called.
        """
        tp = partition_in(partition)
        with self._caller.inside("position"):
            return self._caller.drive(self._position(tp, timeout))

    def commit_sync(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Commit offsets, and return when the coordinator has them.

        Args:
            offsets: The next offset to read of each partition; None for the positions of all
                assigned ones, or for their stored offsets with
                `enable.auto.offset.store=false`.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            CommitFailedException: The group no longer counts this member.
            GroupAuthorizationException: Not allowed in the group.
            InvalidGroupIdException: There is no `group.id`.
            TimeoutException: The time is over; `may_have_happened` is True if the offsets may
                have been committed all the same.
            TopicAuthorizationException: Not allowed on some topics: all of them.
            WakeupException: `wakeup` was called.
        """
        given = None if offsets is None else offsets_in(offsets)
        with self._caller.inside("commit_sync"):
            self._caller.drive(self._commit_sync(given, timeout))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit offsets in one attempt, without waiting.

        With a thousand of them under way, a further one takes the place of an older one of the
        same partitions that still waits; that one fails, and the newest offsets go out.

        Args:
            offsets: For each partition the next offset to read; None as for
                `commit_sync`.
            callback: Called with the offsets, and with None or the error, on this
                thread inside a later `poll`, `commit_sync`, `commit_async` or
                `close`; in the order of the commits. A passing failure comes as
                RetriableCommitFailedException. Without one it is logged.

        Raises:
            InvalidGroupIdException: There is no `group.id`.
        """
        given = None if offsets is None else offsets_in(offsets)
        if callback is not None and not callable(callback):
            raise TypeError(f"a commit callback is callable, not {callback!r}")
        with self._caller.inside("commit_async"):
            self._caller.drive(self._commit_async(given, callback))

    def track_offsets(
        self, *, max_outstanding: int = 1000, max_uncommitted: int = 10_000
    ) -> OffsetTracker:
        """Track records that finish out of order, in pools and tasks.

        It takes `enable.auto.offset.store=false`, and is called once, before `subscribe` or
        `assign`. From then on a record that is returned is outstanding until
        `OffsetTracker.done` is told of it, and commits without offsets end before the lowest
        outstanding one of each partition.

        At a bound `poll` returns fewer records or none, by its deadline as ever, and an
        iteration waits; both go on as soon as a record is done. Records that were fetched
        stay where they are, and the member stays in its group.

        Args:
            max_outstanding: Records of all partitions that may be outstanding.
            max_uncommitted: Records of one partition that may be returned from its lowest
                outstanding one on: as many come again after a crash.

        Raises:
            IllegalStateException: It was called before; partitions are assigned; or
                `enable.auto.offset.store` is true.
        """
        self._track(max_outstanding, max_uncommitted)
        return OffsetTracker(self._caller, self._committable, self._background)

    # --- look-ups --------------------------------------------------------------------

    def committed(
        self,
        partitions: TopicPartition | Iterable[TopicPartition],
        timeout: float | timedelta | None = None,
        *,
        stable: bool = True,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up committed offsets of the group.

        Args:
            partitions: One partition, or several.
            timeout: Seconds; None for `default.api.timeout.ms`.
            stable: True to wait for open transactions that commit offsets of these partitions.
                Else the offsets committed before them are returned, for monitoring a group
                rather than reading on from there.

        Returns:
            The committed offset of each partition, or None without one.

        Raises:
            GroupAuthorizationException: Not allowed in the group.
            InvalidGroupIdException: There is no `group.id`.
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on some topics.
            WakeupException: `wakeup` was called.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("committed"):
            return self._caller.drive(self._committed(wanted, timeout, stable=stable))

    def beginning_offsets(
        self,
        partitions: TopicPartition | Iterable[TopicPartition],
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, int]:
        """Look up the first offset of each log.

        Args:
            partitions: One partition, or several.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on some topics.
            WakeupException: `wakeup` was called.
        """
        return self._ask_offsets(
            "beginning_offsets", edge_in(partitions, Edge.BEGINNING), timeout
        )

    def end_offsets(
        self,
        partitions: TopicPartition | Iterable[TopicPartition],
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, int]:
        """Look up the offset after the last record of each log.

        With `isolation.level=read_committed` it is the last stable offset: records of open
        transactions do not count yet.

        Args:
            partitions: One partition, or several.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on some topics.
            WakeupException: `wakeup` was called.
        """
        return self._ask_offsets("end_offsets", edge_in(partitions, Edge.END), timeout)

    def offsets_for_times(
        self,
        timestamps: Mapping[TopicPartition, int],
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Look up the first record at or after a time, in each log.

        Args:
            timestamps: For each partition a time, in milliseconds since the epoch.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            For each partition that record's offset and timestamp, or None where no
            record is that young.

        Raises:
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on some topics.
            WakeupException: `wakeup` was called.
        """
        return self._ask_offsets("offsets_for_times", timestamps_in(timestamps), timeout)

    def _ask_offsets(
        self,
        operation: str,
        moments: Mapping[TopicPartition, Any],
        timeout: float | timedelta | None,
    ) -> dict[TopicPartition, Any]:
        with self._caller.inside(operation):
            return self._caller.drive(self._offsets(operation, moments, timeout))

    def partitions_for(
        self, topic: str, timeout: float | timedelta | None = None
    ) -> list[PartitionInfo]:
        """Look up the partitions of a topic.

        Args:
            topic: Its name.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            Its partitions, in order; none for a topic that does not exist.

        Raises:
            InvalidTopicException: No topic can have this name.
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on the topic.
            WakeupException: `wakeup` was called.
        """
        name = topic_in(topic)
        with self._caller.inside("partitions_for"):
            return self._caller.drive(self._partitions_for(name, timeout))

    def list_topics(
        self,
        timeout: float | timedelta | None = None,
        *,
        topics: Iterable[str] | None = None,
    ) -> dict[str, list[PartitionInfo]]:
        """Look up topics and their partitions, as a broker tells them now.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.
            topics: Names; one request asks for all of them, and those that do not exist are
                left out. None for all topics that the user may see.

        Raises:
            InvalidTopicException: No topic can have one of the names.
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on a topic that is named.
            WakeupException: `wakeup` was called.
        """
        names = None if topics is None else topics_in(topics)
        with self._caller.inside("list_topics"):
            return self._caller.drive(self._list_topics(names, timeout))

    def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """Return the client instance id of the metrics pushed to brokers (KIP-714).

        A broker gives it, once.

        Args:
            timeout: Seconds; there is no default.

        Raises:
            IllegalStateException: `enable.metrics.push` is off.
            TimeoutException: The time is over.
            UnsupportedVersionException: The brokers take no metrics.
            WakeupException: `wakeup` was called.
        """
        as_seconds(timeout)
        with self._caller.inside("client_instance_id"):
            require_push(on=self._built().telemetry is not None)
            return self._caller.drive(client_instance_id(self._caller, timeout))
