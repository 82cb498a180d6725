"""Compression there and back, and what hostile bytes cannot make of it."""

import contextlib
import hashlib
import struct
import tracemalloc
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException
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
        with pytest.raises(CorruptRecordException, match="1000000 bytes"):
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
    """A stream may begin anew."""
    packed = zlib.compress(b"one", wbits=31) + zlib.compress(b"two", wbits=31)
    assert decompress(1, packed, 6) == b"onetwo"
    with pytest.raises(CorruptRecordException, match="more than 5 bytes"):
        decompress(1, packed, 5)


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
    """Damage is one error, whatever the library calls it; or it goes unnoticed here."""
    packed = compress(codec, b"hello, world; " * 60 + NOISE[:50])
    for at in range(len(packed)):
        for data in (packed[:at], packed[:at] + bytes((packed[at] ^ 0x55,)) + packed[at + 1 :]):
            with contextlib.suppress(CorruptRecordException):
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
    with contextlib.suppress(CorruptRecordException):
        assert len(decompress(codec, begins + data, 1000)) <= 1000
