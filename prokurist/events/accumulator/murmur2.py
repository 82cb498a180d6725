"""The hash by which Kafka's clients place records with a key.

Thread: any; a pure function.
"""

from typing import Final

SEED: Final = 0x9747B28C
FACTOR: Final = 0x5BD1E995
ROTATION: Final = 24
WORD: Final = 0xFFFFFFFF
POSITIVE: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash of some bytes, unsigned."""
    length = len(data)
    digest = SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * FACTOR & WORD
        word = (word ^ word >> ROTATION) * FACTOR & WORD
        digest = (digest * FACTOR & WORD) ^ word
    if length > whole:
        digest = (digest ^ int.from_bytes(data[whole:], "little")) * FACTOR & WORD
    digest = (digest ^ digest >> 13) * FACTOR & WORD
    return digest ^ digest >> 15


def partition_of_key(key: bytes, count: int) -> int:
    """The partition, of so many, that Java's clients choose for a key."""
    return (murmur2(key) & POSITIVE) % count
