"""CRC-32C (Castagnoli), the checksum of record batches: the specification.

Thread: either; the table never changes once the module is imported.
"""

import sys
from typing import Final, TypeAlias

POLYNOMIAL: Final = 0x82F63B78
"""Reflected: bit 31 is the constant term."""

Data: TypeAlias = bytes | bytearray | memoryview


def shifted(crc: int, bits: int) -> int:
    """A checksum after so many more bits that are zero."""
    for _ in range(bits):
        crc = crc >> 1 ^ POLYNOMIAL if crc & 1 else crc >> 1
    return crc


BY_BYTE: Final = [shifted(byte, 8) for byte in range(256)]
"""The effect of the lowest eight bits of a checksum on the rest, by their value."""

BY_PAIR: Final = [
    BY_BYTE[(BY_BYTE[pair & 255] ^ pair >> 8) & 255] ^ BY_BYTE[pair & 255] >> 8
    for pair in range(65536)
]
"""The same of the lowest sixteen."""


def crc32c(data: Data, value: int = 0, /) -> int:
    """The CRC-32C of bytes, behind others whose checksum is `value`."""
    crc = value ^ 0xFFFFFFFF
    view = memoryview(data).cast("B")
    even = len(view) & ~1
    words = view[:even].cast("H")
    if sys.byteorder == "little":
        for word in words:
            crc = crc >> 16 ^ BY_PAIR[(crc ^ word) & 0xFFFF]
    else:
        for word in words:
            crc = crc >> 16 ^ BY_PAIR[(crc ^ (word >> 8 | (word & 255) << 8)) & 0xFFFF]
    if even < len(view):
        crc = crc >> 8 ^ BY_BYTE[(crc ^ view[even]) & 255]
    return crc ^ 0xFFFFFFFF
