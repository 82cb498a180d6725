"""Messages of the formats before batches, magic 0 and 1.

A message stands alone, or wraps a compressed set of others. The wrapper bears the
offset of the last one inside: magic 0 keeps their absolute offsets, magic 1 counts
them from the first. They are rare by now, so both twins read them here.

Thread: either; nothing here keeps state.
Invariants: as for batches, see `prokurist.records.decode`.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from prokurist.errors import CorruptRecordException
from prokurist.records.columns import Columns, Row
from prokurist.records.compression import LZ4_MAGIC, Compression, decompress
from prokurist.records.headers import LAST_OFFSET, LEAD, BatchHeader, header_at
from prokurist.types import TimestampType

LENGTH: Final = struct.Struct(">i")
BODY_AT: Final = (18, 26)
"""Where a message's key begins, with its length, by magic."""
XXH_PRIMES: Final = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
WORD: Final = 0xFFFFFFFF


class Message(NamedTuple):
    """One message: its header, and where key and value lie; −1 is null."""

    header: BatchHeader
    key: int
    key_length: int
    value: int
    value_length: int

    def row(self, offset: int, timestamp: int) -> Row:
        """As a row, at the end of the data there are no headers."""
        key = (self.key, self.key_length)
        return (offset, timestamp, *key, self.value, self.value_length, 0, 0)


def decode_message(
    topic: str,
    partition: int,
    header: BatchHeader,
    data: bytes | memoryview,
    cap: int,
    make: type[Columns],
) -> Columns:
    """Read one message, or those that it wraps.

    Args:
        topic: Where it comes from.
        partition: Where it comes from.
        header: Its header.
        data: The bytes it lies in.
        cap: How many bytes its compressed ones may come to.
        make: The twin's `Columns`.

    Raises:
        CorruptRecordException: It is not right.
    """
    outer = _message(data, header)
    kind = header.timestamp_type
    if header.codec == Compression.NONE:
        rows = [outer.row(header.last_offset, header.max_timestamp)]
        return make(topic, partition, None, kind, data, rows)
    if outer.value_length < 0:
        raise CorruptRecordException("a compressed message wraps nothing")
    if header.codec == Compression.ZSTD:
        raise CorruptRecordException("zstd came with batches: no message can be compressed so")
    inside = bytes(data[outer.value : outer.value + outer.value_length])
    if header.codec == Compression.LZ4 and header.magic == 0:
        inside = mended(inside)
    plain = decompress(header.codec, inside, cap)
    rows = list(_unwrapped(header, bytes(plain)))
    return make(topic, partition, None, kind, plain, rows)


def _unwrapped(wrapper: BatchHeader, plain: bytes) -> Iterator[Row]:
    messages = list(_messages(wrapper, plain))
    if not messages:
        raise CorruptRecordException("a compressed message wraps nothing")
    first = 0
    if wrapper.magic == 1:
        first = wrapper.last_offset - messages[-1].header.last_offset
    previous = -1
    for message in messages:
        offset = first + message.header.last_offset
        if not previous < offset <= min(wrapper.last_offset, LAST_OFFSET):
            raise CorruptRecordException(
                f"a wrapped message's offset {offset} does not lie behind {previous} "
                f"and up to the wrapper's, {wrapper.last_offset}"
            )
        previous = offset
        stamped = wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
        yield message.row(
            offset, wrapper.max_timestamp if stamped else message.header.max_timestamp
        )


def _messages(wrapper: BatchHeader, plain: bytes) -> Iterator[Message]:
    at = 0
    while at < len(plain):
        header = header_at(plain, at)
        if header is None:
            raise CorruptRecordException(f"a wrapped message breaks off at byte {at}")
        if header.magic != wrapper.magic or header.codec != Compression.NONE:
            raise CorruptRecordException(
                f"a message of magic {wrapper.magic} wraps one of magic {header.magic} "
                f"and codec {header.codec}"
            )
        yield _message(plain, header)
        at += header.size


def _message(data: bytes | memoryview, header: BatchHeader) -> Message:
    end = header.position + header.size
    key, key_length = _sized(data, header.position + BODY_AT[header.magic], end, "key")
    value, value_length = _sized(data, key + max(key_length, 0), end, "value")
    if value + max(value_length, 0) != end:
        raise CorruptRecordException("bytes follow a message's value")
    return Message(header, key, key_length, value, value_length)


def _sized(data: bytes | memoryview, at: int, end: int, what: str) -> tuple[int, int]:
    if end - at < LENGTH.size:
        raise CorruptRecordException(f"a message ends before its {what}")
    (length,) = LENGTH.unpack_from(data, at)
    at += LENGTH.size
    if length > end - at:
        raise CorruptRecordException(
            f"a message's {what} says it has {length} bytes, and {end - at} are left"
        )
    return at, max(length, -1)


def mended(data: bytes) -> bytes:
    """An LZ4 frame with the right checksum over its header.

    Producers of magic 0 took the checksum over the frame's magic number too, and
    everybody who reads their messages has to put up with it.
    """
    if len(data) < LEAD.size or struct.unpack_from("<I", data)[0] != LZ4_MAGIC:
        return data
    end = 6 + (8 if data[4] & 0x08 else 0)
    return data[:end] + bytes((xxh32(data[4:end]) >> 8 & 0xFF,)) + data[end + 1 :]


def xxh32(data: bytes) -> int:
    """The hash that LZ4 frames use, for less than sixteen bytes."""
    one, two, three, four, five = XXH_PRIMES
    total = five + len(data)
    whole = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        total = _rotated(total + word * three & WORD, 17) * four & WORD
    for byte in data[whole:]:
        total = _rotated(total + byte * five & WORD, 11) * one & WORD
    total = (total ^ total >> 15) * two & WORD
    total = (total ^ total >> 13) * three & WORD
    return total ^ total >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & WORD
