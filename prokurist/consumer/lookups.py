"""Look-ups of the consumer: committed offsets, log offsets, topics.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses; it needs neither
an assignment nor a membership.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from prokurist.application.call_runner import CallRunner
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import partition_in, partitions_in, topic_in, topics_in
from prokurist.events.application_events import (
    Edge,
    ListTopics,
    LookUpCommitted,
    LookUpOffsets,
    LookUpTopic,
)
from prokurist.types import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    TopicPartition,
    require_int,
)


class Lookups:
    """The part of `KafkaConsumer` that looks up offsets, topics and partitions."""

    _caller: CallRunner
    _config: ConsumerConfig

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
            call = self._caller.call("committed", timeout, partitions=wanted)
            found: dict[TopicPartition, OffsetAndMetadata | None] = {}
            if wanted:
                found = self._caller.ask(call, LookUpCommitted(call, wanted, stable))
            return found

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
        wanted = dict.fromkeys(partitions_in(partitions), Edge.BEGINNING)
        return dict(self._offsets("beginning_offsets", wanted, timeout))

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
        wanted = dict.fromkeys(partitions_in(partitions), Edge.END)
        return dict(self._offsets("end_offsets", wanted, timeout))

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
        if not isinstance(timestamps, Mapping):
            raise TypeError(
                f"timestamps are a mapping of TopicPartition to int, not {timestamps!r}"
            )
        for tp, timestamp in timestamps.items():
            partition_in(tp)
            require_int(f"the millisecond timestamp of {tp}", timestamp)
        return dict(self._offsets("offsets_for_times", timestamps, timeout))

    def _offsets(
        self,
        operation: str,
        moments: Mapping[TopicPartition, Any],
        timeout: float | timedelta | None,
    ) -> Mapping[TopicPartition, Any]:
        read_committed = self._config.isolation_level == "read_committed"
        with self._caller.inside(operation):
            call = self._caller.call(operation, timeout, partitions=tuple(moments))
            if not moments:
                return {}
            if call.without_time:
                # No leader can have answered by now, so none is asked.
                return self._caller.refuse(call)
            event = LookUpOffsets(call, dict(moments), read_committed)
            found: Mapping[TopicPartition, Any] = self._caller.ask(call, event)
            return found

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
            call = self._caller.call("partitions_for", timeout, topic=name)
            found: list[PartitionInfo] = self._caller.ask(call, LookUpTopic(call, name))
            return found

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
            call = self._caller.call("list_topics", timeout)
            if names is not None and not names:
                return {}
            if call.without_time:
                return dict(self._caller.refuse(call))
            found: dict[str, list[PartitionInfo]] = self._caller.ask(
                call, ListTopics(call, names)
            )
            return found
