"""Look-ups of the consumer: committed offsets, log offsets, topics.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses; it needs neither
an assignment nor a membership.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import partition_in, partitions_in
from prokurist.events.application_events import (
    Edge,
    ListTopics,
    LookUpCommitted,
    LookUpOffsets,
    LookUpTopic,
)
from prokurist.types import (
    OffsetAndMetadata,
    PartitionInfo,
    TopicPartition,
    require_int,
)


class Lookups:
    """The part of `KafkaConsumer` that looks up offsets, topics and partitions."""

    _caller: CallRunner
    _config: ConsumerConfig

    def _committed(
        self,
        wanted: tuple[TopicPartition, ...],
        timeout: float | timedelta | None,
        *,
        stable: bool,
    ) -> Steps[dict[TopicPartition, OffsetAndMetadata | None]]:
        call = self._caller.call("committed", timeout, partitions=wanted)
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        if wanted:
            found = yield from self._caller.ask(call, LookUpCommitted(call, wanted, stable))
        return found

    def _offsets(
        self,
        operation: str,
        moments: Mapping[TopicPartition, Any],
        timeout: float | timedelta | None,
    ) -> Steps[dict[TopicPartition, Any]]:
        read_committed = self._config.isolation_level == "read_committed"
        call = self._caller.call(operation, timeout, partitions=tuple(moments))
        if not moments:
            return {}
        if call.without_time:
            # No leader can have answered by now, so none is asked.
            return self._caller.refuse(call)
        event = LookUpOffsets(call, dict(moments), read_committed)
        found: Mapping[TopicPartition, Any] = yield from self._caller.ask(call, event)
        return dict(found)

    def _partitions_for(
        self, name: str, timeout: float | timedelta | None
    ) -> Steps[list[PartitionInfo]]:
        call = self._caller.call("partitions_for", timeout, topic=name)
        found: list[PartitionInfo] = yield from self._caller.ask(call, LookUpTopic(call, name))
        return found

    def _list_topics(
        self, names: frozenset[str] | None, timeout: float | timedelta | None
    ) -> Steps[dict[str, list[PartitionInfo]]]:
        call = self._caller.call("list_topics", timeout)
        if names is not None and not names:
            return {}
        if call.without_time:
            return self._caller.refuse(call)
        found: dict[str, list[PartitionInfo]] = yield from self._caller.ask(
            call, ListTopics(call, names)
        )
        return found


def edge_in(
    partitions: TopicPartition | Iterable[TopicPartition], edge: Edge
) -> dict[TopicPartition, Edge]:
    """Check partitions, for a look-up of one end of their logs."""
    return dict.fromkeys(partitions_in(partitions), edge)


def timestamps_in(timestamps: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
    """Check times, for a look-up of their offsets.

    Raises:
        TypeError: They are no mapping of partitions to numbers.
    """
    if not isinstance(timestamps, Mapping):
        raise TypeError(
            f"timestamps are a mapping of TopicPartition to int, not {timestamps!r}"
        )
    for tp, timestamp in timestamps.items():
        partition_in(tp)
        require_int(f"the millisecond timestamp of {tp}", timestamp)
    return timestamps
