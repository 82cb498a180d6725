"""Columns of byte strings from anything that speaks Arrow's C data interface.

A table of pyarrow, a frame of polars or what a database driver returns: their memory is read
where it lies, and no package is needed for it. The numbers and letters here are those of the
interface's specification.

Thread: any. What is read must not change meanwhile, as Arrow's data does not.

Invariant: what `chunks_of` yields is valid until the end of its block, and not behind it.
"""

import ctypes
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from operator import sub
from typing import Any, ClassVar, Final, Literal, NamedTuple

from prokurist.records.columns import Spans, pack_headers

TICKS: Final = {"s": (1000, 1), "m": (1, 1), "u": (1, 1000), "n": (1, 1_000_000)}
"""Units of timestamps: what to multiply by, and to divide by, for milliseconds."""


class Schema(ctypes.Structure):
    """Names and types of columns."""


class Array(ctypes.Structure):
    """The memory of one column, or of several."""


class Stream(ctypes.Structure):
    """Arrays of one schema, one after the other."""

    _fields_: ClassVar = [
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


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
        """The address of a buffer; 0 where there is none."""
        return self.data.buffers[number] or 0

    def child(self, number: int, offset: int, length: int) -> "Column":
        """A part of one of its children."""
        data = self.data.children[number].contents
        schema = self.schema.children[number].contents
        return column(schema, data, data.offset + offset, length)

    def nulls(self) -> list[int]:
        """Which rows are null."""
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
        return memory(self.buffer(number) + self.offset * size, count * size).cast(code)

    def __repr__(self) -> str:
        return f"Column({self.name}, {self.format!r}, {self.length} rows)"


def column(schema: Any, data: Any, offset: int, length: int) -> Column:
    """A column out of a schema and memory of the same place."""
    name = (schema.name or b"").decode()
    return Column(name, schema.format.decode(), schema, data, offset, length)


def memory(address: int, size: int) -> memoryview:
    """Memory as bytes; what it belongs to has to be kept alive meanwhile."""
    if size == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def is_arrow(data: object) -> bool:
    """Whether something speaks the interface."""
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
        yield [columns_of(schema, whole)]


def streamed(capsule: object, held: ExitStack) -> Iterator[list[Column]]:
    """The columns of each chunk of a stream; what they lie in is held."""
    address = pointer(capsule, b"arrow_array_stream")
    stream = Stream.from_address(address)

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
    """The columns of a chunk; several may have one name."""
    if schema.format != b"+s":
        raise TypeError(
            f"the data is one column, of Arrow's type {schema.format.decode()!r}: give a "
            f"table, a record batch or a frame, with a column named value"
        )
    return [
        column(
            schema.children[number].contents,
            chunk.children[number].contents,
            chunk.children[number].contents.offset + chunk.offset,
            chunk.length,
        )
        for number in range(schema.n_children)
    ]


@contextmanager
def released(structure: Any) -> Iterator[Any]:
    """A structure that is filled here, and given back."""
    try:
        yield structure
    finally:
        if structure.release:
            give_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(structure.release)
            give_back(ctypes.addressof(structure))


def pointer(capsule: object, name: bytes) -> int:
    """What a capsule holds."""
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(read(capsule, name))


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
    offsets = given.numbers(code, 1, given.length + 1)
    lengths = array("i", map(sub, offsets[1:], offsets[:-1]))
    return spans(memory(given.buffer(2), offsets[-1]), offsets[:-1], lengths, given)


def spans(data: memoryview, starts: memoryview, lengths: "array[int]", given: Column) -> Spans:
    """Spans with the nulls of their column."""
    for row in given.nulls():
        lengths[row] = -1
    return Spans(data, starts, memoryview(lengths))


def viewed(given: Column) -> list[bytes | None]:
    """Byte strings that lie in several buffers, or in their own views where they are short.

    The view of a null may hold anything, and is not followed.
    """
    views = memory(given.buffer(1) + 16 * given.offset, 16 * given.length)
    nulls = set(given.nulls())
    found: list[bytes | None] = []
    for row in range(given.length):
        if row in nulls:
            found.append(None)
            continue
        at = 16 * row
        size = int.from_bytes(views[at : at + 4], "little")
        if size <= 12:
            found.append(bytes(views[at + 4 : at + 4 + size]))
            continue
        buffer, start = (
            int.from_bytes(views[at + place : at + place + 4], "little") for place in (8, 12)
        )
        found.append(ctypes.string_at(given.buffer(2 + buffer) + start, size))
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
    if kind != "l" and not kind.startswith("ts"):
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
        found = array("q", (each * times // ticks for each in found))
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
    offsets = given.numbers("q" if given.format == "+L" else "i", 1, given.length + 1)
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
