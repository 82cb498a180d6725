"""Compressed records to plain ones and back, within bounds.

Decompression writes into a buffer whose size is known before the first byte: what
the data itself declares or, where a stream declares nothing, what its blocks can
come to at most, and never more than the caller's cap. A bomb therefore ends as an
error and not as memory. The libraries release the GIL while they work.

Thread: either; nothing here keeps state.
"""

import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import cramjam

from prokurist.errors import CorruptRecordException

XERIAL: Final = b"\x82SNAPPY\x00"
"""How snappy-java begins its own framing, which Kafka's Java clients use."""
XERIAL_VERSIONS: Final = struct.pack(">ii", 1, 1)
XERIAL_BLOCK: Final = 32 * 1024
LZ4_MAGIC: Final = 0x184D2204
LZ4_MOST: Final = 255
"""No byte of a compressed LZ4 block stands for more than this many."""
ZSTD_MAGIC: Final = 0xFD2FB528
ZSTD_BLOCK: Final = 128 * 1024
SKIPPABLE: Final = 0x184D2A50
"""Both formats share frames with any number of bytes that mean nothing."""
FIRST_GUESS: Final = 8
"""Where only a bound is known, this ratio is tried before the bound is."""
FIRST_GUESS_LEAST: Final = 16 * 1024


class Compression(IntEnum):
    """How a batch is compressed, as the number on the wire."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Compression, data: bytes) -> bytes:
    """Compress the records of one batch."""
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return zlib.compress(data, wbits=31)
        case Compression.SNAPPY:
            return _xerial(data)
        case Compression.LZ4:
            return _lz4(data)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data))


def decompress(codec: int, data: bytes | memoryview, cap: int) -> bytes | bytearray:
    """Decompress the records of one batch.

    Args:
        codec: The number on the wire, of a batch that is compressed.
        data: What was compressed, and nothing else.
        cap: How many bytes may come out.

    Raises:
        CorruptRecordException: The codec is unknown, the data is damaged, or more
            than `cap` bytes would come out.
    """
    try:
        match codec:
            case Compression.GZIP:
                return _gunzip(data, cap)
            case Compression.SNAPPY:
                return _unsnap(data, cap)
            case Compression.LZ4:
                return _filled(cramjam.lz4, data, _bound(_lz4_sizes(data), cap))
            case Compression.ZSTD:
                return _filled(cramjam.zstd, data, _bound(_zstd_sizes(data), cap))
    except (cramjam.DecompressionError, zlib.error, struct.error, IndexError) as error:
        name = Compression(codec).name.lower()
        raise CorruptRecordException(
            f"{len(data)} bytes of {name} cannot be decompressed within {cap} bytes: {error}"
        ) from error
    raise CorruptRecordException(
        f"codec {codec} is unknown: known are 1 (gzip), 2 (snappy), 3 (lz4) and 4 (zstd)"
    )


def _too_much(cap: int) -> CorruptRecordException:
    return CorruptRecordException(
        f"more than {cap} bytes would come out of a compressed batch, which is the most "
        "that is taken"
    )


def _gunzip(data: bytes | memoryview, cap: int) -> bytes:
    pieces, left = [], cap
    while data:
        member = zlib.decompressobj(wbits=31)
        pieces.append(member.decompress(data, left + 1))
        left -= len(pieces[-1])
        if left < 0:
            raise _too_much(cap)
        if not member.eof:
            raise zlib.error("the data ends too early")
        data = member.unused_data
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unsnap(data: bytes | memoryview, cap: int) -> bytearray:
    framed = data[: len(XERIAL)] == XERIAL
    blocks = list(_xerial_blocks(data)) if framed else [data]
    sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
    if sum(sizes) > cap:
        raise _too_much(cap)
    out = bytearray(sum(sizes))
    at = 0
    with memoryview(out) as room:
        for block, size in zip(blocks, sizes, strict=True):
            cramjam.snappy.decompress_raw_into(block, room[at : at + size])
            at += size
    return out


def _xerial_blocks(data: bytes | memoryview) -> Iterator[bytes | memoryview]:
    at = len(XERIAL) + len(XERIAL_VERSIONS)
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        if not 0 <= size <= len(data) - at:
            raise IndexError(f"a block of {size} bytes, and {len(data) - at} are left")
        yield data[at : at + size]
        at += size


def _xerial(data: bytes) -> bytes:
    parts = [XERIAL, XERIAL_VERSIONS]
    for at in range(0, len(data), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + XERIAL_BLOCK]))
        parts += [struct.pack(">i", len(block)), block]
    return b"".join(parts)


def _lz4(data: bytes) -> bytes:
    # The library's own default level is several times slower, for little; and its
    # default blocks refer to each other, which brokers refuse.
    stream = cramjam.lz4.Compressor(level=1, block_linked=False)
    stream.compress(data)
    return bytes(stream.finish())


def _filled(library: object, data: bytes | memoryview, bound: int) -> bytearray:
    """Decompress into a buffer that is large enough, and cut it to what came out."""
    guess = min(bound, max(FIRST_GUESS * len(data), FIRST_GUESS_LEAST))
    try:
        return _attempt(library, data, guess)
    except cramjam.DecompressionError:
        if guess == bound:
            raise
    return _attempt(library, data, bound)


def _attempt(library: object, data: bytes | memoryview, size: int) -> bytearray:
    out = bytearray(size)
    came: int = library.decompress_into(data, out)  # type: ignore[attr-defined]
    del out[came:]
    return out


def _bound(sizes: Iterator[int], cap: int) -> int:
    total = 0
    for size in sizes:
        total += size
        if total >= cap:
            # A bound and not the size: whether it fits is for the library to find out.
            return cap
    return total


def _lz4_sizes(data: bytes | memoryview) -> Iterator[int]:
    """What each frame or block of an LZ4 stream can come to at most."""
    at = 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic & ~0xF == SKIPPABLE:
            at += 8 + struct.unpack_from("<I", data, at + 4)[0]
            continue
        if magic != LZ4_MAGIC:
            raise IndexError(f"no LZ4 frame begins at byte {at}")
        flags, block_size = data[at + 4], 1 << (8 + 2 * (data[at + 5] >> 4 & 7))
        at += 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
        while size := struct.unpack_from("<I", data, at)[0]:
            plain, size = size >> 31, size & 0x7FFFFFFF
            yield min(block_size, size if plain else LZ4_MOST * size)
            at += 4 + size + (4 if flags & 0x10 else 0)
        at += 4 + (4 if flags & 0x04 else 0)


def _zstd_sizes(data: bytes | memoryview) -> Iterator[int]:
    """What each frame or block of a Zstandard stream can come to at most."""
    at = 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic & ~0xF == SKIPPABLE:
            at += 8 + struct.unpack_from("<I", data, at + 4)[0]
            continue
        if magic != ZSTD_MAGIC:
            raise IndexError(f"no Zstandard frame begins at byte {at}")
        flags = data[at + 4]
        whole = flags & 0x20
        at += 5 + (0 if whole else 1) + (0, 1, 2, 4)[flags & 3]
        at += (1 if whole else 0, 2, 4, 8)[flags >> 6]
        last = 0
        while not last:
            block = int.from_bytes(data[at : at + 3], "little")
            if len(data) - at < 3 or (kind := block >> 1 & 3) == 3:
                raise IndexError(f"no Zstandard block begins at byte {at}")
            last, size = block & 1, block >> 3
            yield min(size, ZSTD_BLOCK) if kind < 2 else ZSTD_BLOCK
            at += 3 + (1 if kind == 1 else size)
        at += 4 if flags & 0x04 else 0
