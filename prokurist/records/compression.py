"""Compressed records to plain ones and back, within bounds.

Decompression writes into a buffer whose size is known before the first byte: what
the data itself declares or, where a stream declares nothing, what its blocks can
come to at most, and never more than the caller's cap. A bomb therefore ends as an
error and not as memory. The libraries release the GIL while they work.

Every call has a `Budget`: the bytes that may come out, and the pieces that the data
may be cut into, in proportion to its size. A piece is what costs a step of the
interpreter, no matter what it is: a member, a frame or a block. So the work is bounded
for data of which nothing comes out, too.

Thread: either; nothing here keeps state.
"""

import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import cramjam

from prokurist.errors import CorruptRecordException, RecordTooLargeException

XERIAL: Final = b"\x82SNAPPY\x00"
"""Magic bytes of snappy-java's framing, used by Kafka's Java clients."""
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
"""First guess of the ratio where only a bound on the size is known."""
FIRST_GUESS_LEAST: Final = 16 * 1024
SNAPPY_MOST: Final = 22
"""No byte of a snappy block stands for more than this many: a copy of 64 takes three."""
GZIP_WINDOW: Final = 1 << 20
"""Bytes of a gzip stream that are decompressed at once, at most."""
GZIP_NEXT_WINDOW: Final = 1 << 10
"""As many of a member behind the first, to begin with: what a member leaves is copied."""
GZIP_STEP: Final = 4 << 20
"""Bytes that come out of a gzip stream at once, at most."""
PIECE: Final = 64
"""Bytes that a piece of compressed data has on average at least, where there are many.

Blocks that hold something are far larger: the smallest full one is of LZ4, and has 260.
"""
PIECES: Final = 4096
"""So many pieces are allowed regardless of their size: full blocks of data that compresses to
next to nothing. 256 MiB of zeros have 2048 of them in Zstandard."""
TOO_SMALL: Final = "failed to write whole buffer"
"""The library's text for data larger than the buffer."""


class Compression(IntEnum):
    """Compression codecs of a batch, by their number on the wire."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


LZ4_FAST: Final = 1
"""The library's own default level is several times slower, for little."""


def compress(codec: Compression, data: bytes, level: int | None = None) -> bytes:
    """Compress the records of one batch.

    Args:
        codec: How.
        data: The records.
        level: How much effort that is worth, by the codec's own measure; None for its default.
    """
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return zlib.compress(
                data, zlib.Z_DEFAULT_COMPRESSION if level is None else level, 31
            )
        case Compression.SNAPPY:
            return _xerial(data)
        case Compression.LZ4:
            return _lz4(data, LZ4_FAST if level is None else level)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level))


class Budget:
    """Bounds on the decompression of one batch.

    Args:
        size: How many bytes are to be decompressed.
        cap: How many may come out.

    Attributes:
        cap: How many bytes may come out.
    """

    __slots__ = ("_allowed", "_pieces", "cap")

    def __init__(self, size: int, cap: int) -> None:
        self.cap: int = cap
        self._allowed = PIECES + size // PIECE
        self._pieces = 0

    def piece(self) -> None:
        """Count one more piece.

        Raises:
            CorruptRecordException: There are too many.
        """
        self._pieces += 1
        if self._pieces > self._allowed:
            raise CorruptRecordException(
                f"compressed data is cut into more than {self._allowed} pieces, which is the "
                "most that is taken of its size"
            )


def decompress(codec: int, data: bytes | memoryview, cap: int) -> bytes | bytearray:
    """Decompress the records of one batch.

    Args:
        codec: The number on the wire, of a batch that is compressed.
        data: Exactly the compressed bytes.
        cap: How many bytes may come out.

    Raises:
        CorruptRecordException: The codec is unknown, the data is damaged, or it is cut
            into too many pieces.
        RecordTooLargeException: More than `cap` bytes would come out.
    """
    budget = Budget(len(data), cap)
    try:
        match codec:
            case Compression.GZIP:
                return _gunzip(data, budget)
            case Compression.SNAPPY:
                return _unsnap(data, budget)
            case Compression.LZ4:
                return _filled(cramjam.lz4, data, _bound(_lz4_sizes(data), budget), cap)
            case Compression.ZSTD:
                return _filled(cramjam.zstd, data, _bound(_zstd_sizes(data), budget), cap)
    except (cramjam.DecompressionError, zlib.error, struct.error, IndexError) as error:
        name = Compression(codec).name.lower()
        raise CorruptRecordException(
            f"{len(data)} bytes of {name} cannot be decompressed within {cap} bytes: {error}"
        ) from error
    raise CorruptRecordException(
        f"codec {codec} is unknown: known are 1 (gzip), 2 (snappy), 3 (lz4) and 4 (zstd)"
    )


def _too_much(size: int, cap: int) -> RecordTooLargeException:
    return RecordTooLargeException(
        f"{size} compressed bytes come to more than {cap} when they are decompressed"
    )


