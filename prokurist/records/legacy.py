"""Messages of the formats before batches, magic 0 and 1.

A message stands alone, or wraps a compressed set of others. The wrapper bears the
offset of the last one inside: magic 0 keeps their absolute offsets, magic 1 counts
them from the first. What stands alone is read here for both twins. A set may hold
millions: the native twin reads it by itself, and asks this one what is wrong with it.

Thread: either; nothing here keeps state.
Invariants: as for batches, see `prokurist.records.decode`.
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from prokurist.errors import CorruptRecordException
from prokurist.records.columns import Columns, Row, most_rows, refuse_rows
from prokurist.records.compression import LZ4_MAGIC, Compression, decompress
from prokurist.records.headers import LAST_OFFSET, LEAD, BatchHeader, header_at
from prokurist.types import TimestampType

if TYPE_CHECKING:
    from prokurist.records.implementation import Codec

LENGTH: Final = struct.Struct(">i")
BODY_AT: Final = (18, 26)
"""Offset of a message's key, length included, by magic."""
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
        """Make a row of the message, which has no headers."""
        key = (self.key, self.key_length)
        return (offset, timestamp, *key, self.value, self.value_length, 0, 0)


def decode_message(
    topic: str,
    partition: int,
    header: BatchHeader,
    data: bytes | memoryview,
    cap: int,
    codec: "Codec",
) -> Columns:
    """Read one message, or those that it wraps.

    Args:
        topic: Where it comes from.
        partition: Where it comes from.
        header: Its header.
        data: The bytes it lies in.
        cap: How many bytes its compressed ones may take, decompressed and decoded.
        codec: The twin that decodes.

    Raises:
        CorruptRecordException: It is not right.
        RecordTooLargeException: It wraps more than that.
    """
    outer = _message(data, header)
    if header.codec == Compression.NONE:
        rows = [outer.row(header.last_offset, header.max_timestamp)]
        return codec.Columns(topic, partition, None, header.timestamp_type, data, rows)
    if outer.value_length < 0:
        raise CorruptRecordException("a compressed message wraps nothing")
    if header.codec == Compression.ZSTD:
        raise CorruptRecordException("zstd came with batches: no message can be compressed so")
    inside = bytes(data[outer.value : outer.value + outer.value_length])
    if header.codec == Compression.LZ4 and header.magic == 0:
        inside = mended(inside)
    plain = decompress(header.codec, inside, cap)
    return codec.decode_messages(topic, partition, header, plain, cap)


def decode_messages(
    topic: str, partition: int, wrapper: BatchHeader, plain: bytes | bytearray, cap: int
) -> Columns:
    """Read the messages that a compressed one wraps.

    Args:
        topic: Where they come from.
        partition: Where they come from.
        wrapper: The header of the one that wraps them.
        plain: They, decompressed.
        cap: How many bytes they and the columns made of them may take.

    Raises:
        CorruptRecordException: They are not right.
        RecordTooLargeException: There are too many.
    """
    rows = _rows(wrapper, plain, cap)
    columns = Columns(topic, partition, None, wrapper.timestamp_type, plain, rows)
    if not len(columns):
        raise CorruptRecordException("a compressed message wraps nothing")
    offsets = columns.offsets
    first = first_offset(wrapper, offsets[-1])
    previous = -1
    for index, inner in enumerate(offsets):
        check_offset(wrapper, first + inner, previous)
        offsets[index] = previous = first + inner
    return columns


def first_offset(wrapper: BatchHeader, last: int) -> int:
    """Find the offset that the offsets of wrapped messages count from.

    Args:
        wrapper: The header of the one that wraps them.
        last: The last one's own offset.
    """
    return wrapper.last_offset - last if wrapper.magic == 1 else 0


def check_offset(wrapper: BatchHeader, offset: int, previous: int) -> None:
    """Check that a wrapped message lies behind the one before it, and within its wrapper.

    Raises:
        CorruptRecordException: It does not.
    """
    if not previous < offset <= min(wrapper.last_offset, LAST_OFFSET):
        raise CorruptRecordException(
            f"a wrapped message's offset {offset} does not lie behind {previous} "
            f"and up to the wrapper's, {wrapper.last_offset}"
        )


def _rows(wrapper: BatchHeader, plain: bytes | bytearray, cap: int) -> Iterator[Row]:
    """Read the rows of wrapped messages, with the offsets that they claim."""
    at, left = 0, most_rows(len(plain), cap)
    stamped = wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
    while at < len(plain):
        message = read_message(wrapper, plain, at)
        if not left:
            refuse_rows(most_rows(len(plain), cap), len(plain), cap)
        left -= 1
        header = message.header
        stamp = wrapper.max_timestamp if stamped else header.max_timestamp
        yield message.row(header.last_offset, stamp)
        at += header.size


def read_message(wrapper: BatchHeader, plain: bytes | bytearray, at: int) -> Message:
    """Read one wrapped message.

    Args:
        wrapper: The header of the one that wraps it.
        plain: The bytes it lies in.
        at: Where it begins.

    Raises:
        CorruptRecordException: It is not right.
    """
    header = header_at(plain, at)
    if header is None:
        raise CorruptRecordException(f"a wrapped message breaks off at byte {at}")
    if header.magic != wrapper.magic or header.codec != Compression.NONE:
        raise CorruptRecordException(
            f"a message of magic {wrapper.magic} wraps one of magic {header.magic} "
            f"and codec {header.codec}"
        )
    return _message(plain, header)


def _message(data: bytes | bytearray | memoryview, header: BatchHeader) -> Message:
    end = header.position + header.size
    key, key_length = _sized(data, header.position + BODY_AT[header.magic], end, "key")
    value, value_length = _sized(data, key + max(key_length, 0), end, "value")
    if value + max(value_length, 0) != end:
        raise CorruptRecordException("bytes follow a message's value")
    return Message(header, key, key_length, value, value_length)


def _sized(
    data: bytes | bytearray | memoryview, at: int, end: int, what: str
) -> tuple[int, int]:
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
    """Correct the header checksum of an LZ4 frame.

    Producers of magic 0 took the checksum over the frame's magic number too, and
    every reader of their messages has to accept it.
    """
    if len(data) < LEAD.size or struct.unpack_from("<I", data)[0] != LZ4_MAGIC:
        return data
    end = 6 + (8 if data[4] & 0x08 else 0)
    return data[:end] + bytes((xxh32(data[4:end]) >> 8 & 0xFF,)) + data[end + 1 :]


def xxh32(data: bytes) -> int:
    """Compute the hash that LZ4 frames use, for less than sixteen bytes."""
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
