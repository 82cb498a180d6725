"""Columns of byte strings from anything that speaks Arrow's C data interface.

A table of pyarrow, a frame of polars or what a database driver returns: their memory is read
where it lies, and no package is needed for it. The numbers and letters here are those of the
interface's specification.

Thread: any. What is read must not change meanwhile, as Arrow's data does not.

Invariants: what `chunks_of` yields is valid until the end of its block, and not behind it. Rows
lie within what their array says that it has, byte strings within what their offsets or the
lengths of their buffers say; what does not is refused, not read.
"""

import ctypes
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from operator import sub
from typing import Any, Final, Literal, NamedTuple

from prokurist.records.arrow_structures import (
    Array,
    Schema,
    Stream,
    memory,
    pointer,
    released,
    unreleased,
)
from prokurist.records.columns import INT32_MAX, MOST_HEADERS, Spans, pack_headers

TICKS: Final = {"s": (1000, 1), "m": (1, 1), "u": (1, 1000), "n": (1, 1_000_000)}
"""Units of timestamps: what to multiply by, and to divide by, for milliseconds."""
HIGHEST: Final = 3 if sys.byteorder == "little" else 0
"""Index of the byte with the sign of a 32-bit number."""


class Column(NamedTuple):
    """One column of one chunk.

    Attributes:
        name: Its name.
        format: Its type, as the interface writes it.
        schema: Of its children.
        data: Its memory.
        offset: The first row in that.
        length: How many rows it has.
    """

    name: str
    format: str
    schema: Any
    data: Any
    offset: int
    length: int

    def buffer(self, number: int) -> int:
        """The address of a buffer; 0 where there is none.

        Raises:
            ValueError: Its type has more buffers than it.
        """
        if not 0 <= number < self.data.n_buffers:
            raise self.damaged(f"has {self.data.n_buffers} buffers")
        return self.data.buffers[number] or 0

    def child(self, number: int, offset: int, length: int) -> "Column":
        """A part of one of its children."""
        data = self.data.children[number].contents
        return column(self.schema.children[number].contents, data, offset, length)

    def nulls(self) -> list[int]:
        """Return the indices of the null rows."""
        address = self.buffer(0) if self.data.n_buffers else 0
        if self.data.null_count == 0 or address == 0:
            return []
        first, last = self.offset // 8, (self.offset + self.length + 7) // 8
        found: list[int] = []
        for number, bits in enumerate(ctypes.string_at(address + first, last - first)):
            if bits != 0xFF:
                row = 8 * (first + number) - self.offset
                found += (row + bit for bit in range(8) if not bits >> bit & 1)
        return [row for row in found if 0 <= row < self.length]

    def numbers(self, code: Literal["i", "q"], number: int, count: int) -> memoryview:
        """So many numbers of a buffer, from its first row on."""
        size = array(code).itemsize
        address = self.buffer(number)
        if not address and count:
            raise self.damaged("has no buffer of numbers")
        found = memory(address + self.offset * size, count * size)
        # Native code reads them where they lie, which takes an address that fits.
        return (memoryview(bytes(found)) if address % size else found).cast(code)

    def ascending(self, code: Literal["i", "q"]) -> tuple[memoryview, "array[int]"]:
        """Offsets of rows, and how long the rows are by them.

        Raises:
            ValueError: Offsets are below zero or go back, or a row is longer than 2 GiB.
        """
        offsets = self.numbers(code, 1, self.length + 1)
        try:
            lengths = array("i", map(sub, offsets[1:], offsets[:-1]))
        except OverflowError:
            raise self.damaged(
                "has a row of more than 2 GiB, or offsets that go back"
            ) from None
        if offsets[0] < 0 or not lengths.tobytes()[HIGHEST::4].isascii():
            raise self.damaged("has offsets that go back")
        return offsets, lengths

    def damaged(self, how: str) -> ValueError:
        """Make the error for memory that is not as its type has it."""
        return ValueError(f"Arrow data is damaged: column {self.name} {how}")

    def __repr__(self) -> str:
        return f"Column({self.name}, {self.format!r}, {self.length} rows)"


def column(schema: Any, data: Any, first: int, length: int) -> Column:
    """Some rows of a column, out of a schema and memory of the same place.

    Raises:
        ValueError: It has no such rows, or children that the schema has not.
    """
    made = Column(
        (schema.name or b"").decode(),
        (schema.format or b"").decode(),
        schema,
        data,
        data.offset + first,
        length,
    )
    if min(first, length, data.offset) < 0 or first + length > data.length:
        raise made.damaged(f"has {data.length} rows, not {first} and {length} behind them")
    if made.offset + length > INT32_MAX:
        raise ValueError(f"column {made.name} has too many rows: send the table in parts")
    if data.n_children != schema.n_children:
        raise made.damaged(f"has {data.n_children} parts, and its type {schema.n_children}")
    return made


