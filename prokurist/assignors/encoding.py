"""Encoding of subscriptions and assignments in a classic group, as in all Kafka clients.

The broker passes these bytes on and looks at none of them; so they come from other
clients of any age, and may be wrong. Each message begins with its version: what is new
in a version stands behind what was there before, and a reader takes what it knows.

Thread: either.
"""

import struct
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from prokurist.assignors.assignor import Member
from prokurist.types import TopicPartition

VERSION: Final = 3
"""The latest: 1 has what a member owns, 2 since when, 3 its rack."""


PART: Final = 1 << 18
"""Most topics and partitions in a message."""
GROUP: Final = 1 << 20
"""Topics and partitions that the messages of all members of a group may name together."""


class MalformedMessage(ValueError):
    """Bytes that no client should have sent."""


class Elements:
    """Budget of topics and partitions in some messages.

    The broker's limits count a message as one run of bytes. This one is what bounds the
    objects made of them.

    Args:
        most: How many in all.
    """

    __slots__ = ("_left", "_most")

    def __init__(self, most: int = PART) -> None:
        self._left = self._most = most

    def count(self, more: int) -> None:
        """Count elements before they are made.

        Raises:
            MalformedMessage: There are too many.
        """
        if more > self._left:
            raise MalformedMessage(f"more than {self._most} topics and partitions")
        self._left -= max(more, 0)


def subscription(member: Member) -> bytes:
    """Encode a member's subscription; its ids travel elsewhere."""
    return (
        Writer()
        .int16(VERSION)
        .texts(member.topics)
        .data(member.user_data)
        .partitions(member.owned)
        .int32(member.generation)
        .optional_text(member.rack)
        .bytes()
    )


def subscriber(
    data: bytes,
    member_id: str,
    instance_id: str | None = None,
    elements: Elements | None = None,
) -> Member:
    """Decode a member's subscription.

    Args:
        data: Its message.
        member_id: Its id.
        instance_id: Its static name.
        elements: The budget of its group's messages; None for this one alone.

    Raises:
        MalformedMessage: It cannot be read.
    """
    reader = Reader(data, elements)
    version = reader.int16()
    if version < 0:
        raise MalformedMessage(f"a subscription of version {version}")
    topics = reader.texts()
    user_data = reader.data()
    return Member(
        member_id,
        topics,
        instance_id,
        user_data=user_data,
        owned=reader.partitions() if version >= 1 else (),
        generation=reader.int32() if version >= 2 else -1,
        rack=reader.optional_text() if version >= 3 else None,
    )


def assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode a member's assignment."""
    return Writer().int16(VERSION).partitions(partitions).data(None).bytes()


def assigned(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode an assignment; empty bytes are an empty one.

    Raises:
        MalformedMessage: It cannot be read.
    """
    if not data:
        return ()
    reader = Reader(data)
    version = reader.int16()
    if version < 0:
        raise MalformedMessage(f"an assignment of version {version}")
    return reader.partitions()


class Writer:
    """Writes the fields of a subscription or an assignment."""

    def __init__(self) -> None:
        self._out = bytearray()

    def int16(self, number: int) -> "Writer":
        """Write a number of two bytes."""
        self._out += struct.pack(">h", number)
        return self

    def int32(self, number: int) -> "Writer":
        """Write a number of four bytes."""
        self._out += struct.pack(">i", number)
        return self

    def text(self, text: str) -> "Writer":
        """A text after its length."""
        encoded = text.encode()
        self.int16(len(encoded))
        self._out += encoded
        return self

    def optional_text(self, text: str | None) -> "Writer":
        """Write a text, or null."""
        return self.int16(-1) if text is None else self.text(text)

    def texts(self, texts: Iterable[str]) -> "Writer":
        """Write texts, after their number."""
        listed = list(texts)
        self.int32(len(listed))
        for each in listed:
            self.text(each)
        return self

    def data(self, data: bytes | None) -> "Writer":
        """Bytes after their number, or none."""
        if data is None:
            return self.int32(-1)
        self.int32(len(data))
        self._out += data
        return self

    def partitions(self, partitions: Iterable[TopicPartition]) -> "Writer":
        """Topics with their partitions, in order."""
        runs = [
            (topic, [tp.partition for tp in run])
            for topic, run in groupby(sorted(partitions), lambda tp: tp.topic)
        ]
        self.int32(len(runs))
        for topic, numbers in runs:
            self.text(topic).int32(len(numbers))
            for number in numbers:
                self.int32(number)
        return self

    def bytes(self) -> bytes:
        """All that was written."""
        return bytes(self._out)


class Reader:
    """Takes from the front, and believes no length that goes beyond the end.

    Args:
        data: A message.
        elements: How many elements it may have; None for what one message may.
    """

    def __init__(self, data: bytes, elements: Elements | None = None) -> None:
        self._data = data
        self._at = 0
        self._elements = elements or Elements()

    def _taken(self, count: int) -> bytes:
        start, end = self._at, self._at + count
        if count < 0 or end > len(self._data):
            raise MalformedMessage(
                f"{count} bytes at byte {start} of {len(self._data)} of a group's message"
            )
        self._at = end
        return self._data[start:end]

    def int16(self) -> int:
        """A number of two bytes."""
        return int.from_bytes(self._taken(2), "big", signed=True)

    def int32(self) -> int:
        """A number of four bytes."""
        return int.from_bytes(self._taken(4), "big", signed=True)

    def text(self) -> str:
        """Read a text."""
        try:
            return self._taken(self.int16()).decode()
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"not UTF-8: {error}") from None

    def optional_text(self) -> str | None:
        """Read a text, or null."""
        before = self._at
        if self.int16() < 0:
            return None
        self._at = before
        return self.text()

    def _count(self, smallest: int) -> int:
        """A number of elements, each of which takes so many bytes at least."""
        count = self.int32()
        if count * smallest > len(self._data) - self._at:
            self._taken(count * smallest)
        self._elements.count(count)
        return count

    def texts(self) -> tuple[str, ...]:
        """Read texts, after their number."""
        return tuple(self.text() for _ in range(self._count(2)))

    def data(self) -> bytes | None:
        """Read bytes, or null."""
        count = self.int32()
        return None if count < 0 else self._taken(count)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Read topics with their partitions."""
        found: list[TopicPartition] = []
        for _ in range(self._count(6)):
            topic = self.text()
            count = self._count(4)
            found.extend(TopicPartition(topic, self.int32()) for _ in range(count))
        return tuple(found)
