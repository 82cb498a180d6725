"""Varints: one suite for both twins, and a differential test between them."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import CorruptRecordException
from prokurist.records import varints

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.fixture(params=["python", "native"])
def codec(request: pytest.FixtureRequest) -> ModuleType:
    """Each twin in turn; the native one only where it was built."""
    if request.param == "python":
        return varints
    return native_twin()


def native_twin() -> ModuleType:
    """The native twin, or a skip where there is none."""
    twin: ModuleType = pytest.importorskip(
        "prokurist.records._native", reason="the native twin is not built", exc_type=ImportError
    )
    return twin


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, b"\x00"),
        (-1, b"\x01"),
        (1, b"\x02"),
        (63, b"\x7e"),
        (-64, b"\x7f"),
        (64, b"\x80\x01"),
        (-300, b"\xd7\x04"),
        ((1 << 63) - 1, b"\xfe" + b"\xff" * 8 + b"\x01"),
        (-(1 << 63), b"\xff" * 9 + b"\x01"),
    ],
)
def test_known_values(codec: ModuleType, value: int, encoded: bytes) -> None:
    """Zigzag, seven bits to a byte, both ways."""
    assert codec.encode_varint(value) == encoded
    assert codec.decode_varint(encoded, 0) == (value, len(encoded))
    assert codec.decode_varint(memoryview(b"\x00" + encoded + b"\x00"), 1) == (
        value,
        len(encoded) + 1,
    )


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 1 << 200])
def test_more_than_64_bits_are_refused(codec: ModuleType, value: int) -> None:
    """The number that does not fit is named."""
    with pytest.raises(OverflowError, match=str(value)):
        codec.encode_varint(value)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9])
def test_data_that_ends_too_early(codec: ModuleType, data: bytes) -> None:
    """A number cut short is corrupt, and the text says where it began."""
    with pytest.raises(CorruptRecordException, match="ends within the varint at byte 0"):
        codec.decode_varint(data, 0)


@pytest.mark.parametrize("data", [b"\xff" * 10, b"\xff" * 9 + b"\x02", b"\x80" * 12 + b"\x01"])
def test_a_number_that_goes_on_too_long(codec: ModuleType, data: bytes) -> None:
    """Ten bytes hold 64 bits: more is corrupt, not wrapped around."""
    with pytest.raises(CorruptRecordException, match="more than 64 bits"):
        codec.decode_varint(data, 0)


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_outside_the_data(codec: ModuleType, position: int) -> None:
    """Never read before or behind the buffer."""
    with pytest.raises(IndexError, match="lies outside 2 bytes"):
        codec.decode_varint(b"\x00\x00", position)


@given(value=INT64)
def test_there_and_back(value: int) -> None:
    """The specification reads what it writes."""
    encoded = varints.encode_varint(value)
    assert varints.decode_varint(encoded, 0) == (value, len(encoded))


@given(data=st.binary(max_size=14), position=st.integers(-2, 16), value=INT64)
def test_the_twins_agree(data: bytes, position: int, value: int) -> None:
    """On valid and on hostile bytes: the same answer or the same error, word for word."""
    native = native_twin()
    assert native.encode_varint(value) == varints.encode_varint(value)
    assert outcome(native, data, position) == outcome(varints, data, position)


def outcome(codec: ModuleType, data: bytes, position: int) -> object:
    """The value, or the error's type and text."""
    try:
        return codec.decode_varint(data, position)
    except Exception as error:  # noqa: BLE001 - whichever it is, both must raise it
        return type(error), str(error)
