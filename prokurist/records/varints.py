"""Kafka's variable-length integers, in pure Python: the specification.

A signed 64-bit number, zigzag-coded (0, −1, 1, −2 … become 0, 1, 2, 3 …), seven
bits to a byte, the lowest first, the eighth bit set on all bytes but the last.
At most ten bytes; the tenth has room for a single bit.

Thread: any; nothing here keeps state. The native twin in `_native.pyx` answers
every input alike, the hostile ones included.
"""

from prokurist.errors import CorruptRecordException

MOST_BYTES = 10
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def encode_varint(value: int) -> bytes:
    """Encode a signed 64-bit number.

    Raises:
        OverflowError: The number needs more than 64 bits.
    """
    if not INT64_MIN <= value <= INT64_MAX:
        raise OverflowError(f"a varint holds 64 bits: {value} needs more")
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """Decode the number at `position`, and return it with the position after it.

    Raises:
        CorruptRecordException: The data ends within the number, or the number
            needs more than 64 bits.
        IndexError: The position is negative or past the data's end.
    """
    if 0 <= position < len(data) - 1:
        # Most numbers in a batch are lengths and small deltas: one byte or two.
        byte, second = data[position], data[position + 1]
        if byte < 0x80:
            return byte >> 1 ^ -(byte & 1), position + 1
        if second < 0x80:
            rest = byte & 0x7F | second << 7
            return rest >> 1 ^ -(rest & 1), position + 2
    if not 0 <= position <= len(data):
        raise IndexError(f"position {position} lies outside {len(data)} bytes")
    rest = 0
    for count in range(MOST_BYTES):
        if position + count >= len(data):
            raise CorruptRecordException(
                f"the data ends within the varint at byte {position}, after {count} bytes"
            )
        byte = data[position + count]
        if count == MOST_BYTES - 1 and byte > 1:
            raise CorruptRecordException(
                f"the varint at byte {position} needs more than 64 bits"
            )
        rest |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), position + count + 1
    raise AssertionError("the tenth byte either ends the number or is refused")
