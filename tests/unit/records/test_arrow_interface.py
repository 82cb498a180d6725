"""Columns by Arrow's C interface: what they hold is what pyarrow says that they hold."""

import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.records.arrow_interface import (
    Column,
    byte_objects,
    byte_strings,
    chunks_of,
    milliseconds,
    packed_headers,
)
from prokurist.records.columns import read_headers
from tests.fuzz.tables import TEXT_KINDS

TEXTS = st.lists(st.none() | st.text(max_size=20), max_size=40)


class ArrayOnly:
    """What speaks the interface of one record batch, and none of a stream."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __arrow_c_array__(self, schema: object = None) -> Any:
        """See the interface."""
        return self._batch.__arrow_c_array__(schema)


def as_bytes(values: Any) -> list[bytes | None]:
    """Texts or bytes, as bytes."""
    return [each.encode() if isinstance(each, str) else each for each in values]


def named(chunk: list[Column]) -> dict[str, Column]:
    """The columns of a chunk by their names."""
    return {each.name: each for each in chunk}


@settings(max_examples=60, deadline=None)
@given(texts=TEXTS, kind=st.sampled_from(TEXT_KINDS), first=st.integers(0, 12), data=st.data())
def test_byte_strings_of_each_kind(
    texts: list[str | None], kind: Any, first: int, data: st.DataObject
) -> None:
    """Nulls, slices, short and long ones, whole chunks and none."""
    given_texts = [None if each is None else each.encode() for each in texts]
    column = pa.array(given_texts, pa.binary()).cast(kind)
    table = pa.table({"value": column}).slice(first)
    if data.draw(st.booleans()):
        table = pa.concat_tables([table, table.slice(1)])
    with chunks_of(table) as chunks:
        found = [each for chunk in chunks for each in byte_objects(named(chunk)["value"])]
    assert found == as_bytes(table["value"].to_pylist())


def test_a_single_record_batch_and_a_struct_with_an_offset() -> None:
    """The interface without a stream; rows of a struct begin where that does."""
    struct = pa.array([{"value": b"a"}, {"value": None}, {"value": b"ccc"}]).slice(1)
    batch = pa.record_batch({"value": pa.array([b"x", None, b"zz"])}).slice(1)
    for source, expected in ((batch, [None, b"zz"]), (struct, [None, b"ccc"])):
        with chunks_of(ArrayOnly(source)) as (chunk,):
            assert byte_objects(named(chunk)["value"]) == expected


def test_fixed_sizes_and_nulls() -> None:
    """Other columns of byte strings."""
    table = pa.table(
        {
            "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
            "empty": pa.array([b"", b"", None], pa.binary(0)),
            "null": pa.nulls(3),
        }
    ).slice(1)
    with chunks_of(table) as (chunk,):
        assert byte_objects(named(chunk)["fixed"]) == [None, b"cd"]
        assert byte_objects(named(chunk)["empty"]) == [b"", None]
        assert byte_strings(named(chunk)["null"]) is None
        assert byte_objects(named(chunk)["null"]) == [None, None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_each_unit(unit: str) -> None:
    """In milliseconds; null is −1."""
    per_second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]
    column = pa.array([5 * per_second, None, 7 * per_second], pa.timestamp(unit, "UTC"))
    with chunks_of(pa.table({"when": column})) as (chunk,):
        assert list(milliseconds(named(chunk)["when"])) == [5000, -1, 7000]
    with (
        chunks_of(pa.table({"when": pa.array([-1], pa.int64())})) as (chunk,),
        pytest.raises(ValueError, match="not negative"),
    ):
        milliseconds(named(chunk)["when"])


def test_what_lies_under_a_null_is_not_looked_at() -> None:
    """Views that lead nowhere, and numbers that no timestamp can be, as pandas leaves them."""
    valid = pa.py_buffer(b"\x01")
    views = struct.pack("<i12s", 3, b"abc") + struct.pack("<i4sii", 1000, b"abcd", 7, 1 << 30)
    value = pa.Array.from_buffers(pa.binary_view(), 2, [valid, pa.py_buffer(views)])
    numbers = pa.py_buffer(struct.pack("<qq", 1, -(2**63)))
    when = pa.Array.from_buffers(pa.timestamp("s"), 2, [valid, numbers])
    with chunks_of(pa.table({"value": value, "when": when})) as chunks:
        assert list(milliseconds(named(chunks[0])["when"])) == [1000, -1]
        assert byte_strings(named(chunks[0])["value"]) == [b"abc", None]


def test_headers_as_lists_and_as_maps() -> None:
    """What a consumer's table has, and what others make of it."""
    pairs = [[("a", b"1"), ("b", None)], None, [], [("a", b"2")]]
    listed = [
        None if row is None else [{"key": key, "value": value} for key, value in row]
        for row in pairs
    ]
    struct = pa.struct([("key", pa.string()), ("value", pa.binary())])
    for column in (
        pa.array(pairs, pa.map_(pa.string(), pa.binary())),
        pa.array(listed, pa.list_(struct)),
        pa.array(listed, pa.large_list(struct)),
    ):
        with chunks_of(pa.table({"headers": column}).slice(1)) as (chunk,):
            packed = packed_headers(named(chunk)["headers"])
        assert packed[:2] == [None, None]
        assert packed[2] is not None
        assert read_headers(packed[2], 0, len(packed[2])) == [("a", b"2")]


def test_headers_whose_value_comes_first() -> None:
    """The names of the fields say which is which."""
    pair = pa.struct([("value", pa.binary()), ("key", pa.string())])
    column = pa.array([[{"key": "a", "value": b"1"}]], pa.list_(pair))
    with chunks_of(pa.table({"headers": column})) as (chunk,):
        (packed,) = packed_headers(named(chunk)["headers"])
    assert packed is not None
    assert read_headers(memoryview(packed), 0, len(packed)) == [("a", b"1")]


@pytest.mark.parametrize("header", [None, {"key": None, "value": b"1"}])
def test_a_header_without_a_name_is_refused(header: Any) -> None:
    """As `send` refuses it."""
    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    column = pa.array([[], [header]], pa.list_(pair))
    with (
        chunks_of(pa.table({"headers": column})) as (chunk,),
        pytest.raises(ValueError, match="row 1 has a header without a name"),
    ):
        packed_headers(named(chunk)["headers"])


def test_what_has_no_bytes_is_refused() -> None:
    """The column's name, its type, and the way out."""
    table = pa.table({"number": pa.array([1]), "words": pa.array(["a"]).dictionary_encode()})
    with chunks_of(table) as (chunk,):
        with pytest.raises(TypeError, match="column number is of Arrow's type 'l'"):
            byte_strings(named(chunk)["number"])
        with pytest.raises(TypeError, match="column words is dictionary-encoded: cast it"):
            byte_strings(named(chunk)["words"])


def test_a_stream_that_fails_says_why() -> None:
    """The source's own words."""

    def broken() -> Any:
        yield pa.record_batch({"value": pa.array([b"a"])})
        raise ValueError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), broken())
    with pytest.raises(OSError, match="the disk is gone"), chunks_of(reader):
        pass
