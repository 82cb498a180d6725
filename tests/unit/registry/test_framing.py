"""Identity of a schema in a record, and bytes without one."""

from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import SerializationException
from prokurist.registry.framing import Frame, header, header_name, prefix, read_frame

GUID = UUID("89791762-2336-186f-9674-299b90a8e2e8")
PATHS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=64).map(tuple)


@given(number=st.integers(0, 2**31 - 1), path=PATHS, payload=st.binary())
def test_an_id_in_front(number: int, path: tuple[int, ...], payload: bytes) -> None:
    """B887: what is written is read."""
    data = prefix(number, path) + payload
    assert read_frame([], data, is_key=False, has_path=True) == Frame(number, payload, path)


@given(path=PATHS, payload=st.binary(), is_key=st.booleans())
def test_a_guid_in_a_header(path: tuple[int, ...], payload: bytes, *, is_key: bool) -> None:
    """B887: likewise; the other header is the other part's."""
    headers: list[tuple[str, bytes | None]] = [
        (header_name(not is_key), b"other"),
        (header_name(is_key), header(GUID, path)),
    ]
    found = read_frame(headers, payload, is_key=is_key, has_path=True)
    assert found == Frame(GUID, payload, path)


@given(data=st.binary(), value=st.one_of(st.none(), st.binary()), has_path=st.booleans())
def test_hostile_bytes(data: bytes, value: bytes | None, *, has_path: bool) -> None:
    """B889: they are read, or refused with SerializationException."""
    headers = [(header_name(is_key=False), value)]
    with suppress(SerializationException):
        found = read_frame(headers, data, is_key=False, has_path=has_path)
        assert len(found.path) <= 64


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\0",
        b"{}",
        b"\1" + bytes(15),
        prefix(1),
        prefix(1) + b"\x80" * 20,
        prefix(1) + b"\xfe\xff\xff\xff\x0f\0",
        prefix(1) + b"\1",
        prefix(1) + b"\2\1",
    ],
)
def test_what_is_refused(data: bytes) -> None:
    """B889: what is broken off, negative, or longer than any file is deep."""
    with pytest.raises(SerializationException):
        read_frame([], data, is_key=False, has_path=True)