def is_arrow(data: object) -> bool:
    """True if an object supports the interface."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


@contextmanager
def chunks_of(data: Any) -> Iterator[list[list[Column]]]:
    """The columns of each chunk of some table, for as long as the block lasts.

    Raises:
        TypeError: It is no table, but a single column, say.
    """
    with ExitStack() as held:
        if hasattr(data, "__arrow_c_stream__"):
            yield list(streamed(data.__arrow_c_stream__(), held))
            return
        # The capsules own what they hold.
        schema_capsule, array_capsule = data.__arrow_c_array__()
        schema = Schema.from_address(pointer(schema_capsule, b"arrow_schema"))
        whole = Array.from_address(pointer(array_capsule, b"arrow_array"))
        yield [columns_of(unreleased(schema), unreleased(whole))]


def streamed(capsule: object, held: ExitStack) -> Iterator[list[Column]]:
    """The columns of each chunk of a stream; what they lie in is held."""
    address = pointer(capsule, b"arrow_array_stream")
    stream = unreleased(Stream.from_address(address))

    def ask(question: Callable[[int, Any], int], answer: Any) -> None:
        code = question(address, ctypes.byref(answer))
        if code:
            why = stream.get_last_error(address) or b"no reason given"
            raise OSError(code, f"the data cannot be read: {why.decode(errors='replace')}")

    schema = held.enter_context(released(Schema()))
    ask(stream.get_schema, schema)
    while True:
        chunk = held.enter_context(released(Array()))
        ask(stream.get_next, chunk)
        if not chunk.release:
            return
        yield columns_of(schema, chunk)


def columns_of(schema: Any, chunk: Any) -> list[Column]:
    """The columns of a chunk; several may have one name.

    Raises:
        TypeError: It is no table.
        ValueError: It is damaged, or has rows that are null as a whole.
    """
    if schema.format != b"+s":
        raise TypeError(
            f"the data is one column, of Arrow's type {(schema.format or b'').decode()!r}: "
            f"give a table, a record batch or a frame, with a column named value"
        )
    whole = column(schema, chunk, 0, chunk.length)
    if nulls := whole.nulls():
        raise ValueError(f"row {nulls[0]} is null as a whole: leave it out, or make it values")
    return [whole.child(each, whole.offset, whole.length) for each in range(schema.n_children)]


# --- byte strings ----------------------------------------------------------------------------


def byte_strings(given: Column) -> Spans | list[bytes | None] | None:
    """The byte strings of a column: spans where they lie side by side; None for all nulls.

    Raises:
        TypeError: It has no byte strings.
    """
    kind, count = given.format, given.length
    if given.schema.dictionary:
        raise TypeError(f"column {given.name} is dictionary-encoded: cast it to binary")
    if kind == "n":
        return None
    if kind in ("z", "u", "Z", "U"):
        return lying("i" if kind in ("z", "u") else "q", given)
    if kind in ("vz", "vu"):
        return viewed(given)
    if kind.startswith("w:"):
        size = int(kind[2:])
        if not 0 <= size <= INT32_MAX:
            raise given.damaged(f"is of type {kind!r}")
        data = memory(given.buffer(1), (given.offset + count) * size)
        starts = array("q", ((given.offset + row) * size for row in range(count)))
        return spans(data, memoryview(starts), array("i", [size]) * count, given)
    raise TypeError(
        f"column {given.name} is of Arrow's type {kind!r}, which has no bytes: cast it to "
        f"binary or string"
    )


def lying(code: Literal["i", "q"], given: Column) -> Spans:
    """Byte strings side by side, between offsets."""
    if given.length == 0:
        return spans(memoryview(b""), memoryview(array(code)), array("i"), given)
    offsets, lengths = given.ascending(code)
    return spans(memory(given.buffer(2), offsets[-1]), offsets[:-1], lengths, given)


def spans(data: memoryview, starts: memoryview, lengths: "array[int]", given: Column) -> Spans:
    """Spans with the nulls of their column."""
    for row in given.nulls():
        lengths[row] = -1
    return Spans(data, starts, memoryview(lengths))


def viewed(given: Column) -> list[bytes | None]:
    """Byte strings that lie in several buffers, or in their own views where they are short.

    The view of a null may hold anything, and is not followed. The last buffer says how long
    the others are.
    """
    if given.length == 0:
        return []
    views = memory(given.buffer(1), 16 * (given.offset + given.length))[16 * given.offset :]
    several = given.data.n_buffers - 3
    if several < 0:
        raise given.damaged(f"has {several + 3} buffers")
    sizes = memory(given.buffer(several + 2), 8 * several).cast("q")
    nulls = set(given.nulls())
    found: list[bytes | None] = []
    for row in range(given.length):
        if row in nulls:
            found.append(None)
            continue
        at = 16 * row
        size = int.from_bytes(views[at : at + 4], sys.byteorder)
        if size <= 12:
            found.append(bytes(views[at + 4 : at + 4 + size]))
            continue
        buffer, start = (
            int.from_bytes(views[at + place : at + place + 4], sys.byteorder)
            for place in (8, 12)
        )
        if buffer >= several or start + size > sizes[buffer]:
            raise given.damaged(f"has a row outside of its buffers, {row}")
        found.append(bytes(memory(given.buffer(2 + buffer), start + size)[start:]))
    return found


def byte_objects(given: Column) -> list[bytes | None]:
    """The byte strings of a column, as objects."""
    found = byte_strings(given)
    if found is None:
        return [None] * given.length
    if not isinstance(found, Spans):
        return found
    return [
        None if length < 0 else bytes(found.data[start : start + length])
        for start, length in zip(found.starts, found.lengths, strict=True)
    ]


# --- timestamps and headers ------------------------------------------------------------------


def milliseconds(given: Column) -> "array[int]":
    """The timestamps of a column in epoch milliseconds; −1 for null.

    Raises:
        TypeError: It has no timestamps.
        ValueError: One is before 1970.
    """
    kind = given.format
    if given.schema.dictionary:
        raise TypeError(f"column {given.name} is dictionary-encoded: cast it to timestamp")
    if kind != "l" and not (kind.startswith("ts") and kind[2:3] in TICKS):
        raise TypeError(
            f"column {given.name} is of Arrow's type {kind!r}: timestamps are timestamp, or "
            f"int64 in epoch milliseconds"
        )
    found = array("q", given.numbers("q", 1, given.length) if given.length else ())
    nulls = given.nulls()
    for row in nulls:
        found[row] = 0  # What lies there may be any number: pandas has its NaT there.
    times, ticks = TICKS["m" if kind == "l" else kind[2]]
    if (times, ticks) != (1, 1):
        try:
            found = array("q", (each * times // ticks for each in found))
        except OverflowError:
            raise ValueError(f"column {given.name}: a timestamp is too late") from None
    if found and min(found) < 0:
        raise ValueError(f"column {given.name}: a timestamp is not negative, {min(found)} is")
    for row in nulls:
        found[row] = -1
    return found


def packed_headers(given: Column) -> list[bytes | None]:
    """The headers of each row as they are on the wire, of a list of names and values, or a map.

    A struct's fields are taken by their names where these are key and value, and else by place.

    Raises:
        TypeError: It has no headers.
        ValueError: A header is null, or its name.
    """
    if given.format not in ("+l", "+L", "+m"):
        raise TypeError(
            f"column {given.name} is of Arrow's type {given.format!r}: headers are a list of "
            f"structs of key and value, or a map"
        )
    if given.length == 0:
        return []
    offsets, lengths = given.ascending("q" if given.format == "+L" else "i")
    if max(lengths) > MOST_HEADERS:
        raise ValueError(
            f"column {given.name}: a row has {max(lengths)} headers, and a record has "
            f"{MOST_HEADERS} at most"
        )
    if given.data.n_children != 1:
        raise given.damaged(f"has {given.data.n_children} parts")
    pairs = given.child(0, offsets[0], offsets[-1] - offsets[0])
    if pairs.format != "+s" or pairs.data.n_children != 2:
        raise TypeError(f"column {given.name}: a header has a key and a value, and no more")
    children = [pairs.child(number, pairs.offset, pairs.length) for number in (0, 1)]
    if [each.name for each in children] == ["value", "key"]:
        children.reverse()
    names, values = map(byte_objects, children)
    for number in pairs.nulls():
        names[number] = None
    found: list[bytes | None] = []
    nulls = set(given.nulls())
    for row in range(given.length):
        first, last = offsets[row] - offsets[0], offsets[row + 1] - offsets[0]
        if row in nulls or first == last:
            found.append(None)
            continue
        listed: list[tuple[str, bytes | None]] = []
        for name, value in zip(names[first:last], values[first:last], strict=True):
            if name is None:
                raise ValueError(f"column {given.name}: row {row} has a header without a name")
            listed.append((name.decode(), value))
        found.append(pack_headers(listed))
    return found
