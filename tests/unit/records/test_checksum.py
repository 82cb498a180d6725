"""CRC-32C: both twins and both native ways agree, and with another implementation."""

import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from crc32c import crc32c as reference  # kio's own: another implementation
from hypothesis import given
from hypothesis import strategies as st

from prokurist.records import pure_checksum
from prokurist.records.checksum import CHOICE, MODULES, crc32c

native: ModuleType | None
try:
    from prokurist.records import _native_checksum as native
except ImportError:
    native = None

WAYS: list[Any] = [pytest.param(pure_checksum.crc32c, id="python")]
if native is not None:
    WAYS += [
        pytest.param(native.crc32c, id="native"),
        pytest.param(native.crc32c_by_tables, id="native-by-tables"),
    ]

Way = Callable[..., int]

VECTORS = {
    b"": 0x00000000,
    b"123456789": 0xE3069283,
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(range(31, -1, -1)): 0x113FDB5C,
}
"""Those of RFC 3720, appendix B.4, and the usual check value."""


def test_tables_are_made_by_the_first_checksum() -> None:
    """An import makes none, since the native twin needs none."""
    code = (
        "from prokurist.records import pure_checksum as pure\n"
        "before = pure.tables.cache_info().currsize\n"
        "print(before, pure.crc32c(b'123456789') == 0xE3069283, "
        "pure.tables.cache_info().currsize)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout.split() == [b"0", b"True", b"1"]


@pytest.mark.parametrize("way", WAYS)
def test_known_vectors(way: Way) -> None:
    """Each way of computing gives the published values."""
    assert {data: way(data) for data in VECTORS} == VECTORS


@pytest.mark.parametrize("way", WAYS)
def test_every_length_around_the_stretches(way: Way) -> None:
    """Inputs just below and above 8, 3 x 256 and 3 x 8192 bytes, at odd addresses too."""
    data = bytes(n * 7 + (n >> 8) & 255 for n in range(3 * 8192 * 2 + 50))
    lengths = [*range(40), *range(760, 780), 24575, 24576, 24577, 25344, 25345, 49152, 49190]
    for length in lengths:
        for start in (0, 1, 3):
            part = memoryview(data)[start : start + length]
            assert way(part) == reference(part), (start, length)


@pytest.mark.parametrize("way", WAYS)
@given(before=st.binary(max_size=2000), behind=st.binary(max_size=2000))
def test_parts_give_the_checksum_of_the_whole(way: Way, before: bytes, behind: bytes) -> None:
    """The checksum of what stands before goes on behind it."""
    assert way(behind, way(before)) == reference(before + behind)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_kinds_of_buffers(way: Way, kind: Callable[[bytes], Any]) -> None:
    """Bytes, and what shows the bytes of others."""
    assert way(kind(b"123456789")) == 0xE3069283


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", ["text", 5, None])
def test_what_is_no_buffer_is_refused(way: Way, wrong: Any) -> None:
    """No number comes of it by chance."""
    with pytest.raises(TypeError):
        way(wrong)


def test_the_twin_of_the_process_serves() -> None:
    """What is imported is what the choice names."""
    assert crc32c is CHOICE.module.crc32c
    assert set(MODULES) == {"native", "python"}
