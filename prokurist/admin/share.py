"""Start offsets of share groups: describe, alter, delete.

Thread: any application thread.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from prokurist.admin.arguments import named, require_name
from prokurist.admin.calls import AdminCalls
from prokurist.admin.groups import asked_partitions
from prokurist.admin.records import partitions_of
from prokurist.admin.results import Results
from prokurist.events.admin.share import (
    ShareOffsetsToAlter,
    ShareOffsetsToDelete,
    ShareOffsetsToDescribe,
)
from prokurist.types import TopicPartition, require_int
from prokurist.types.groups import ShareOffset


class Share(AdminCalls):
    """Calls of `KafkaAdmin` about start offsets of share groups (Kafka 4.1 and newer)."""

    def share_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None] | Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, Results[TopicPartition, ShareOffset | None]]:
        """Describe the start offsets of share groups, with their lag.

        Args:
            groups: The partitions of each group; None for all that it reads. Or the names
                alone.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The offsets of each group by partition; None where a partition that was named has
            none. A group that does not exist has none.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        work = ShareOffsetsToDescribe(asked_partitions(groups))
        return self._run(self._ask_each("share_offsets", work, timeout))

    def alter_share_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, None]:
        """Change start offsets of a share group without members; a missing one is created.

        Args:
            group: The group.
            offsets: The first offset to share, by partition.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each partition; GroupNotEmptyException if the group has members.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        require_name("groups", group)
        example = '{TopicPartition("orders", 0): 42}'
        items = partitions_of("offsets", offsets, example=example)
        for tp, offset in items.items():
            require_int(f"the offset of {tp}", offset)
        work = ShareOffsetsToAlter(group, items)
        return self._results("alter_share_offsets", work, timeout)

    def delete_share_offsets(
        self,
        group: str,
        topics: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, None]:
        """Delete the start offsets that a share group without members has of topics.

        Args:
            group: The group.
            topics: The topics.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each topic; GroupNotEmptyException if the group has members.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        require_name("groups", group)
        items = dict.fromkeys(named("topics", topics, example='["orders"]'))
        work = ShareOffsetsToDelete(group, items)
        return self._results("delete_share_offsets", work, timeout)
