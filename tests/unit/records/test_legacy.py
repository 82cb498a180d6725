"""Messages of magic 0 and 1, as kafka-python writes them; both twins."""

import struct
import time
import tracemalloc
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException, RecordTooLargeException
from prokurist.records import headers
from prokurist.records.columns import Columns
from prokurist.records.compression import Compression, compress
from prokurist.records.headers import header_at
from prokurist.records.implementation import Codec
from prokurist.records.legacy import decode_message, mended, xxh32
from prokurist.records.reader import PartitionReader
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
        columns = decode_message("t", 0, header, data, CAP, codec)
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
    with pytest.raises(RecordTooLargeException, match=f"come to more than {CAP} when"):
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
        except (CorruptRecordException, RecordTooLargeException) as error:
            return str(error)

    head = struct.pack(">qiIbb", 3, 6 + len(data), 0, magic, attributes)
    for each in (small(magic, data, attributes), head + data, wrapped(magic, head + data)):
        assert outcome("native", each) == outcome("python", each)


MANY = 50_000


def wrapped_many(count: int = MANY) -> bytes:
    """A wrapper around very many of the smallest messages of magic 1."""
    inside = bytearray(small(1, b"") * count)
    size = len(small(1, b""))
    for each in range(count):
        struct.pack_into(">q", inside, each * size, each)
    return small(1, compress(Compression.GZIP, bytes(inside)), 1, count - 1)


def test_very_many_wrapped_messages_take_no_more_than_their_columns(codec: Codec) -> None:
    """B272: no object is made for one of them, whichever twin reads them."""
    data = wrapped_many()
    tracemalloc.start()
    try:
        (columns,) = (run.columns for run in reader_of(codec, data).take(10 * MANY))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(columns) == MANY
    assert (columns.offsets[0], columns.offsets[-1]) == (0, MANY - 1)
    assert peak < MANY * (34 + 40) * 2 + (4 << 20)


def test_the_native_twin_reads_wrapped_messages_by_itself() -> None:
    """B272: in a hundredth of the time that objects took."""
    data = wrapped_many(200_000)
    began = time.process_time()
    twin("native").RecordRun(reader_of(twin("native"), data).take(1)[0].columns, 0, 1)
    assert time.process_time() - began < 0.3


@pytest.mark.parametrize("cap", [MANY * 34 - 1, MANY * 74 - 1])
def test_more_wrapped_messages_than_may_be_decoded(codec: Codec, cap: int) -> None:
    """B273: the columns count as what was decompressed does."""
    last = f"t-0 .* offsets {MANY - 1} to {MANY - 1}"
    with pytest.raises(RecordTooLargeException, match=last):
        reader_of(codec, wrapped_many(), cap=cap).take(1)
    assert reader_of(codec, wrapped_many(), cap=MANY * 74).take(1)


def reader_of(codec: Codec, data: bytes, cap: int = CAP * 8) -> PartitionReader:
    """A reader of all of some bytes."""
    return PartitionReader(
        "t", 0, data, position=0, aborted=None, check_crcs=True, cap=cap, codec=codec
    )


@pytest.mark.parametrize("inner", [0, 1 << 40, (1 << 63) - 2])
@pytest.mark.parametrize("wrapper", [0, 1, (1 << 63) - 2])
def test_offsets_at_the_edge_of_what_there_is(inner: int, wrapper: int) -> None:
    """B103: the twins add alike, to more than 64 bits where it comes to that."""

    def outcome(name: str) -> object:
        data = small(1, compress(Compression.GZIP, inside), 1, wrapper)
        try:
            return [record.offset for record in read(twin(name), data)]
        except CorruptRecordException as error:
            return str(error)

    for offsets in ((0, inner), (inner, 0), (inner, inner), (inner,)):
        inside = b"".join(small(1, b"x", offset=each) for each in offsets)
        assert outcome("native") == outcome("python")


def test_the_extent_of_messages_is_found_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network thread looks for it: without a step of the interpreter for each of them."""
    data = message_set(0) + message_set(1, 1, wrapper=5) + message_set(1)[:-1]
    found = headers.extent(data)
    assert (found.batches, found.next_offset, found.leader_epoch) == (6, 6, None)
    native = twin("native")
    monkeypatch.delattr(headers, "extent")
    assert native.extent(data) == found


def test_columns_of_a_message_are_the_twins_own(codec: Codec) -> None:
    """One reader of messages serves both."""
    header = header_at(small(1, b"x"), 0)
    assert header is not None
    made: Columns = decode_message("t", 0, header, small(1, b"x"), CAP, codec)
    assert type(made) is codec.Columns
