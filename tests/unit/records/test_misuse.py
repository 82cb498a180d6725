"""What Python code can do to the codec: it gets an exception, and no crash."""

from pathlib import Path
from typing import Any

import pytest

import prokurist
from prokurist.records.columns import Spans
from prokurist.records.encode import encode_batch
from prokurist.records.implementation import Codec
from prokurist.types import TimestampType
from tests.unit.records.twins import decoded, native_twin, twin


@pytest.mark.parametrize("where", [("key",), ("value",), ("key", "value")])
def test_more_bytes_than_a_record_can_have(codec: Codec, where: tuple[str, ...]) -> None:
    """Spans count with 32 bits: key, value and headers together are less than 2 GiB."""
    # Pages that are never touched.
    large: dict[str, Any] = dict.fromkeys(where, bytes((1 << 31) // len(where)))
    with pytest.raises(OverflowError, match="at most 2147483647 bytes, not 2147483649"):
        codec.ConsumerRecord("t", 0, 0, **large)


class Changing(list[Any]):
    """A record that has another value each time that it is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def __iter__(self) -> Any:
        self.looks += 1
        return iter((0, None, b"x" * 10 ** (self.looks + 1), ()))


def test_a_record_that_changes_while_it_is_encoded(codec: Codec) -> None:
    """What was measured is what is written."""
    records: Any = [Changing() for _ in range(50)]
    body = codec.encode_records(records, 0)
    assert body == twin("python").encode_records([(0, None, b"x" * 100, ())] * 50, 0)


@pytest.mark.parametrize(
    "row",
    [
        (0, 0, 0, 100, 0, -1, 0, 0),
        (0, 0, -1, 2, 0, -1, 0, 0),
        (0, 0, 0, -1, 4, 3, 0, 0),
        (0, 0, 0, -1, 0, -1, 5, 2),
        (0, 0, 0, -1, 0, -1, 0, 6),
    ],
)
def test_rows_that_do_not_lie_in_their_data(row: Any) -> None:
    """The native twin, which would read beyond it, refuses them; nothing of them is left."""
    native = native_twin()
    columns = native.Columns.__new__(native.Columns)
    with pytest.raises(IndexError, match="row 1 does not lie within its 6 bytes"):
        columns.__init__(
            "t",
            0,
            None,
            TimestampType.CREATE_TIME,
            b"\x02\x7fabcd",
            [(0, 0) + (0, -1) * 3, row],
        )
    assert len(columns) == 0
    assert columns.size == 0


def test_columns_that_were_not_made() -> None:
    """They are empty."""
    native = native_twin()
    empty = native.Columns.__new__(native.Columns)
    assert (len(empty), empty.size) == (0, 0)
    assert native.ConsumerRecord.__new__(native.ConsumerRecord).key == b""


def test_bytes_that_change_after_they_were_decoded() -> None:
    """Spans of headers are looked at again: what they lie in may be writable."""
    data = bytearray(encode_batch([(0, b"k", b"v", [("name", b"value")])]))
    columns: Any = decoded(twin("native"), data)  # type: ignore[arg-type]
    record = columns and twin("native").RecordRun(columns, 0, 1)[0]
    assert record.headers == [("name", b"value")]
    at = data.index(b"name")
    data[at - 1] = 0x7F
    with pytest.raises(RuntimeError, match="changed after it was decoded"):
        record.headers  # noqa: B018 - it is read


class Growing:
    """Columns whose lengths grow when they are looked at again."""

    def __init__(self) -> None:
        self.looks = 0
        self.data = memoryview(b"x" * 1000)
        self.starts = memoryview(bytes(40)).cast("i")

    @property
    def lengths(self) -> memoryview:
        """Longer by ten each time."""
        self.looks += 1
        return memoryview((10 * self.looks).to_bytes(4, "little") * 10).cast("i")


def test_columns_that_change_while_they_are_gathered() -> None:
    """They are asked once."""
    growing: Any = Growing()
    ends, data, _ = twin("native").gathered([growing])
    assert (len(ends), len(data), growing.looks) == (44, 100, 1)
    assert isinstance(Spans(growing.data, growing.starts, growing.lengths), tuple)


def test_threads_without_the_gil_are_not_promised() -> None:
    """A free-threaded interpreter takes the GIL back when it imports a native module."""
    sources = list(Path(prokurist.__file__).parent.rglob("*.pyx"))
    assert len(sources) >= 3
    assert not [each for each in sources if "freethreading" in each.read_text("utf-8")]
