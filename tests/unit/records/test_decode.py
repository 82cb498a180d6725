"""Decoding batches: one suite for both twins, and a differential test between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException
from prokurist.records.columns import MOST_HEADERS, pack_headers
from prokurist.records.compression import Compression
from prokurist.records.encode import NewRecord, encode_batch, encode_records
from prokurist.records.headers import header_at
from prokurist.records.implementation import Codec
from prokurist.records.varints import encode_varint
from prokurist.types import TimestampType
from tests.unit.records.twins import (
    SOME,
    around,
    decoded,
    kafka_python,
    native_twin,
    outcome,
    rows,
    some_batch,
    twin,
)

VARINTS = st.one_of(st.integers(-3, 70), st.integers(-(1 << 63), (1 << 63) - 1))
BYTES = st.none() | st.binary(max_size=90)
RECORDS = st.lists(
    st.tuples(
        st.integers(0, 1 << 50),
        BYTES,
        BYTES,
        st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3),
    ),
    min_size=1,
    max_size=8,
)


def as_new(codec: Codec, data: bytes) -> list[NewRecord]:
    """Decoded records in the form in which they are encoded."""
    columns = decoded(codec, data)
    run = codec.RecordRun(columns, 0, len(columns))
    return [(each.timestamp, each.key, each.value, each.headers) for each in run]


@pytest.mark.parametrize("compression", list(Compression))
def test_there_and_back(codec: Codec, compression: Compression) -> None:
    """B115: headers, null keys and values, timestamps, under each compression."""
    data = some_batch(compression, base_offset=70)
    assert as_new(codec, data) == SOME
    assert list(decoded(codec, data).offsets) == [70, 71, 72, 73]


def test_a_batch_of_another_client(codec: Codec) -> None:
    """B115: kafka-python wrote it, and we read it."""
    builder = kafka_python("default_records").DefaultRecordBatchBuilder(
        2, 0, 0, -1, -1, -1, 1 << 20
    )
    for index, (timestamp, key, value, headers) in enumerate(SOME):
        builder.append(index, timestamp, key, value, headers)
    assert as_new(codec, bytes(builder.build())) == SOME


def test_known_bytes(codec: Codec) -> None:
    """One record, byte by byte."""
    body = bytes.fromhex("1a 00 06 02 02 6b 04 76 77 02 02 68 02 21")
    columns = decoded(codec, around(body, 1, first_timestamp=5))
    (record,) = codec.RecordRun(columns, 0, 1)
    assert (record.offset, record.timestamp) == (101, 8)
    assert (record.key, record.value, record.headers) == (b"k", b"vw", [("h", b"!")])


def test_the_broker_stamped_it(codec: Codec) -> None:
    """Under LOG_APPEND_TIME every record has the batch's time."""
    data = encode_batch(SOME, timestamp_type=TimestampType.LOG_APPEND_TIME)
    latest = max(record[0] for record in SOME)
    columns = decoded(codec, data)
    assert columns.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert list(columns.timestamps) == [latest] * len(SOME)


def test_an_empty_batch(codec: Codec) -> None:
    """Compaction may take all records and leave the header."""
    assert rows(decoded(codec, around(b"", 0))) == []


def test_gaps_are_kept(codec: Codec) -> None:
    """Compaction takes records out of the middle."""
    whole = encode_records([(0, None, b"a", ())] * 3, 0)
    one = len(whole) // 3
    assert list(decoded(codec, around(whole[:one] + whole[2 * one :], 2)).offsets) == [100, 102]


def record(inside: bytes) -> bytes:
    """Some bytes as a record says it has them."""
    return encode_varint(len(inside)) + inside


PLAIN = b"\x00\x00\x00\x01\x01\x00"
"""Attributes, no delta, offset 0, null key, null value, no headers."""


