"""CRC-32C (Castagnoli), the checksum of record batches: the specification.

Thread: either; the tables are made by the first checksum, and never change. The native twin
needs none of them, and making them takes 12 ms of CPU.
"""

import sys
from functools import cache
from typing import Final, TypeAlias

POLYNOMIAL: Final = 0x82F63B78
"""Reflected: bit 31 is the constant term."""

Data: TypeAlias = bytes | bytearray | memoryview


def shifted(crc: int, bits: int) -> int:
    """A checksum after so many more bits that are zero."""
    for _ in range(bits):
        crc = crc >> 1 ^ POLYNOMIAL if crc & 1 else crc >> 1
    return crc


@cache
def tables() -> tuple[list[int], list[int]]:
    """Return the effect of the lowest eight and sixteen bits of a checksum on the rest."""
    by_byte = [shifted(byte, 8) for byte in range(256)]
    by_pair = [
        by_byte[(by_byte[pair & 255] ^ pair >> 8) & 255] ^ by_byte[pair & 255] >> 8
        for pair in range(65536)
    ]
    return by_byte, by_pair


def crc32c(data: Data, value: int = 0, /) -> int:
    """The CRC-32C of bytes, behind others whose checksum is `value`."""
    by_byte, by_pair = tables()
    crc = value ^ 0xFFFFFFFF
    view = memoryview(data).cast("B")
    even = len(view) & ~1
    words = view[:even].cast("H")
    if sys.byteorder == "little":
        for word in words:
            crc = crc >> 16 ^ by_pair[(crc ^ word) & 0xFFFF]
    else:
        for word in words:
            crc = crc >> 16 ^ by_pair[(crc ^ (word >> 8 | (word & 255) << 8)) & 0xFFFF]
    if even < len(view):
        crc = crc >> 8 ^ by_byte[(crc ^ view[even]) & 255]
    return crc ^ 0xFFFFFFFF
