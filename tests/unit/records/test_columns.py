"""Columns and runs of records: one suite for both twins."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.records.columns import Spans
from prokurist.records.implementation import Codec
from prokurist.types import TimestampType
from tests.unit.records.twins import SOME, decoded, native_twin, rows, some_batch, twin


def spans(data: bytes, *places: tuple[int, int]) -> Spans:
    """A column out of starts and lengths."""
    starts, lengths = zip(*places, strict=True) if places else ((), ())
    return Spans(
        memoryview(data), memoryview(array("i", starts)), memoryview(array("i", lengths))
    )


def test_a_run_is_a_slice(codec: Codec) -> None:
    """Its length, its records one by one and by number, again each time."""
    columns = decoded(codec, some_batch(base_offset=10))
    run = codec.RecordRun(columns, 1, 3)
    assert len(run) == 2
    assert [record.offset for record in run] == [11, 12] == [each.offset for each in run]
    assert (run[0].offset, run[1].offset, run[-1].offset) == (11, 12, 12)
    for index in (2, -3):
        with pytest.raises(IndexError, match=f"record {index} of 2"):
            run[index]


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (3, 2), (0, 5)])
def test_a_run_lies_within_its_columns(codec: Codec, start: int, stop: int) -> None:
    """Rows that are not there are not read."""
    columns = decoded(codec, some_batch())
    with pytest.raises(IndexError, match=f"rows {start} to {stop} of 4"):
        codec.RecordRun(columns, start, stop)
    with pytest.raises(IndexError, match="row 4 of 4"):
        codec.ConsumerRecord.of(columns, 4)


def test_as_columns_nothing_is_copied(codec: Codec) -> None:
    """Numbers as memoryviews, byte strings as spans of the batch's own bytes."""
    data = some_batch(base_offset=10)
    columns = decoded(codec, data)
    seen = codec.RecordRun(columns, 1, 4).as_columns()
    assert (seen.topic, seen.partition, seen.leader_epoch) == ("t", 1, None)
    assert seen.timestamp_type is TimestampType.CREATE_TIME
    assert seen.offsets.tolist() == [11, 12, 13]
    assert seen.timestamps.tolist() == [record[0] for record in SOME[1:]]
    assert seen.keys.lengths.tolist() == [-1, 0, 70]
    assert (seen.offsets.format, seen.keys.starts.format) == ("q", "i")
    assert seen.values.data.obj is data
    assert all(view.readonly for view in (seen.offsets, seen.keys.starts, seen.keys.data))
    values = [
        None if length < 0 else bytes(seen.values.data[start : start + length])
        for start, length in zip(seen.values.starts, seen.values.lengths, strict=True)
    ]
    assert values == [record[2] for record in SOME[1:]]


def test_the_first_row_at_or_after_an_offset(codec: Codec) -> None:
    """Gaps included."""
    numbers = [(offset, 0, 0, -1, 0, -1, 0, 0) for offset in (3, 5, 9)]
    columns = codec.Columns("t", 0, None, TimestampType.CREATE_TIME, b"", numbers)
    assert [columns.index_of(offset) for offset in (0, 3, 4, 5, 6, 9, 10)] == [
        0,
        0,
        1,
        1,
        2,
        2,
        3,
    ]
    assert rows(columns) == numbers
    assert columns.size == 3 * 40


def test_gathered_as_arrow_keeps_them(codec: Codec) -> None:
    """Ends as 32-bit integers, the bytes, and a bit for each that is not null."""
    parts = [
        spans(b"abcdef", (1, 2), (0, -1), (5, 1)),
        spans(b""),
        spans(b"xyz", *[(0, 1)] * 6, (1, 0)),
    ]
    ends, data, valid = codec.gathered(parts)
    assert array("i", ends).tolist() == [0, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert data == b"bcfxxxxxx"
    assert valid == bytes([0b11111101, 0b11])
    assert codec.gathered([spans(b"ab", (0, 2))]) == (array("i", [0, 2]).tobytes(), b"ab", None)
    assert codec.gathered([]) == (bytes(4), b"", None)


@pytest.mark.parametrize("place", [(-1, 1), (0, 7), (7, 0), (2_000_000_000, 2_000_000_000)])
def test_spans_outside_their_data_are_refused(codec: Codec, place: tuple[int, int]) -> None:
    """For any producer."""
    with pytest.raises(IndexError, match=f"{place[1]} bytes at {place[0]} of 6"):
        codec.gathered([spans(b"abcdef", (0, 6), place)])


@given(
    data=st.binary(min_size=1, max_size=30),
    places=st.lists(st.tuples(st.integers(-2, 31), st.integers(-1, 31)), max_size=20),
)
def test_the_twins_gather_alike(data: bytes, places: list[tuple[int, int]]) -> None:
    """The same bytes or the same error."""

    def outcome(codec: Codec) -> object:
        try:
            return codec.gathered([spans(data, *places), spans(data, *places[:3])])
        except IndexError as error:
            return str(error)

    assert outcome(twin("native")) == outcome(twin("python"))


def test_columns_are_made_once() -> None:
    """A second time would pull the bytes from under the records."""
    native = native_twin()
    columns = native.Columns("t", 0, None, TimestampType.CREATE_TIME, b"", [])
    with pytest.raises(RuntimeError, match="made once"):
        columns.__init__("t", 0, None, TimestampType.CREATE_TIME, b"", [])
