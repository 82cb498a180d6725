"""Reading a fetched run from a position: one suite for both twins."""

import struct
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException, RecordTooLargeException
from prokurist.records.compression import Compression
from prokurist.records.encode import encode_batch
from prokurist.records.implementation import Codec
from prokurist.records.reader import PartitionReader
from prokurist.records.run import RecordRun
from tests.unit.records.test_legacy import message_set, small
from tests.unit.records.twins import CAP, around, twin

MARKERS = {"abort": b"\0\0\0\0", "commit": b"\0\0\0\1"}


def batch(base_offset: int, count: int = 3, **how: Any) -> bytes:
    """A batch whose values are its offsets."""
    return encode_batch(
        [(0, None, b"%d" % (base_offset + each), ()) for each in range(count)],
        base_offset=base_offset,
        **how,
    )


def marker(offset: int, producer: int, kind: str) -> bytes:
    """What a coordinator writes at the end of a transaction."""
    return encode_batch(
        [(0, MARKERS[kind], bytes(6), ())],
        base_offset=offset,
        producer_id=producer,
        transactional=True,
        control=True,
    )


def reader(codec: Codec, data: bytes, position: int = 0, **how: Any) -> PartitionReader:
    """A reader as the fetch path makes one."""
    how = {"aborted": None, "check_crcs": True, "cap": CAP} | how
    return PartitionReader("orders", 2, memoryview(data), position=position, codec=codec, **how)


def offsets(runs: Sequence[RecordRun]) -> list[int]:
    """What was returned; the values say the same."""
    found = [record.offset for run in runs for record in run]
    assert found == [int(record.value) for run in runs for record in run]
    return found


def damaged(data: bytes, at: int = -1) -> bytes:
    """One bit flipped."""
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def test_all_of_it(codec: Codec) -> None:
    """Records in order over batches, gaps and a cut-off end; then it is exhausted."""
    read = reader(codec, batch(0) + batch(10, leader_epoch=4) + batch(13)[:-1])
    assert offsets(read.take(100)) == [0, 1, 2, 10, 11, 12]
    assert (read.position, read.leader_epoch, read.exhausted, read.size) == (13, 4, True, 0)
    assert read.take(100) == []


def test_at_most_so_many(codec: Codec) -> None:
    """B96: each take goes on where the last one ended."""
    read = reader(codec, batch(0) + batch(3) + batch(6, 1))
    seen = []
    for most, position in ((2, 2), (2, 4), (1, 5), (1, 6), (9, 7)):
        seen += offsets(read.take(most))
        assert read.position == position
    assert seen == list(range(7))
    assert read.exhausted
    assert reader(codec, batch(0)).take(0) == []


@pytest.mark.parametrize("position", range(8))
def test_from_a_position_within(codec: Codec, position: int) -> None:
    """What lies below it is skipped, in the first batch and in whole ones."""
    read = reader(codec, batch(0) + batch(3, codec=Compression.ZSTD), position)
    assert offsets(read.take(100)) == list(range(position, 6))
    assert read.position == max(position, 6)


def test_a_batch_that_compaction_emptied(codec: Codec) -> None:
    """The position goes past it, and past records that are gone from the end of one."""
    empty = around(b"", 0, last=7)
    kept = bytearray(batch(200))
    struct.pack_into(">i", kept, 23, 9)
    read = reader(codec, empty + kept, 100, check_crcs=False)
    assert offsets(read.take(2)) == [200, 201]
    assert offsets(read.take(1)) == [202]
    assert (read.position, read.exhausted) == (210, True)


def test_batches_out_of_order_are_not_read_twice(codec: Codec) -> None:
    """The position never goes back."""
    read = reader(codec, batch(10) + batch(0) + batch(11, 3))
    assert offsets(read.take(100)) == [10, 11, 12, 13]
    assert read.position == 14


def test_control_batches_are_skipped(codec: Codec) -> None:
    """B104: the position goes on, and nothing is returned."""
    for aborted in (None, ()):
        read = reader(codec, marker(4, 1, "commit") + marker(5, 1, "abort"), 4, aborted=aborted)
        assert not read.exhausted
        assert read.take(10) == []
        assert (read.position, read.exhausted) == (6, True)


