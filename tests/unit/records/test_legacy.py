"""Messages of magic 0 and 1, as kafka-python writes them; both twins."""

import struct
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException
from prokurist.records.columns import Columns
from prokurist.records.compression import Compression, compress
from prokurist.records.headers import header_at
from prokurist.records.implementation import Codec
from prokurist.records.legacy import decode_message, mended, xxh32
from prokurist.records.record import ConsumerRecord
from prokurist.types import TimestampType
from tests.unit.records.twins import CAP, kafka_python, twin

THREE = [(None, b"a"), (b"k", None), (b"", b"c" * 200)]


def message_set(
    magic: int, codec: int = 0, offsets: tuple[int, ...] = (0, 1, 2), wrapper: int = 0
) -> bytes:
    """Three messages, or a wrapper around them."""
    builder = kafka_python("legacy_records").LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    for offset, (key, value) in zip(offsets, THREE, strict=True):
        builder.append(offset, 1000 + offset, key, value)
    data = bytes(builder.build())
    packed = compress(Compression(codec), data)
    if (magic, codec) == (0, Compression.LZ4):
        packed = packed[:6] + bytes((xxh32(packed[:6]) >> 8 & 0xFF,)) + packed[7:]
    return small(magic, packed, codec, wrapper) if codec else data


def read(codec: Codec, data: bytes) -> list[ConsumerRecord]:
    """Each message's records."""
    found: list[ConsumerRecord] = []
    at = 0
    while (header := header_at(data, at)) is not None:
        columns = decode_message("t", 0, header, data, CAP, codec.Columns)
        found += codec.RecordRun(columns, 0, len(columns))
        at += header.size
    return found


def small(magic: int, value: bytes, attributes: int = 0, offset: int = 0) -> bytes:
    """One message with a value."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", 7) if magic else b"")
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize(
    ("magic", "codec_number", "offsets", "wrapper"),
    [
        (0, 0, (5, 6, 9), 0),
        (1, 0, (5, 6, 9), 0),
        (0, 1, (5, 6, 9), 9),
        (0, 2, (5, 6, 9), 9),
        (0, 3, (5, 6, 9), 9),
        (1, 1, (0, 1, 4), 9),
        (1, 2, (0, 1, 4), 9),
        (1, 3, (0, 1, 4), 9),
    ],
)
def test_message_sets(
    codec: Codec, magic: int, codec_number: int, offsets: tuple[int, ...], wrapper: int
) -> None:
    """B115: plain and wrapped; absolute offsets in magic 0, relative ones in magic 1."""
    found = read(codec, message_set(magic, codec_number, offsets, wrapper))
    assert [record.offset for record in found] == [5, 6, 9]
    assert [(record.key, record.value) for record in found] == THREE
    kind = TimestampType.CREATE_TIME if magic else TimestampType.NO_TIMESTAMP_TYPE
    assert all(record.timestamp_type is kind for record in found)
    times = [1000 + offset for offset in offsets] if magic else [-1] * 3
    assert [record.timestamp for record in found] == times
    assert all(record.headers == [] and record.leader_epoch is None for record in found)


def test_a_wrapper_that_the_broker_stamped(codec: Codec) -> None:
    """Its time is that of all it wraps."""
    data = bytearray(message_set(1, 1, wrapper=2))
    data[17] |= 0x08
    struct.pack_into(">q", data, 18, 777)
    found = read(codec, bytes(data))
    assert [record.timestamp for record in found] == [777] * 3
    assert found[0].timestamp_type is TimestampType.LOG_APPEND_TIME


def wrapped(magic: int, inside: bytes, codec: int = 1, offset: int = 9) -> bytes:
    """A wrapper around any bytes."""
    return small(magic, zlib.compress(inside, wbits=31), codec, offset)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (small(1, b"x", 4), "zstd came with batches"),
        (small(1, b"x", 5), "codec 5 is unknown"),
        (wrapped(1, b""), "wraps nothing"),
        (struct.pack(">qiIbbii", 0, 14, 0, 0, 1, -1, -1), "wraps nothing"),
        (wrapped(1, small(1, b"a")[:-1]), "a wrapped message breaks off at byte 0"),
        (wrapped(1, small(0, b"a")), "magic 1 wraps one of magic 0 and codec 0"),
        (wrapped(1, wrapped(1, small(1, b"a"))), "magic 1 wraps one of magic 1 and codec 1"),
        (wrapped(1, small(1, b"a", 0, 5) * 2), "offset 9 does not lie behind 9"),
        (wrapped(1, small(1, b"", 0, 11)[:34] + small(1, b"", 0, 1)), "offset 19 does not lie"),
        (wrapped(0, small(0, b"a", 0, 10)), "offset 10 does not lie behind -1 and up to the"),
        (struct.pack(">qiIbbii", 0, 14, 0, 0, 0, 5, -1), "key says it has 5 bytes, and 4"),
        (struct.pack(">qiIbbii", 0, 14, 0, 0, 0, 0, 5), "value says it has 5 bytes, and 0"),
        (struct.pack(">qiIbbii", 0, 14, 0, 0, 0, 3, 0), "ends before its value"),
        (struct.pack(">qiIbbiib", 0, 15, 0, 0, 0, 0, 0, 0), "bytes follow a message's value"),
    ],
)
def test_damage_is_named(codec: Codec, data: bytes, words: str) -> None:
    """B103: no message is handed out that is not right."""
    with pytest.raises(CorruptRecordException) as caught:
        read(codec, data)
    assert words in str(caught.value)


def test_a_wrapper_may_be_a_bomb(codec: Codec) -> None:
    """The cap is that of batches."""
    with pytest.raises(CorruptRecordException, match=f"more than {CAP} bytes"):
        read(codec, wrapped(1, b"\0" * (CAP + 1)))


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_lz4_with_the_wrong_checksum_of_its_time(size: int) -> None:
    """Magic 0 took it over the frame's magic number too; mended, the library reads it."""
    good = bytes(cramjam.lz4.compress(b"z" * size))
    bad = good[:6] + bytes((xxh32(good[:6]) >> 8 & 0xFF,)) + good[7:]
    assert bad != good
    assert mended(bad) == good
    assert mended(b"no frame") == b"no frame"
    assert xxh32(b"") == 0x02CC5D05
    assert xxh32(b"abc") == 0x32D153FF


@given(data=st.binary(max_size=80), magic=st.integers(0, 1), attributes=st.integers(0, 15))
def test_no_bytes_hurt(data: bytes, magic: int, attributes: int) -> None:
    """Any bytes are records or are refused; in both twins alike."""

    def outcome(name: str, inside: bytes) -> object:
        try:
            return [record.detach() == record for record in read(twin(name), inside)]
        except CorruptRecordException as error:
            return str(error)

    head = struct.pack(">qiIbb", 3, 6 + len(data), 0, magic, attributes)
    for each in (small(magic, data, attributes), head + data, wrapped(magic, head + data)):
        assert outcome("native", each) == outcome("python", each)


def test_columns_of_a_message_are_the_twins_own(codec: Codec) -> None:
    """One reader of messages serves both."""
    header = header_at(small(1, b"x"), 0)
    assert header is not None
    made: Columns = decode_message("t", 0, header, small(1, b"x"), CAP, codec.Columns)
    assert type(made) is codec.Columns