def _gunzip(data: bytes | memoryview, budget: Budget) -> bytes | bytearray:
    plain = _single_member(data, budget.cap)
    return _members(data, budget) if plain is None else plain


def _single_member(data: bytes | memoryview, cap: int) -> bytes | None:
    """Find the size of data that is one small member, as nearly all is; None for other data."""
    if len(data) > GZIP_WINDOW:
        return None
    member = zlib.decompressobj(wbits=31)
    plain = member.decompress(data, min(cap + 1, GZIP_STEP))
    return plain if member.eof and not member.unused_data and len(plain) <= cap else None


def _members(data: bytes | memoryview, budget: Budget) -> bytearray:
    # In windows: what follows a member is copied out of the one that it ends in.
    whole, out = memoryview(data), bytearray(0)
    at, window = 0, GZIP_WINDOW
    while at < len(whole):
        budget.piece()
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            given = whole[at : at + window]
            if not given:
                raise zlib.error("the data ends too early")
            at += len(given)
            _inflate(member, given, out, budget.cap)
            if len(out) > budget.cap:
                raise _too_much(len(data), budget.cap)
            window = min(2 * window, GZIP_WINDOW)
        at -= len(member.unused_data)
        window = GZIP_NEXT_WINDOW
    return out


def _inflate(
    member: "zlib._Decompress", given: bytes | memoryview, out: bytearray, cap: int
) -> None:
    """Decompress the next bytes of a member; of more than the cap, one byte."""
    full = True
    while full and not member.eof and len(out) <= cap:
        most = min(cap - len(out) + 1, GZIP_STEP)
        piece = member.decompress(given, most)
        out += piece
        full = len(piece) == most
        given = member.unconsumed_tail


def _unsnap(data: bytes | memoryview, budget: Budget) -> bytearray:
    framed = data[: len(XERIAL)] == XERIAL
    total = 0
    for block in _xerial_blocks(data) if framed else (data,):
        budget.piece()
        total += _unsnapped_size(block)
        if total > budget.cap:
            raise _too_much(len(data), budget.cap)
    out = bytearray(total)
    at = 0
    with memoryview(out) as room:
        for block in _xerial_blocks(data) if framed else (data,):
            size = cramjam.snappy.decompress_raw_len(block)
            cramjam.snappy.decompress_raw_into(block, room[at : at + size])
            at += size
    return out


def _unsnapped_size(block: bytes | memoryview) -> int:
    """Read the decompressed size that a block claims, and check it against its own size."""
    size: int = cramjam.snappy.decompress_raw_len(block)
    if size > SNAPPY_MOST * len(block):
        raise IndexError(f"a block of {len(block)} bytes says it comes to {size}")
    return size


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


def _lz4(data: bytes, level: int) -> bytes:
    # Blocks that refer to each other, the library's default, are refused by brokers.
    stream = cramjam.lz4.Compressor(level=level, block_linked=False)
    stream.compress(data)
    return bytes(stream.finish())


def _filled(library: object, data: bytes | memoryview, bound: int, cap: int) -> bytearray:
    """Decompress into a buffer that is large enough, and cut it to what came out.

    Buffers grow by the same factor from a guess to the bound, so that the last one is
    not much larger than need be, and all before it together far smaller.
    """
    most = min(bound, cap)
    guess = min(most, max(FIRST_GUESS * len(data), FIRST_GUESS_LEAST))
    while guess < most:
        try:
            return _attempt(library, data, guess)
        except cramjam.DecompressionError:
            guess = min(most, FIRST_GUESS * guess)
    try:
        return _attempt(library, data, most)
    except cramjam.DecompressionError as error:
        if bound > cap and TOO_SMALL in str(error):
            raise _too_much(len(data), cap) from error
        raise


def _attempt(library: object, data: bytes | memoryview, size: int) -> bytearray:
    out = bytearray(size)
    came: int = library.decompress_into(data, out)  # type: ignore[attr-defined]
    del out[came:]
    return out


def _bound(sizes: Iterator[int], budget: Budget) -> int:
    # Whether more than the cap comes out is for the library to find out: a bound is not
    # the size.
    total = 0
    for size in sizes:
        budget.piece()
        total += size
    return total


def _lz4_sizes(data: bytes | memoryview) -> Iterator[int]:
    """Bound the size of each piece of an LZ4 stream; a frame by itself adds nothing."""
    at = 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic & ~0xF == SKIPPABLE:
            at += 8 + struct.unpack_from("<I", data, at + 4)[0]
            yield 0
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
        yield 0


def _zstd_sizes(data: bytes | memoryview) -> Iterator[int]:
    """Bound the size of each piece of a Zstandard stream."""
    at = 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic & ~0xF == SKIPPABLE:
            at += 8 + struct.unpack_from("<I", data, at + 4)[0]
            yield 0
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