def transactions() -> bytes:
    """Producers 1 and 2 interleaved; 1 aborts, then commits; 2 commits, then aborts."""
    return b"".join(
        [
            batch(0, 2, producer_id=1, transactional=True),
            batch(2, 2, producer_id=2, transactional=True),
            batch(4, 1),
            marker(5, 1, "abort"),
            batch(6, 2, producer_id=1, transactional=True),
            marker(8, 2, "commit"),
            batch(9, 2, producer_id=2, transactional=True),
            batch(11, 1, producer_id=2),
            marker(12, 1, "commit"),
            marker(13, 2, "abort"),
        ]
    )


ABORTED = [(2, 9), (1, 0)]


@pytest.mark.parametrize("most", [1, 2, 100])
def test_aborted_transactions_are_never_returned(codec: Codec, most: int) -> None:
    """B105: for any bound of a take; other producers and later transactions are kept."""
    read = reader(codec, transactions(), aborted=ABORTED)
    seen: list[int] = []
    while not read.exhausted:
        seen += offsets(read.take(most))
    assert seen == [2, 3, 4, 6, 7, 11]
    assert read.position == 14


def test_uncommitted_reading_returns_them(codec: Codec) -> None:
    """B105: without a list every record is there, and the markers are not."""
    read = reader(codec, transactions())
    assert offsets(read.take(100)) == [0, 1, 2, 3, 4, 6, 7, 9, 10, 11]


def test_an_aborted_transaction_from_its_middle(codec: Codec) -> None:
    """B105: it began below the position."""
    read = reader(codec, transactions(), 1, aborted=ABORTED)
    assert offsets(read.take(100)) == [2, 3, 4, 6, 7, 11]


def test_a_marker_that_is_none(codec: Codec) -> None:
    """B103: a control record without its key is damage."""
    bad = encode_batch([(0, b"\0", b"", ())], producer_id=1, transactional=True, control=True)
    with pytest.raises(CorruptRecordException, match="a control record's key has 1 bytes"):
        reader(codec, bad, aborted=()).take(1)


@pytest.mark.parametrize("kind", list(Compression))
def test_damage_stops_at_its_batch(codec: Codec, kind: Compression) -> None:
    """B103: what is before it comes first; then the error, each time, and nothing moves."""
    read = reader(codec, batch(0) + damaged(batch(3, codec=kind)) + batch(6))
    assert offsets(read.take(100)) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(CorruptRecordException) as caught:
            read.take(100)
        text = str(caught.value)
        assert text.startswith(
            "orders-2 cannot be read at offset 3: the batch of offsets 3 to 5"
        )
        assert "its checksum is 0x" in text
        assert text.endswith("seek to 6")
        assert (read.position, read.exhausted) == (3, False)
    beyond = reader(codec, batch(6), 6)
    assert offsets(beyond.take(100)) == [6, 7, 8]


def test_damage_within_a_run_that_was_begun(codec: Codec) -> None:
    """B103: the error names the position as it is by then."""
    read = reader(codec, batch(0) + b"\0" * 16 + b"\x09" + bytes(80))
    assert offsets(read.take(2)) == [0, 1]
    assert offsets(read.take(2)) == [2]
    with pytest.raises(
        CorruptRecordException,
        match=r"orders-2 cannot be read at offset 3: what follows is damaged: .*magic 9",
    ):
        read.take(2)


def test_damage_that_checksums_do_not_see(codec: Codec) -> None:
    """B103: with `check.crcs` off, what can be told from the bytes still is."""
    bad = damaged(batch(3), 61)
    with pytest.raises(CorruptRecordException, match=r"offsets 3 to 5 is damaged: record 0 of"):
        reader(codec, bad, 3, check_crcs=False).take(1)
    unseen = damaged(batch(3), -2)
    (run,) = reader(codec, unseen, 3, check_crcs=False).take(100)
    assert run[2].value == b"4"


def test_a_bomb(codec: Codec) -> None:
    """B273: the cap holds; the error names place, sizes and key, and a seek goes past it."""
    bomb = encode_batch([(0, None, bytes(CAP), ())] * 2, codec=Compression.GZIP)
    data = batch(0) + _at(bomb, 3) + batch(5)
    read = reader(codec, data)
    assert offsets(read.take(10)) == [0, 1, 2]
    with pytest.raises(RecordTooLargeException) as caught:
        read.take(1)
    with pytest.raises(RecordTooLargeException):
        read.take(1)
    assert read.position == 3
    assert (
        f"orders-2 cannot be read at offset 3: the batch of offsets 3 to 4, {len(bomb)} bytes "
        f"as fetched, is too large: {len(bomb) - 61} compressed bytes come to more than {CAP} "
        f"when they are decompressed. Raise fetch.decoded.batch.max.bytes ({CAP}), or seek to "
        f"5 to go on past it"
    ) == str(caught.value)
    assert not read.exhausted
    assert offsets(reader(codec, data, 5).take(10)) == [5, 6, 7]


