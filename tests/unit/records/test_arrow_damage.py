"""Arrow data that does not hold together: refused with words, and not read."""

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from prokurist.records.arrow_interface import (
    byte_objects,
    byte_strings,
    chunks_of,
    milliseconds,
    packed_headers,
)
from prokurist.records.columns import Spans
from tests.fuzz.arrow_made import Made, Speaker, StreamSpeaker
from tests.unit.records.test_arrow_interface import ArrayOnly


def numbers(code: str, *values: int) -> bytes:
    """A buffer of numbers."""
    return struct.pack(f"={len(values)}{code}", *values)


VIEW = struct.pack("=i4sii", 20, b"abcd", 0, 0)
PAIRS = Made(
    "+s",
    2,
    [None],
    parts=[Made(kind, 2, [None, numbers("i", 0, 1, 2), b"ab"]) for kind in ("u", "z")],
)


def headers(rows: int, *offsets: int) -> Made:
    """A column of headers, of which there are two."""
    return Made("+l", rows, [None, numbers("i", *offsets)], parts=[PAIRS])


@pytest.mark.parametrize(
    ("column", "read", "why"),
    [
        (Made("z", 3, [None, numbers("i", 0, 5, 2, 5), b"abcde"]), byte_strings, "back"),
        (Made("z", 1, [None, numbers("i", -1, 3), b"abc"]), byte_strings, "back"),
        (Made("Z", 1, [None, numbers("q", 0, 1 << 40), b"abc"]), byte_strings, "2 GiB"),
        (Made("z", 1, [None, None, b"abc"]), byte_strings, "no buffer of numbers"),
        (Made("z", 1, [None, numbers("i", 0, 3), None]), byte_strings, "is missing"),
        (Made("z", 1, [None, numbers("i", 0, 3)]), byte_strings, "has 2 buffers"),
        (Made("vz", 1, [None, VIEW, b"x" * 19, numbers("q", 19)]), byte_strings, "outside"),
        (Made("vz", 1, [None, VIEW, b""]), byte_strings, "outside"),
        (Made("vz", 1, [None, VIEW]), byte_strings, "has 2 buffers"),
        (Made("w:2", 1, [None, None]), byte_strings, "is missing"),
        (Made("w:-2", 1, [None, b"ab"]), byte_strings, "is of type 'w:-2'"),
        (Made("tss:", 1, [None, None]), milliseconds, "no buffer of numbers"),
        (Made("tss:", 1, [None, numbers("q", 1 << 62)]), milliseconds, "too late"),
        (headers(1, 0, 3), packed_headers, "has 2 rows, not 0 and 3"),
        (headers(2, 0, 2, 1), packed_headers, "back"),
        (headers(1, 0, 1 << 21), packed_headers, "2097152 headers, and a record has 1048576"),
    ],
)
def test_damage_is_refused(column: Made, read: Callable[[Any], object], why: str) -> None:
    """B367: what offsets and lengths say is held against what there is."""
    speaker = Speaker(Made("+s", column.length, [None], parts=[column]))
    with chunks_of(speaker) as (chunk,), pytest.raises(ValueError, match=why):
        read(chunk[0])


GOOD = Made("z", 2, [None, numbers("i", 0, 1, 2), b"ab"])


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (Made("+s", 3, [None], parts=[GOOD]), "value has 2 rows, not 0 and 3"),
        (Made("+s", 1, [None], offset=2, parts=[GOOD]), "value has 2 rows, not 2 and 1"),
        (Made("+s", -1, [None], parts=[GOOD]), "has -1 rows"),
        (Made("+s", 2, [None], parts=[GOOD], more_parts=1), "has 2 parts, and its type 1"),
        (
            Made("+s", 1 << 40, [None], parts=[Made("n", 1 << 40)]),
            "too many rows: send the table in parts",
        ),
    ],
)
def test_a_table_that_does_not_fit_its_columns(table: Made, why: str) -> None:
    """B367: the table says how many rows there are, a column how many it has."""
    for speaker in (Speaker(table), StreamSpeaker([table])):
        with pytest.raises(ValueError, match=why), chunks_of(speaker):
            pass
    assert speaker.released == 2


@pytest.mark.parametrize("kind", ["", "ts", "tsx:"])
def test_types_that_there_are_not(kind: str) -> None:
    """B367: none of them is a timestamp or has bytes."""
    column = Made(kind, 1, [None, bytes(8), None])
    with chunks_of(Speaker(Made("+s", 1, [None], parts=[column]))) as (chunk,):
        for read in (byte_strings, milliseconds, packed_headers):
            with pytest.raises(TypeError, match=f"of Arrow's type '{kind}'"):
                read(chunk[0])


def test_rows_that_are_null_as_a_whole() -> None:
    """B367: what lies under them is no record."""
    rows = pa.StructArray.from_arrays(
        [pa.array([b"a", b"b"])], ["value"], mask=pa.array([False, True])
    )
    with (
        pytest.raises(ValueError, match="row 1 is null as a whole"),
        chunks_of(ArrayOnly(rows)),
    ):
        pass


def test_timestamps_in_a_dictionary_are_refused() -> None:
    """B367: what lies in the column itself are their places in it."""
    times = pa.array([5000, 7000], pa.timestamp("ms"))
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int64()), times)
    with (
        chunks_of(pa.table({"when": column})) as (chunk,),
        pytest.raises(TypeError, match="when is dictionary-encoded: cast it to timestamp"),
    ):
        milliseconds(chunk[0])


class Once:
    """What hands out the same capsules each time."""

    def __init__(self, stream: object = None, arrays: object = None) -> None:
        if stream is not None:
            self.__arrow_c_stream__ = lambda _schema=None: stream
        else:
            self.__arrow_c_array__ = lambda _schema=None: arrays


def test_a_capsule_that_was_read_is_refused() -> None:
    """B367: what was in it is somewhere else now."""
    batch = pa.record_batch({"value": pa.array([b"a"])})
    stream, arrays = pa.table(batch).__arrow_c_stream__(), batch.__arrow_c_array__()
    pa.RecordBatchReader.from_stream(Once(stream)).read_all()
    pa.record_batch(Once(arrays=arrays))
    for source in (Once(stream), Once(arrays=arrays)):
        with pytest.raises(ValueError, match="has been consumed"), chunks_of(source):
            pass


def test_numbers_at_odd_addresses_are_copied() -> None:
    """Native code reads spans where they lie."""
    with chunks_of(Speaker(Made("+s", 2, [None], parts=[GOOD]), odd=1)) as (chunk,):
        assert byte_objects(chunk[0]) == [b"a", b"b"]
        spans = byte_strings(chunk[0])
        assert isinstance(spans, Spans)
        assert isinstance(spans.starts.obj, bytes)
