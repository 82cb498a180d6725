"""Records and offsets of partitions: delete records, look offsets up.

Thread: any application thread.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from prokurist.admin.arguments import mapping_of, require_name
from prokurist.admin.calls import AdminCalls
from prokurist.admin.results import Results
from prokurist.events.admin.records import OffsetsToList, RecordsToDelete
from prokurist.types import TopicPartition, require_int
from prokurist.types.records import ListedOffset, OffsetSpec

ALL: Final = -1


class Records(AdminCalls):
    """Calls of `KafkaAdmin` about records and offsets."""

    def delete_records(
        self,
        before: Mapping[TopicPartition, int],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, int]:
        """Delete the records before an offset, for good.

        Args:
            before: The first offset to keep, for each partition; −1 to delete all records that
                there are.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The new start of each log. One that begins later already is as it is. An offset
            beyond the end is OffsetOutOfRangeException.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        items = partitions_of("before", before, example='{TopicPartition("orders", 0): 500}')
        for tp, offset in items.items():
            if offset != ALL or isinstance(offset, bool):
                require_int(f"the offset of {tp}", offset)
        return self._results("delete_records", RecordsToDelete(items), timeout)

    def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec | int],
        *,
        read_committed: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, ListedOffset]:
        """Look offsets up, by name or by time.

        Args:
            specs: For each partition an OffsetSpec, or epoch milliseconds: the first record
                that is not older.
            read_committed: True if a log ends where the first open transaction begins.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The offset of each; its `offset` is None where there is no such record.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{TopicPartition("orders", 0): OffsetSpec.EARLIEST}'
        items = partitions_of("specs", specs, example=example)
        for tp, spec in items.items():
            if not isinstance(spec, OffsetSpec):
                require_int(f"the time of {tp}, in epoch milliseconds,", spec)
        numbers = {tp: int(spec) for tp, spec in items.items()}
        return self._results("list_offsets", OffsetsToList(numbers, read_committed), timeout)


def partitions_of(what: str, items: Any, *, example: str) -> dict[TopicPartition, Any]:
    """Return a mapping of partitions, which may be given as plain pairs.

    Raises:
        TypeError: It is none.
    """
    found: dict[TopicPartition, Any] = {}
    for key, value in mapping_of(what, items, example=example).items():
        found[partition_of(key)] = value
    return found


def partition_of(key: Any) -> TopicPartition:
    """Return a partition.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(key, tuple) or len(key) != len(TopicPartition._fields):
        raise TypeError(f"a partition is a TopicPartition, not {key!r}")
    topic, partition = key
    if not isinstance(topic, str):
        raise TypeError(f"the topic of a TopicPartition is a str, not {topic!r}")
    require_name("topics", topic)
    require_int("the partition of a TopicPartition", partition, 31)
    return TopicPartition(topic, partition)