def _at(data: bytes, base_offset: int) -> bytes:
    return struct.pack(">q", base_offset) + data[8:]


@pytest.mark.parametrize("how", [Compression.NONE, Compression.ZSTD])
def test_columns_count_as_what_is_decompressed_does(codec: Codec, how: Compression) -> None:
    """B273: the smallest records take six times as much again when they are decoded."""
    data = encode_batch([(0, None, None, ())] * 1000, codec=how)
    plain = (
        0 if how is Compression.NONE else len(encode_batch([(0, None, None, ())] * 1000)) - 61
    )
    with pytest.raises(RecordTooLargeException, match="it holds more than 999 records, which"):
        reader(codec, data, cap=plain + 39_999).take(1)
    assert len(reader(codec, data, cap=plain + 40_000).take(1000)[0]) == 1000


def test_no_batch_is_opened_when_the_time_is_over(codec: Codec) -> None:
    """B274: but one is, so that a poll without time gets ahead all the same."""
    data = b"".join(marker(at, 7, "commit") for at in range(100)) + batch(100)
    read = reader(codec, data)
    asked: list[int] = []

    def over() -> bool:
        asked.append(read.position)
        return len(asked) >= 10

    assert read.take(500, over=over) == []
    assert (asked[0], read.position, read.exhausted) == (1, 10, False)
    assert read.take(500, over=lambda: True) == []
    assert read.position == 11
    assert offsets(read.take(500, over=lambda: False)) == [100, 101, 102]
    read = reader(codec, batch(0) + batch(3))
    assert offsets(read.take(500, over=lambda: True)) == [0, 1, 2]


def test_partitions_with_an_open_batch_hold_no_more_than_the_cap_each(codec: Codec) -> None:
    """B273: beyond the fetch buffer, and all of it is counted as held."""
    cap, partitions = 4 << 20, 6
    large = [(0, None, bytes(cap - 300), ()), (0, None, b"", ())]
    data = encode_batch(large, codec=Compression.ZSTD)
    readers = [reader(codec, data, cap=cap) for _ in range(partitions)]
    tracemalloc.start()
    try:
        for each in readers:
            assert len(each.take(1)) == 1
        alive, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counted = sum(each.size for each in readers)
    assert alive - (64 << 10) <= counted <= partitions * (cap + (64 << 10))
    # The pure twin copies what it decodes meanwhile.
    assert peak <= (partitions + 2) * cap + (1 << 20)


def test_a_million_aborted_transactions_cost_no_objects(codec: Codec) -> None:
    """B274: what a broker says was aborted adds little to the decoding of a batch."""
    aborted = [(each, 0) for each in range(1_000_000)]
    tracemalloc.start()
    try:
        read = PartitionReader(
            "t",
            1,
            batch(0),
            position=0,
            aborted=aborted,
            check_crcs=True,
            cap=1 << 20,
            codec=codec,
        )
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    assert offsets(read.take(10)) == [0, 1, 2]


def test_an_unknown_codec(codec: Codec) -> None:
    """B103: it is named."""
    data = bytearray(batch(0))
    data[22] |= 7
    with pytest.raises(CorruptRecordException, match=r"orders-2 .*codec 7 is unknown"):
        reader(codec, bytes(data), check_crcs=False).take(1)


def test_messages_and_batches_in_one_run(codec: Codec) -> None:
    """A log may have lived through all formats."""
    data = message_set(0, 0, (0, 1, 2)) + message_set(1, 1, wrapper=5) + batch(6)
    read = reader(codec, data, 1)
    found = [record.offset for run in read.take(100) for record in run]
    assert found == [1, 2, 3, 4, 5, 6, 7, 8]
    assert read.position == 9
    with pytest.raises(CorruptRecordException, match="its checksum is 0x"):
        reader(codec, damaged(small(1, b"x"))).take(1)


