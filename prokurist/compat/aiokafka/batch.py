"""A batch that a program fills itself: records are kept here until it is sent.

It takes as many bytes as aiokafka's, by the format of Kafka's record batches.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from prokurist.events.clock import epoch_milliseconds
from prokurist.lazy_dataclasses import dataclass

HEADER: Final = 61
"""Bytes of a batch before its records."""

_NULL: Final = 1
"""Bytes for a length that says that there is nothing."""


@dataclass(frozen=True, slots=True)
class RecordInBatch:
    """Place and size of a record in a batch.

    Attributes:
        offset: Its place.
        size: Its bytes.
        timestamp: Its timestamp.
    """

    offset: int
    size: int
    timestamp: int
    crc: int | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A record of a batch, as it is sent."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int


class BatchBuilder:
    """A batch to be filled and then given to `send_batch`.

    Args:
        batch_size: Its bytes at most; the first record has room in any case.
        key_serializer: Makes bytes of keys.
        value_serializer: Makes bytes of values.
    """

    def __init__(
        self,
        batch_size: int,
        key_serializer: Callable[[Any], Any] | None = None,
        value_serializer: Callable[[Any], Any] | None = None,
    ) -> None:
        self._most = batch_size
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._size = HEADER
        self._closed = False
        self.records: list[Kept] = []

    def append(
        self,
        *,
        timestamp: int | None,
        key: Any,
        value: Any,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> RecordInBatch | None:
        """Add a record.

        Args:
            timestamp: Epoch milliseconds; None for now.
            key: Its key.
            value: Its value.
            headers: Its headers.

        Returns:
            None when the batch is full, or was closed.

        Raises:
            TypeError: A key or a value is no bytes.
        """
        if self._closed:
            return None
        if timestamp is None:
            timestamp = epoch_milliseconds()
        elif type(timestamp) is not int:
            raise TypeError(f"a timestamp is an int, not {timestamp!r}")
        record = Kept(
            serialized("key", self._key_serializer, key),
            serialized("value", self._value_serializer, value),
            tuple(headers or ()),
            timestamp,
        )
        first = self.records[0].timestamp if self.records else timestamp
        size = size_of(record, timestamp - first, len(self.records))
        if self.records and self._size + size > self._most:
            self._closed = True
            return None
        self.records.append(record)
        self._size += size
        return RecordInBatch(len(self.records) - 1, size, timestamp)

    def close(self) -> None:
        """Take no more records."""
        self._closed = True

    def size(self) -> int:
        """Bytes of the batch."""
        return self._size

    def record_count(self) -> int:
        """Count its records."""
        return len(self.records)

    def closed(self) -> bool:
        """Return True if it takes no more records."""
        return self._closed

    def __repr__(self) -> str:
        return f"BatchBuilder({len(self.records)} records, {self._size} bytes)"


def serialized(what: str, serializer: Callable[[Any], Any] | None, given: Any) -> bytes | None:
    """The bytes of a key or a value.

    Raises:
        TypeError: It is neither bytes nor None.
    """
    made = given if serializer is None else serializer(given)
    if made is None or isinstance(made, bytes):
        return made
    if isinstance(made, bytearray | memoryview):
        return bytes(made)
    raise TypeError(f"a {what} is bytes, or a {what}_serializer makes bytes of it: {made!r}")


def size_of(record: Kept, later: int, place: int) -> int:
    """Bytes of a record in a batch.

    Args:
        record: It.
        later: Milliseconds from the first record to it.
        place: How many records stand before it.
    """
    headers = sum(
        _field(name.encode()) + _field(value) for name, value in record.headers
    ) + _varint(len(record.headers))
    size = 1 + _varint(later) + _varint(place) + _field(record.key) + _field(record.value)
    return _varint(size + headers) + size + headers


def _field(data: bytes | None) -> int:
    return _NULL if data is None else _varint(len(data)) + len(data)


def _varint(number: int) -> int:
    """Bytes of a number, seven bits in each, of which the lowest is its sign."""
    bits = (number << 1 if number >= 0 else ~(number << 1)).bit_length()
    return max(1, -(-bits // 7))
