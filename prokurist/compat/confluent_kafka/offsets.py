"""Offsets to commit, and what was committed, between confluent-kafka's values and ours."""

import struct
from collections.abc import Mapping
from typing import Final

from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.values import Message, TopicPartition, ours
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata
from prokurist.types import TopicPartition as OurPartition

_MAGIC: Final = b"CGMDv2:"


def offsets_in(
    message: Message | None, offsets: list[TopicPartition] | None
) -> dict[OurPartition, OffsetAndMetadata]:
    """A message or offsets as offsets to commit.

    Raises:
        KafkaException: The message is an error.
    """
    if message is not None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if message.error() is not None or topic is None or partition is None or offset is None:
            raise KafkaException(
                KafkaError(KafkaError._INVALID_ARG, "an error is no message to commit")
            )
        place = OffsetAndMetadata(offset + 1, "", message.leader_epoch())
        return {OurPartition(topic, partition): place}
    return {
        ours(each): OffsetAndMetadata(each.offset, each.metadata or "", each.leader_epoch)
        for each in offsets or ()
        if each.offset >= 0
    }


def as_partitions(
    offsets: Mapping[OurPartition, OffsetAndMetadata],
) -> list[TopicPartition]:
    """Offsets to commit as partitions with their offsets."""
    return [as_committed(TopicPartition(*tp), place) for tp, place in sorted(offsets.items())]


def as_committed(partition: TopicPartition, place: OffsetAndMetadata | None) -> TopicPartition:
    """A partition with what is committed of it; `OFFSET_INVALID` where that is nothing."""
    if place is None:
        return TopicPartition(partition.topic, partition.partition)
    return TopicPartition(
        partition.topic,
        partition.partition,
        place.offset,
        place.metadata or None,
        place.leader_epoch,
    )


def as_bytes(place: ConsumerGroupMetadata) -> bytes:
    """A member's place in its group as bytes.

    They are librdkafka's: a transaction of confluent-kafka's `Producer` takes them.
    """
    instance = place.group_instance_id
    return b"".join(
        (
            _MAGIC,
            struct.pack("=i", place.generation_id),
            place.group_id.encode() + b"\0",
            place.member_id.encode() + b"\0",
            b"\1" if instance is None else b"\0" + instance.encode() + b"\0",
        )
    )


def from_bytes(data: object) -> ConsumerGroupMetadata:
    """The member's place in its group of what `as_bytes` has written.

    Raises:
        TypeError: They are no bytes of a consumer.
    """
    wrong = TypeError(
        f"group_metadata is what consumer.consumer_group_metadata() returns, not {data!r}"
    )
    if not isinstance(data, bytes) or not data.startswith(_MAGIC):
        raise wrong
    try:
        (generation,) = struct.unpack_from("=i", data, len(_MAGIC))
        group, member, rest = data[len(_MAGIC) + 4 :].split(b"\0", 2)
        if rest == b"\1":
            return ConsumerGroupMetadata(group.decode(), generation, member.decode())
        # A static member: a zero before its name, and one behind it.
        instance = rest.removeprefix(b"\0").removesuffix(b"\0").decode()
        return ConsumerGroupMetadata(group.decode(), generation, member.decode(), instance)
    except (struct.error, ValueError):
        raise wrong from None