def test_what_it_holds(codec: Codec) -> None:
    """Raw bytes, and of the open batch the decompressed ones and its columns."""
    packed = batch(0, 100, codec=Compression.GZIP)
    plain = len(batch(0, 100)) - 61
    read = reader(codec, packed + batch(100))
    raw = len(packed + batch(100))
    assert read.size == raw
    read.take(1)
    assert raw + plain + 100 * 40 < read.size < raw + plain + 100 * 40 + 200
    assert "orders-2 @ 1" in repr(read)
    read.take(100)
    assert read.size == raw + 3 * 40
    read.take(2)
    assert read.size == 0
    assert repr(read) == "PartitionReader(orders-2 @ 103, exhausted)"


@given(
    pieces=st.lists(
        st.tuples(
            st.integers(1, 4),
            st.integers(0, 3),
            st.sampled_from(Compression),
            st.integers(-1, 2),
            st.sampled_from(["", "abort", "commit"]),
        ),
        max_size=8,
    ),
    position=st.integers(0, 20),
    takes=st.lists(st.integers(0, 5), max_size=20),
    flip=st.none() | st.integers(0, 2000),
    committed=st.booleans(),
)
def test_the_twins_read_alike(
    pieces: list[tuple[int, int, Compression, int, str]],
    position: int,
    takes: list[int],
    flip: int | None,
    *,
    committed: bool,
) -> None:
    """Random runs, takes and damage: the same records, positions and errors."""
    data, at = b"", 0
    for count, gap, kind, producer, ends in pieces:
        how = {"producer_id": producer, "transactional": producer >= 0, "codec": kind}
        data += batch(at, count, **how)
        at += count
        if ends and producer >= 0:
            data += marker(at, producer, ends)
            at += 1
        at += gap
    if flip is not None and data:
        data = damaged(data, flip % len(data))
    aborted = [(0, 0), (1, 7)] if committed else None

    def told(name: str) -> list[object]:
        read = reader(twin(name), data, position, aborted=aborted)
        story: list[object] = []
        for most in (*takes, 1000, 1000):
            before = read.position
            try:
                found = [each.offset for run in read.take(most) for each in run]
                story.append(found)
                assert len(found) <= most
                assert all(before <= offset < read.position for offset in found)
            except CorruptRecordException as error:
                story.append(str(error))
                assert read.position >= before
            story.append((read.position, read.exhausted, read.leader_epoch))
        return story

    assert told("native") == told("python")


@pytest.mark.parametrize("kind", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize("most", [1, 2, 100])
def test_up_to_an_offset(codec: Codec, kind: Compression, most: int) -> None:
    """Whether it lies within a batch, between two, or behind all: nothing behind it is read."""
    data = batch(0, codec=kind) + batch(3, codec=kind) + damaged(batch(6, codec=kind))
    for stop in range(7):
        reading = reader(codec, data, position=1, stop=stop)
        found: list[int] = []
        while more := offsets(reading.take(most)):
            found += more
        assert found == list(range(1, stop))
        assert reading.position == max(1, stop)
        assert reading.exhausted
        assert reading.take(most) == []
    reading = reader(codec, data, position=1, stop=7)
    assert offsets(reading.take(100)) == [1, 2, 3, 4, 5]
    with pytest.raises(CorruptRecordException):
        reading.take(1)


def test_up_to_an_offset_that_no_record_has(codec: Codec) -> None:
    """A marker, or what compaction took, ends it as a record would."""
    data = batch(0) + marker(3, 9, "commit") + batch(4)
    for stop in (3, 4):
        reading = reader(codec, data, stop=stop)
        assert offsets(reading.take(100)) == [0, 1, 2]
        assert (reading.take(100), reading.position) == ([], stop)
        assert reading.exhausted


@pytest.mark.parametrize("kind", [Compression.NONE, Compression.GZIP])
def test_as_many_bytes_as_are_enough(codec: Codec, kind: Compression) -> None:
    """Whole batches, by their size when they are decompressed; one at least."""
    data = b"".join(batch(each, codec=kind) for each in range(0, 12, 3))
    plain = len(batch(0)) if kind is Compression.NONE else len(batch(0)) - 61
    for enough, count in ((1, 1), (plain, 1), (plain + 1, 2), (3 * plain, 3), (1 << 20, 4)):
        reading = reader(codec, data)
        assert len(offsets(reading.take(100, enough))) == 3 * count
        assert reading.position == 3 * count
