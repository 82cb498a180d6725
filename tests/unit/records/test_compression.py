"""Compression there and back, and what hostile bytes cannot make of it."""

import contextlib
import hashlib
import struct
import time
import tracemalloc
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException, RecordTooLargeException
from prokurist.records import compression
from prokurist.records.compression import Compression, compress, decompress

CODECS = [each for each in Compression if each]
NOISE = b"".join(hashlib.sha256(b"%d" % each).digest() for each in range(10_000))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "data", [b"", b"x", NOISE, b"abc" * 100_000, NOISE + b"\0" * 3_000_000]
)
def test_there_and_back(codec: Compression, data: bytes) -> None:
    """B115: exactly what went in, up to a cap of exactly its size."""
    packed = compress(codec, data)
    assert bytes(decompress(codec, packed, len(data))) == data
    assert bytes(decompress(codec, memoryview(packed), 1 << 30)) == data


def test_nothing_to_do() -> None:
    """Uncompressed records go through as they are."""
    assert compress(Compression.NONE, b"abc") == b"abc"


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_ends_at_the_cap(codec: Compression) -> None:
    """Ten megabytes out of a few kilobytes are refused, and were never there."""
    packed = compress(codec, b"\0" * 10_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(RecordTooLargeException, match="come to more than 1000000 when"):
            decompress(codec, packed, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_500_000


@pytest.mark.parametrize("codec", CODECS)
def test_a_buffer_is_no_larger_than_the_data_can_come_to(
    codec: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is set aside follows from the data, not from the cap."""
    packed = compress(codec, b"abcd" * 100)
    made: list[int] = []

    class Counted(bytearray):
        def __init__(self, size: int) -> None:
            made.append(size)
            super().__init__(size)

    monkeypatch.setattr(compression, "bytearray", Counted, raising=False)
    assert len(decompress(codec, packed, 1 << 40)) == 400
    assert all(size <= 20_000 for size in made)


def test_snappy_of_other_clients() -> None:
    """Without the framing of the Java clients; and with it, in several blocks."""
    assert decompress(2, bytes(cramjam.snappy.compress_raw(NOISE)), len(NOISE)) == NOISE
    framed = compress(Compression.SNAPPY, NOISE)
    assert framed.startswith(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1")
    assert decompress(2, framed, len(NOISE)) == NOISE


def test_gzip_in_several_members() -> None:
    """A stream may start again."""
    packed = zlib.compress(b"one", wbits=31) + zlib.compress(b"two", wbits=31)
    assert decompress(1, packed, 6) == b"onetwo"
    with pytest.raises(RecordTooLargeException, match="come to more than 5 when"):
        decompress(1, packed, 5)


def test_gzip_members_longer_than_the_windows_they_are_read_in() -> None:
    """What a member leaves of a window is the next one's, wherever it ends."""
    noise = NOISE * 8
    parts = [noise, b"x", noise[:70_000], b"", noise[:5000], b"\0" * 9_000_000]
    packed = b"".join(zlib.compress(part, wbits=31) for part in parts)
    assert decompress(1, packed, 1 << 24) == b"".join(parts)
    with pytest.raises(CorruptRecordException, match="the data ends too early"):
        decompress(1, packed[:-1], 1 << 24)


XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
NOTHING = {
    "gzip members": (1, b"", zlib.compress(b"", wbits=31)),
    "snappy blocks": (2, XERIAL, struct.pack(">i", 1) + b"\0"),
    "lz4 frames": (3, b"", bytes(cramjam.lz4.compress(b""))),
    "lz4 frames to skip": (3, b"", struct.pack("<II", 0x184D2A50, 0)),
    "zstd frames": (4, b"", struct.pack("<IBB", 0xFD2FB528, 0x20, 0) + b"\1\0\0"),
    "zstd blocks": (4, struct.pack("<IBB", 0xFD2FB528, 0, 0x58), bytes(3)),
}
"""What a stream begins with, and what it may then go on with and hold nothing."""


@pytest.mark.parametrize("what", NOTHING)
def test_what_is_cut_into_pieces_without_end_is_refused(what: str) -> None:
    """B103: after a number of pieces that follows from its size, and at a cost that does."""
    codec, begins, piece = NOTHING[what]
    packed = begins + piece * ((2 << 20) // len(piece))
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(
            CorruptRecordException, match=r"cut into more than 3686[0-9] pieces"
        ):
            decompress(codec, packed, 1 << 28)
        took = time.process_time() - began
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert took < 1.0
    assert peak < 3 << 20


@pytest.mark.parametrize("codec", CODECS)
def test_pieces_that_hold_something_are_not_too_many(codec: Compression) -> None:
    """Of what compresses to next to nothing, and of small pieces."""
    zeros = bytes(40 << 20)
    assert len(decompress(codec, compress(codec, zeros), len(zeros))) == len(zeros)
    if codec is not Compression.SNAPPY:
        small = compress(codec, NOISE[:100]) * 3000
        assert len(decompress(codec, small, 1 << 20)) == 300_000


def test_a_snappy_block_cannot_claim_more_than_it_can_come_to() -> None:
    """Nothing is set aside for the claim."""
    claim = b"\x80\x80\x80\x7d" + bytes(26)
    with pytest.raises(CorruptRecordException, match="30 bytes says it comes to 262144000"):
        decompress(2, claim, 1 << 28)
    most = cramjam.snappy.compress_raw(bytes(1 << 20))
    assert decompress(2, bytes(most), 1 << 20) == bytes(1 << 20)


@pytest.mark.parametrize(("codec", "module"), [(3, cramjam.lz4), (4, cramjam.zstd)])
def test_frames_one_behind_the_other(codec: int, module: object) -> None:
    """Streams and frames that are to be skipped between them."""
    skipped = struct.pack("<II", 0x184D2A53, 3) + b"xyz"
    one = bytes(module.compress(b"one"))  # type: ignore[attr-defined]
    packed = one + skipped + bytes(module.compress(NOISE))  # type: ignore[attr-defined]
    assert decompress(codec, packed, 1 << 20) == b"one" + NOISE


def test_lz4_blocks_stand_alone() -> None:
    """Brokers refuse blocks that refer to each other."""
    assert compress(Compression.LZ4, NOISE)[4] & 0x20


@pytest.mark.parametrize("codec", [-1, 0, 5, 7])
def test_an_unknown_codec_lists_the_known_ones(codec: int) -> None:
    """The number and the rule."""
    with pytest.raises(CorruptRecordException, match=rf"codec {codec} is unknown: known are 1"):
        decompress(codec, b"abc", 100)


@pytest.mark.parametrize("codec", CODECS)
def test_each_truncation_and_each_flip(codec: Compression) -> None:
    """Damage is one error, regardless of the library's own error; or it goes unnoticed here.

    Or it makes the data claim more than is taken.
    """
    packed = compress(codec, b"hello, world; " * 60 + NOISE[:50])
    for at in range(len(packed)):
        for data in (packed[:at], packed[:at] + bytes((packed[at] ^ 0x55,)) + packed[at + 1 :]):
            with contextlib.suppress(CorruptRecordException, RecordTooLargeException):
                assert len(decompress(codec, data, 10_000)) <= 10_000


@given(
    codec=st.integers(1, 4),
    begins=st.sampled_from(
        [
            b"",
            b"\x04\x22\x4d\x18",
            b"\x28\xb5\x2f\xfd",
            b"\x82SNAPPY\0" + bytes(8),
            b"\x1f\x8b\x08",
        ]
    ),
    data=st.binary(max_size=60),
)
def test_no_bytes_hurt(codec: int, begins: bytes, data: bytes) -> None:
    """Any bytes either come to no more than the cap or are refused."""
    with contextlib.suppress(CorruptRecordException, RecordTooLargeException):
        assert len(decompress(codec, begins + data, 1000)) <= 1000
