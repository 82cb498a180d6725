"""aiokafka's values; a TopicPartition is ours."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import ConsumerRecord as OurRecord
from prokurist.types import TopicPartition

__all__ = [
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TopicPartition",
]

KT = TypeVar("KT")
VT = TypeVar("VT")


class OffsetAndMetadata(NamedTuple):
    """An offset to commit, or one that was committed."""

    offset: int
    metadata: str


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp: int | None


class RecordMetadata(NamedTuple):
    """Partition and offset of a sent record; `log_start_offset` is not known here."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int | None
    timestamp_type: int
    log_start_offset: int | None


@dataclass
class ConsumerRecord(Generic[KT, VT]):
    """A record; the sizes are those of its bytes, and −1 where there are none."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: KT | None
    value: VT | None
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    headers: Sequence[tuple[str, bytes | None]]


def record_of(record: OurRecord) -> ConsumerRecord[object, object]:
    """A record of ours."""
    return ConsumerRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type.value,
        record.key,
        record.value,
        None,
        record.serialized_key_size,
        record.serialized_value_size,
        tuple(record.headers),
    )
