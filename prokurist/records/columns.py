"""A decoded batch as columns, in pure Python: the specification.

Decoding makes no object for a record. It fills eight columns of numbers: offset,
timestamp, and where key, value and headers begin and how long they are in the
bytes that the batch came in.

Thread: any, once they are made; nothing in them changes.
Invariants: offsets ascend; a length is −1 for null, and otherwise start and length
lie within the data; a span of headers holds their number and then the headers, as
on the wire, or nothing.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, NoReturn

from prokurist.errors import RecordTooLargeException
from prokurist.records.varints import decode_varint, encode_varint
from prokurist.types import TimestampType

Headers = list[tuple[str, bytes | None]]
"""Names and values, in order; a name may come twice."""
Row = tuple[int, int, int, int, int, int, int, int]
"""Offset, timestamp, then start and length of key, value and headers."""
INT32_MAX: Final = (1 << 31) - 1
ROW_BYTES: Final = 2 * 8 + 6 * 4
MOST_HEADERS: Final = 1 << 20
"""Headers of one record: each takes two bytes on the wire, and seventy as an object."""
ROWS_AT_ONCE: Final = 4096
"""Rows that are objects at a time while columns are filled; they take ten times as much."""


class Spans(NamedTuple):
    """A column of byte strings: where each lies in shared bytes.

    Attributes:
        data: The bytes of all of them, and of more.
        starts: Where each begins.
        lengths: How long each is; −1 is null.
    """

    data: memoryview
    starts: memoryview
    lengths: memoryview


class RecordColumns(NamedTuple):
    """A run of records of one partition as columns.

    Attributes:
        topic: Their topic.
        partition: Their partition.
        leader_epoch: The leader epoch they were written in, where it is known.
        timestamp_type: Who stamped them.
        offsets: 64-bit integers.
        timestamps: 64-bit integers, milliseconds since the epoch; −1 for none.
        keys: Their keys.
        values: Their values.
        headers: Their headers, in the encoding of the wire.
    """

    topic: str
    partition: int
    leader_epoch: int | None
    timestamp_type: TimestampType
    offsets: memoryview
    timestamps: memoryview
    keys: Spans
    values: Spans
    headers: Spans


class Columns:
    """All records of one batch.

    Args:
        topic: Their topic.
        partition: Their partition.
        leader_epoch: The leader epoch they were written in, where it is known.
        timestamp_type: Who stamped them.
        data: The bytes that they came in, which stay alive with the columns.
        rows: The columns' numbers, record by record.
    """

    __slots__ = (
        "data",
        "header_lengths",
        "header_starts",
        "key_lengths",
        "key_starts",
        "leader_epoch",
        "offsets",
        "partition",
        "timestamp_type",
        "timestamps",
        "topic",
        "value_lengths",
        "value_starts",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        leader_epoch: int | None,
        timestamp_type: TimestampType,
        data: bytes | bytearray | memoryview,
        rows: Iterable[Row],
    ) -> None:
        self.topic: str = topic
        self.partition: int = partition
        self.leader_epoch: int | None = leader_epoch
        self.timestamp_type: TimestampType = timestamp_type
        self.data: bytes | bytearray | memoryview = data
        self.offsets: array[int] = array("q")
        self.timestamps: array[int] = array("q")
        self.key_starts: array[int] = array("i")
        self.key_lengths: array[int] = array("i")
        self.value_starts: array[int] = array("i")
        self.value_lengths: array[int] = array("i")
        self.header_starts: array[int] = array("i")
        self.header_lengths: array[int] = array("i")
        self._fill(iter(rows))

    def _fill(self, rows: Iterator[Row]) -> None:
        columns = (
            self.offsets,
            self.timestamps,
            self.key_starts,
            self.key_lengths,
            self.value_starts,
            self.value_lengths,
            self.header_starts,
            self.header_lengths,
        )
        while some := list(islice(rows, ROWS_AT_ONCE)):
            for column, numbers in zip(columns, zip(*some, strict=True), strict=True):
                column.extend(numbers)

    def __len__(self) -> int:
        return len(self.offsets)

    def __repr__(self) -> str:
        return f"Columns({self.topic}-{self.partition}, {len(self)} records)"

    @property
    def size(self) -> int:
        """Bytes of memory of the numbers."""
        return len(self) * ROW_BYTES

    def index_of(self, offset: int) -> int:
        """Find the first row at or after an offset."""
        return bisect_left(self.offsets, offset)

    def sliced(self, start: int, stop: int) -> RecordColumns:
        """Select some rows, as they are shown to users; nothing is copied."""

        def cut(column: "array[int]") -> memoryview:
            return memoryview(column).toreadonly()[start:stop]

        data = memoryview(self.data).toreadonly()
        return RecordColumns(
            self.topic,
            self.partition,
            self.leader_epoch,
            self.timestamp_type,
            cut(self.offsets),
            cut(self.timestamps),
            Spans(data, cut(self.key_starts), cut(self.key_lengths)),
            Spans(data, cut(self.value_starts), cut(self.value_lengths)),
            Spans(data, cut(self.header_starts), cut(self.header_lengths)),
        )


def most_rows(size: int, cap: int) -> int:
    """Bound the number of rows that may be decoded from so many bytes.

    Args:
        size: Bytes that were decompressed for them; 0 where they lie in the frame.
        cap: How many bytes these and the rows may take together.
    """
    return max(0, cap - size) // ROW_BYTES


def refuse_rows(most: int, size: int, cap: int) -> NoReturn:
    """Refuse a batch with more rows than may be decoded.

    Args:
        most: How many may.
        size: Bytes that were decompressed for them.
        cap: How many bytes these and the rows may take together.

    Raises:
        RecordTooLargeException: Always.
    """
    raise RecordTooLargeException(
        f"it holds more than {most} records, which with {size} decompressed bytes and "
        f"{ROW_BYTES} more for each record take more than {cap}"
    )


def read_headers(data: bytes | bytearray | memoryview, start: int, length: int) -> Headers:
    """Read the headers in a span that was checked."""
    if length <= 1:
        return []
    region = bytes(data[start : start + length])
    count, at = decode_varint(region, 0)
    found: Headers = []
    for _ in range(count):
        size, at = decode_varint(region, at)
        name = region[at : at + size].decode(errors="replace")
        size, at = decode_varint(region, at + size)
        found.append((name, None if size < 0 else region[at : at + size]))
        at += max(size, 0)
    return found


def pack_headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes:
    """Write headers as they are on the wire: their number, and then each.

    Raises:
        ValueError: There are more than a record may have.
    """
    listed = list(headers)
    if len(listed) > MOST_HEADERS:
        raise ValueError(f"{len(listed)} headers, and a record has {MOST_HEADERS} at most")
    parts = [encode_varint(len(listed))]
    for name, value in listed:
        encoded = name.encode()
        parts += [encode_varint(len(encoded)), encoded]
        parts += sized(value)
    return b"".join(parts)


def sized(value: bytes | None) -> tuple[bytes, bytes]:
    """Write a byte string behind its length; null has the length −1."""
    return (b"\x01", b"") if value is None else (encode_varint(len(value)), value)


def gathered(parts: Sequence[Spans]) -> tuple[bytes, bytes, bytes | None]:
    """Join columns of byte strings into one, as Arrow keeps it.

    Returns:
        Where each begins and the last ends, as 32-bit integers; their bytes; and a
        bit for each that is not null, or None if none is.

    Raises:
        IndexError: One does not lie in its data.
        OverflowError: All together are more than 32 bits can count.
    """
    pieces, ends, at, row, nulls = [], array("i", [0]), 0, 0, 0
    bits = bytearray((sum(len(part.starts) for part in parts) + 7) // 8)
    for data, starts, lengths in parts:
        for start, length in zip(starts, lengths, strict=True):
            if length < 0:
                nulls += 1
            else:
                if not 0 <= start <= len(data) - length:
                    raise IndexError(f"{length} bytes at {start} of {len(data)}")
                pieces.append(data[start : start + length])
                at += length
                bits[row >> 3] |= 1 << (row & 7)
            if at > INT32_MAX:
                raise OverflowError(
                    f"a column of more than {INT32_MAX} bytes: take fewer records"
                )
            ends.append(at)
            row += 1
    return ends.tobytes(), b"".join(pieces), bytes(bits) if nulls else None
