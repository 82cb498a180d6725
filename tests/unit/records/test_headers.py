"""What the headers of batches tell, and what hostile ones cannot do."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException
from prokurist.records.headers import BATCH_HEADER, LAST_OFFSET, extent, header_at, headers
from prokurist.records.implementation import Codec
from prokurist.testing.cluster.batches import Record, make_batch
from prokurist.types import TimestampType
from tests.unit.records.twins import native_twin


def batch(base_offset: int = 0, count: int = 3, leader_epoch: int = 7) -> bytes:
    """A plain batch, as a log keeps it."""
    made = make_batch([Record(b"v", timestamp=5 + each) for each in range(count)])
    return made.appended_at(base_offset, leader_epoch).data


def patched(data: bytes, at: int, layout: str, value: int) -> bytes:
    """The same bytes with another number at one place."""
    return data[:at] + struct.pack(layout, value) + data[at + struct.calcsize(layout) :]


def message(magic: int, offset: int, attributes: int = 0, timestamp: int = 9) -> bytes:
    """A legacy message with no key and no value; its checksum is not checked here."""
    body = struct.pack(">bb", magic, attributes)
    body += struct.pack(">q", timestamp) if magic else b""
    body += struct.pack(">ii", -1, -1)
    return struct.pack(">qiI", offset, len(body) + 4, 0) + body


def test_a_header_in_full(codec: Codec) -> None:
    """Each field is read from its place."""
    data = bytearray(batch(base_offset=40))
    struct.pack_into(">h", data, 21, 4 | 0x08 | 0x10 | 0x20)
    struct.pack_into(">qhi", data, 43, 1234, 5, 6)
    header = codec.header_at(bytes(data), 0)
    assert header is not None
    assert header._asdict() == {
        "base_offset": 40,
        "last_offset": 42,
        "leader_epoch": 7,
        "magic": 2,
        "codec": 4,
        "timestamp_type": TimestampType.LOG_APPEND_TIME,
        "base_timestamp": 5,
        "max_timestamp": 7,
        "producer_id": 1234,
        "producer_epoch": 5,
        "base_sequence": 6,
        "transactional": True,
        "control": True,
        "record_count": 3,
        "checksum": int.from_bytes(data[17:21], "big"),
        "position": 0,
        "size": len(data),
    }
    assert header.next_offset == 43


@pytest.mark.parametrize(
    ("magic", "attributes", "kind", "latest"),
    [
        (0, 0, TimestampType.NO_TIMESTAMP_TYPE, -1),
        (1, 0, TimestampType.CREATE_TIME, 9),
        (1, 8, TimestampType.LOG_APPEND_TIME, 9),
    ],
)
def test_a_legacy_message(
    codec: Codec, magic: int, attributes: int, kind: TimestampType, latest: int
) -> None:
    """A message is a batch of one, or a wrapper that bears its last offset."""
    data = message(magic, 11, attributes | 2)
    header = codec.header_at(data, 0)
    assert header is not None
    assert (header.last_offset, header.next_offset) == (11, 12)
    assert (header.magic, header.codec, header.size) == (magic, 2, len(data))
    assert (header.timestamp_type, header.max_timestamp) == (kind, latest)
    assert header.leader_epoch is None


def test_a_run_and_its_extent(codec: Codec) -> None:
    """Batches with gaps between them and both layouts; the last one is cut off."""
    whole = message(0, 3) + message(1, 4) + batch(10) + batch(50, leader_epoch=9)
    for cut in (b"", batch(60)[:16], batch(60)[:-1]):
        found = codec.extent(whole + cut)
        assert (found.batches, found.next_offset, found.leader_epoch) == (4, 53, 9)
        assert (found.size, found.damage) == (len(whole), None)
    places = [header.position for header in headers(memoryview(whole))]
    assert places == [0, 26, 60, 60 + len(batch())]


def test_nothing_whole_has_no_next_offset(codec: Codec) -> None:
    """Neither an empty answer nor a batch larger than it."""
    assert codec.extent(b"") == (0, None, None, 0, None)
    assert codec.extent(batch()[:-1]) == (0, None, None, 0, None)


@pytest.mark.parametrize(
    ("at", "layout", "value", "words"),
    [
        (16, ">b", 3, "magic 3: known are"),
        (16, ">b", -1, "magic -1"),
        (8, ">i", BATCH_HEADER - 13, "says it has 60 bytes: the smallest with magic 2 has 61"),
        (8, ">i", -1, "says it has 11 bytes"),
        (8, ">i", -(1 << 31), "the smallest"),
        (0, ">q", -1, "impossible offsets: the first is -1"),
        (0, ">q", LAST_OFFSET, "the last is 2 behind it"),
        (23, ">i", -1, "the last is -1 behind it"),
    ],
)
def test_damage_is_named_and_ends_the_extent(
    codec: Codec, at: int, layout: str, value: int, words: str
) -> None:
    """B103: what came before it counts; the damage says what is wrong, and where."""
    good = batch(5)
    run = good + patched(batch(8), at, layout, value) + batch(11)
    found = codec.extent(run)
    assert (found.batches, found.next_offset, found.size) == (1, 8, len(good))
    assert found.damage is not None
    assert words in found.damage
    assert f"byte {len(good)}" in found.damage
    with pytest.raises(CorruptRecordException, match=f"at byte {len(good)}"):
        list(headers(run))


def test_a_length_beyond_the_data_is_a_batch_cut_off(codec: Codec) -> None:
    """Two gigabytes promised cost nothing."""
    assert codec.extent(patched(batch(), 8, ">i", (1 << 31) - 1)) == (0, None, None, 0, None)


def test_offsets_that_go_back_do_not_take_fetching_back(codec: Codec) -> None:
    """A run out of order ends past its highest offset."""
    assert codec.extent(batch(50) + batch(10)).next_offset == 53


@given(data=st.binary(max_size=200), magic=st.integers(0, 2), length=st.integers(0, 180))
def test_no_bytes_hurt(data: bytes, magic: int, length: int) -> None:
    """Any bytes give an extent that lies within them."""
    for run in (data, struct.pack(">qiib", 0, length, 0, magic) + data):
        found = extent(run)
        assert 0 <= found.size <= len(run)
        assert (found.next_offset is None) == (found.batches == 0)


@given(
    offsets=st.lists(st.integers(0, LAST_OFFSET - 2), min_size=1, max_size=4),
    at=st.integers(0, BATCH_HEADER - 1),
    value=st.binary(max_size=8),
    cut=st.integers(0, 80),
)
@example(offsets=[0], at=57, value=b"\xff", cut=0)
@example(offsets=[0], at=17, value=b"\xff", cut=0)
@example(offsets=[0, 9], at=12, value=b"\xff", cut=0)
def test_the_twins_see_the_same(offsets: list[int], at: int, value: bytes, cut: int) -> None:
    """Of runs that are whole, cut off, and damaged anywhere in the last header."""
    run = bytearray().join(map(batch, offsets))
    last = len(run) - len(batch())
    run[last + at : last + at + len(value)] = value
    data = bytes(run[: len(run) - cut])
    native = native_twin()
    assert native.extent(memoryview(data)) == extent(data)
    for position in (0, last, len(data), len(data) + 1):
        said = []
        for look in (native.header_at, header_at):
            try:
                said.append(look(data, position))
            except CorruptRecordException as error:
                said.append(str(error))
        assert said[0] == said[1]
        assert type(said[0]) is type(said[1])