@pytest.mark.parametrize(
    ("body", "count", "words"),
    [
        (record(PLAIN), 2, "it says it holds 2 records, and has 7 bytes"),
        (record(PLAIN) + b"xyz", 1, "3 bytes follow its last record"),
        (record(PLAIN)[:-1] + b"\x80", 1, "record 0 of the batch: the data ends within"),
        (b"\x0e" + PLAIN, 1, "it says it has 7 bytes, and 6 are left"),
        (b"\x00" + PLAIN, 1, "it says it has 0 bytes"),
        (b"\x01" + PLAIN, 1, "it says it has -1 bytes"),
        (b"\xff" * 10 + PLAIN, 1, "more than 64 bits"),
        (record(b"\0\0\0\x10abc\x01\0"), 1, "its key says it has 8 bytes, and 5 are left"),
        (record(b"\0\0\0\x01\x10abc\0"), 1, "its value says it has 8 bytes, and 4 are left"),
        (record(b"\0\0\0\x01\x01\x04\0"), 1, "it says it has 2 headers, and 1 bytes for them"),
        (record(b"\0\0\0\x01\x01\x03ab"), 1, "it says it has -2 headers"),
        (record(b"\0\0\0\x01\x01\x02\x01\x01"), 1, "a header has no name"),
        (record(b"\0\0\0\x01\x01\x02\x20\x01"), 1, "its header's name says it has 16 bytes"),
        (record(b"\0\0\0\x01\x01\x02\x02a\x20"), 1, "its header says it has 16 bytes"),
        (record(PLAIN + b"!"), 1, "its parts end at byte 7, and itself at byte 8"),
        (record(b"\0\0\x01\x01\x01\0"), 1, "its offset 99 does not lie behind 99"),
        (record(PLAIN) * 2, 2, "record 1 of the batch: its offset 100 does not lie behind 100"),
        (
            record(b"\0\0" + encode_varint(1001) + b"\x01\x01\0"),
            1,
            "and within the batch's last, 1100",
        ),
        (record(b"\0" + encode_varint(-(1 << 63)) + b"\0\x01\x01\0"), 1, "more than 64 bits"),
    ],
)
def test_damage_is_named(codec: Codec, body: bytes, count: int, words: str) -> None:
    """B103: the record and what is wrong with it; nothing is handed out."""
    with pytest.raises(CorruptRecordException) as caught:
        decoded(codec, around(body, count, first_timestamp=-1))
    assert words in str(caught.value)


def test_an_impossible_number_of_records_takes_no_memory(codec: Codec) -> None:
    """Four billion records in seven bytes are refused before there is room made for them."""
    with pytest.raises(CorruptRecordException, match="4294967295 records"):
        decoded(codec, around(record(PLAIN), (1 << 32) - 1))


@given(records=RECORDS, compression=st.sampled_from(Compression))
def test_the_twins_agree_on_valid_batches(
    records: list[NewRecord], compression: Compression
) -> None:
    """Written by either, read alike by both."""
    native = twin("native")
    base = records[0][0]
    assert native.encode_records(records, base) == encode_records(records, base)
    data = encode_batch(records, codec=compression)
    assert rows(decoded(native, data)) == rows(decoded(twin("python"), data))
    assert as_new(native, data) == records


@given(records=RECORDS, flips=st.lists(st.tuples(st.integers(0), st.integers(0, 255))))
def test_the_twins_agree_on_flipped_bytes(
    records: list[NewRecord], flips: list[tuple[int, int]]
) -> None:
    """The same numbers or the same error, word for word; the header's count included."""
    data = bytearray(encode_batch(records))
    for at, value in flips:
        data[57 + at % (len(data) - 57)] = value
    assert outcome(twin("native"), bytes(data)) == outcome(twin("python"), bytes(data))


@given(records=RECORDS, cut=st.integers(0, 400), more=st.binary(max_size=9))
def test_the_twins_agree_on_truncated_bodies(
    records: list[NewRecord], cut: int, more: bytes
) -> None:
    """Bodies that end too early or go on for too long."""
    body = encode_records(records, 0)[: cut or None] + more
    data = around(body, len(records))
    assert outcome(twin("native"), data) == outcome(twin("python"), data)


@given(
    numbers=st.lists(VARINTS, min_size=1, max_size=12),
    tail=st.binary(max_size=40),
    count=st.integers(0, 3),
    first=st.sampled_from([0, -1, (1 << 63) - 1, -(1 << 63)]),
)
def test_the_twins_agree_on_hostile_numbers(
    numbers: list[int], tail: bytes, count: int, first: int
) -> None:
    """Lengths and deltas of any size, where records should be."""
    inside = b"\0" + b"".join(map(encode_varint, numbers)) + tail
    for body in (record(inside), record(inside) * 2, inside):
        data = around(body, count, first_timestamp=first)
        assert outcome(twin("native"), data) == outcome(twin("python"), data)


def test_native_spans_have_to_lie_in_the_data() -> None:
    """Asked for bytes that are not there, the native twin refuses before it reads."""
    native = native_twin()
    with pytest.raises(IndexError, match="bytes 0 to 400 of 4"):
        native.decode_batch("t", 0, header_at(around(b"", 0), 0), bytes(4), 0, 400)


def test_a_record_of_very_many_headers_is_refused(codec: Codec) -> None:
    """B280: 2 bytes of each would become 70, and compressed they are next to nothing."""
    count = MOST_HEADERS + 1
    inside = b"\0\0\0\1\1" + encode_varint(count) + bytes(2 * count)
    with pytest.raises(
        CorruptRecordException, match="1048577 headers, and 1048576 is the most"
    ):
        decoded(codec, around(encode_varint(len(inside)) + inside, 1))
    with pytest.raises(ValueError, match="1048577 headers"):
        pack_headers([("", None)] * count)
