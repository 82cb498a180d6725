"""kafka-python's values; a TopicPartition is ours."""

from typing import Any, NamedTuple

from prokurist.records.consumer_records import ConsumerRecord as OurRecord
from prokurist.types import ConsumerGroupMetadata, TopicPartition
from prokurist.types import OffsetAndMetadata as OurOffset

__all__ = [
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TopicPartition",
]


class OffsetAndMetadata(NamedTuple):
    """An offset to commit, or one that was committed; a leader epoch of −1 is none."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int | None = -1

    def ours(self) -> OurOffset:
        """The same as a value of ours."""
        epoch = self.leader_epoch
        known = None if epoch is None or epoch < 0 else epoch
        return OurOffset(self.offset, self.metadata or "", known)

    @classmethod
    def given(cls, place: Any) -> "OffsetAndMetadata":
        """Convert the offset of a commit: one of these, or of kafka-python's own.

        Raises:
            TypeError: It is none.
        """
        if not isinstance(place, tuple):
            raise TypeError(
                "offsets are a dict of TopicPartition to OffsetAndMetadata, such as "
                f"OffsetAndMetadata(5, '', -1), not to {place!r}"
            )
        return cls(*place)

    @classmethod
    def of(cls, place: OurOffset) -> "OffsetAndMetadata":
        """A value of ours."""
        epoch = -1 if place.leader_epoch is None else place.leader_epoch
        return cls(place.offset, place.metadata, epoch)


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp: int
    leader_epoch: int | None = -1


class ConsumerRecord(NamedTuple):
    """A record; the sizes are those of its bytes, and −1 where there are none."""

    topic: str
    partition: int
    leader_epoch: int | None
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: list[tuple[str, bytes | None]]
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int

    @classmethod
    def of(cls, record: OurRecord) -> "ConsumerRecord":
        """A record of ours."""
        headers = list(record.headers)
        size = sum(len(name.encode()) + len(each or b"") for name, each in headers)
        return cls(
            record.topic,
            record.partition,
            record.leader_epoch,
            record.offset,
            record.timestamp,
            record.timestamp_type.value,
            record.key,
            record.value,
            headers,
            None,
            record.serialized_key_size,
            record.serialized_value_size,
            size if headers else -1,
        )


class RecordMetadata(NamedTuple):
    """Partition and offset of a sent record."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
