"""Both readers of answers, over the same bytes: the same bodies, and the same errors."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.network_thread.wire import apis, codec, reading
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.schema import Message, message
from tests.unit.network_thread.wire.conftest import Case

native = pytest.importorskip(codec.MODULES["native"])

MOST = 1 << 20
Reader = Callable[[memoryview, int, int], tuple[Any, int]]
AT = 5
"""Where a body begins whose header has tagged fields; any place would do."""


def table_of(case: Case) -> Message:
    """The table of an answer."""
    return message(case.request.api, case.version, "response")


def outcome(read: Reader, data: bytes, at: int, most: int) -> object:
    """What a reader makes of bytes: a body and its end, or an error's kind and text."""
    try:
        return read(memoryview(data), at, most)
    except (Malformed, struct.error, IndexError) as error:
        return type(error), str(error)


def the_same(case: Case, data: bytes, at: int = AT) -> None:
    """Hold the native reader against the pure one."""
    table, most = table_of(case), case.request.api.most_elements
    pure = outcome(reading.reader_of(table), data, at, most)
    assert outcome(native.reader_of(table), data, at, most) == pure


def test_every_answer_is_read_natively(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same body, and without the pure one, which is asked what is wrong only."""
    table, frame = table_of(case), case.frame()
    at = AT if table.header_flexible else AT - 1
    body, end = reading.reader_of(table)(memoryview(frame), at, MOST)

    def unasked(_table: Message) -> Reader:
        def read(_data: memoryview, _at: int, _most: int) -> tuple[Any, int]:
            raise AssertionError("the pure twin was asked")

        return read

    monkeypatch.setattr(reading, "reader_of", unasked)
    read = native.reader_of.__wrapped__(table)
    assert read(memoryview(frame), at, MOST) == (body, end)
    assert end == len(frame)


def test_records_are_views_of_the_frame(cases: tuple[Case, ...]) -> None:
    """Not copies, and no longer than they are."""
    case = next(each for each in cases if each.request.api is apis.FETCH)
    frame = bytearray(case.frame())
    body, _ = native.reader_of(table_of(case))(memoryview(frame).toreadonly(), AT - 1, MOST)
    records = body["responses"][0]["partitions"][0]["records"]
    assert records.obj is frame
    assert records.readonly


def test_each_byte_in_turn(case: Case) -> None:
    """Nulls where none may be, lengths that are one off, tags that do not fill their size."""
    frame = case.frame()
    for at in range(AT - 1, len(frame)):
        for byte in {0, 1, 0x7F, 0xFF, frame[at] - 1 & 0xFF, frame[at] + 1 & 0xFF}:
            data = frame[:at] + bytes([byte]) + frame[at + 1 :]
            the_same(case, data, AT if table_of(case).header_flexible else AT - 1)


@settings(max_examples=400, deadline=None)
@given(
    which=st.integers(0, 1 << 16),
    flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), max_size=6),
    cut=st.integers(0, 12),
)
def test_flipped_and_cut(
    cases: tuple[Case, ...], which: int, flips: list[tuple[int, int]], cut: int
) -> None:
    """Any damage that an answer may take on its way."""
    case = cases[which % len(cases)]
    data = bytearray(case.frame())
    for at, by in flips:
        data[at % len(data)] ^= by
    the_same(case, bytes(data[: len(data) - cut]), AT - which % 2)


@settings(max_examples=400, deadline=None)
@given(which=st.integers(0, 1 << 16), garbage=st.binary(max_size=120))
def test_any_bytes(cases: tuple[Case, ...], which: int, garbage: bytes) -> None:
    """What was never an answer."""
    the_same(cases[which % len(cases)], garbage, at=0)
