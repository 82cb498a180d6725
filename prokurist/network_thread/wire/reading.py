"""Answers from bytes to bodies.

The bytes are not trusted. A length is checked against the remaining bytes before anything is
made; an error code is any integer, known or not, and so is a duration, in milliseconds.

For any bytes, a reader returns or raises `Malformed`, `struct.error` or
`IndexError`; `codec` makes one exception of these. Each element costs at least
one byte of the frame, so work and memory are bounded by the frame's size; and since
an element costs a hundred times as much, by a number of elements, which is the API's.

Only record bytes are not copied: they are a view of the frame, which lives as long as the view
does. Everything else is copied out of it.

Thread: any. Readers are compiled once per message and version, and pure.
"""

import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import groupby
from typing import Any, Final, TypeAlias
from uuid import UUID

from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.schema import FIXED, Field, Message, Struct

Whole: TypeAlias = Callable[[memoryview, int, int], tuple[Any, int]]
"""Reads a message at an offset, of so many elements at most: body and offset after it."""
Reader: TypeAlias = Callable[[memoryview, int, "Budget"], tuple[Any, int]]
"""Reads at an offset; answers with the value and the offset after it."""
LengthReader: TypeAlias = Callable[[memoryview, int], tuple[int, int]]
"""Reads a length."""
Step: TypeAlias = Callable[[memoryview, int, dict[str, Any], "Budget"], int]
"""Reads some fields of a structure into its body."""

ZERO: Final = bytes(16)
SHORT: Final = struct.Struct(">h")
INT: Final = struct.Struct(">i")
NUMBERS: Final = 8
"""So many elements of an array of numbers cost what one of another array does."""


class Budget:
    """The number of elements that one message may still have.

    Each costs a hundred times the byte that it may be written in.

    Args:
        most: How many.
    """

    __slots__ = ("_left", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def take(self, name: str, count: int) -> None:
        """Take elements from the budget, before they are made.

        Raises:
            Malformed: They are too many.
        """
        self._left -= count
        if self._left < 0:
            raise Malformed(too_many(name, self._most))


def too_many(name: str, most: int) -> str:
    """The text for a message with too many elements."""
    return f"with its {name} it has more than {most} elements, the most that is taken"


@cache
def reader_of(message: Message) -> Whole:
    """Make the reader of a message without its header."""
    read = struct_reader(message.struct)

    def read_message(data: memoryview, at: int, most: int) -> tuple[Any, int]:
        return read(data, at, Budget(most))

    return read_message


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Malformed("a varint goes on after five bytes")


def skip_tagged(data: memoryview, at: int, budget: Budget) -> int:
    """Skip the tagged fields of a structure that has no known ones."""
    return read_tagged({}, data, at, {}, budget)


def read_tagged(
    known: dict[int, tuple[str, Reader]],
    data: memoryview,
    at: int,
    body: dict[str, Any],
    budget: Budget,
) -> int:
    """Read the tagged fields that are known, and skip the others."""
    if data[at] == 0:  # hardly ever is there one, and every structure asks
        return at + 1
    count, at = read_varint(data, at)
    budget.take("tagged fields", count)
    for _ in range(count):  # each takes two bytes at least: the frame's end is the bound
        tag, at = read_varint(data, at)
        size, at = read_varint(data, at)
        end = at + size
        if end > len(data):
            raise Malformed(
                f"tagged field {tag} claims {size} bytes, {len(data) - at} are left"
            )
        if tag in known:
            name, read = known[tag]
            body[name], at = read(data, at, budget)
            if at != end:
                raise Malformed(f"tagged field {name} does not fill its {size} bytes")
        at = end
    return at


def struct_reader(table: Struct) -> Reader:
    """Make the reader of a structure; it returns a body."""
    steps = list(steps_of(table))

    def read_struct(data: memoryview, at: int, budget: Budget) -> tuple[dict[str, Any], int]:
        body: dict[str, Any] = {}
        for step in steps:
            at = step(data, at, body, budget)
        return body, at

    return read_struct


def steps_of(table: Struct) -> Iterator[Step]:
    """The steps that read a structure's fields; neighbours of fixed size are one step."""
    plain = [field for field in table.fields if field.tag is None]
    for fixed, run in groupby(plain, lambda f: f.kind in FIXED and not f.array):
        if fixed:
            yield fixed_step(list(run))
        else:
            for field in run:
                yield partial(
                    read_field, field.name, field_reader(field, flexible=table.flexible)
                )
    if table.flexible:
        yield partial(
            read_tagged,
            {
                field.tag: (field.name, field_reader(field, flexible=True))
                for field in table.fields
                if field.tag is not None
            },
        )


def fixed_step(run: list[Field]) -> Step:
    """Make the step that reads neighbouring fields of fixed size at once."""
    names = [field.name for field in run]
    layout = struct.Struct(">" + "".join(FIXED[field.kind] for field in run))

    def read_run(data: memoryview, at: int, body: dict[str, Any], _budget: Budget) -> int:
        body.update(zip(names, layout.unpack_from(data, at), strict=True))
        return at + layout.size

    return read_run


def read_field(
    name: str,
    read: Reader,
    data: memoryview,
    at: int,
    body: dict[str, Any],
    budget: Budget,
) -> int:
    """Read one field into the body."""
    body[name], at = read(data, at, budget)
    return at


def field_reader(field: Field, *, flexible: bool) -> Reader:
    """Make the reader of one field."""
    if field.array:
        length = compact_length if flexible else int32_length
        if field.kind in FIXED:
            size = struct.calcsize(FIXED[field.kind])
            return partial(read_fixed_array, field, length, size)
        # An array's nullability is its own, not that of its elements.
        item = item_reader(field._replace(nullable=False), flexible=flexible)
        return partial(read_array, field, length, item)
    if field.struct is not None and field.nullable:
        return partial(read_nullable_struct, struct_reader(field.struct))
    return item_reader(field, flexible=flexible)


def item_reader(field: Field, *, flexible: bool) -> Reader:
    """Make the reader of a field's value, or of one element of its array."""
    if field.struct is not None:
        return struct_reader(field.struct)
    match field.kind:
        case "string":
            length = compact_length if flexible else int16_length
            return partial(read_string, field, length)
        case "bytes":
            length = compact_length if flexible else int32_length
            return partial(read_bytes, field, length)
        case "records":
            length = compact_length if flexible else int32_length
            return partial(read_records, field, length)
        case "uuid":
            return read_uuid
        case kind if kind in FIXED:
            return partial(read_fixed, struct.Struct(">" + FIXED[kind]))
        case kind:
            raise NotImplementedError(f"no reader for {kind}, the kind of {field.name}")


def compact_length(data: memoryview, at: int) -> tuple[int, int]:
    """Read a length as a varint that is greater by one; −1 for null."""
    if data[at] < 0x80:
        return data[at] - 1, at + 1
    length, at = read_varint(data, at)
    return length - 1, at


def int16_length(data: memoryview, at: int) -> tuple[int, int]:
    """Read a length of two bytes; negative for null."""
    return SHORT.unpack_from(data, at)[0], at + 2


def int32_length(data: memoryview, at: int) -> tuple[int, int]:
    """Read a length of four bytes; negative for null."""
    return INT.unpack_from(data, at)[0], at + 4


def check_null(field: Field, length: int) -> None:
    """Check that a negative length stands for null, and that the field may be null."""
    if length != -1 or not field.nullable:
        raise Malformed(f"{field.name} has a length of {length}")


def room_for(field: Field, count: int, size: int, data: memoryview, at: int) -> None:
    """Check that the bytes left can hold so many elements."""
    if count * size > len(data) - at:
        raise Malformed(f"{field.name} claims {count} where {len(data) - at} bytes are left")


def read_fixed(
    layout: struct.Struct, data: memoryview, at: int, _budget: Budget
) -> tuple[Any, int]:
    """Read one value of fixed size."""
    return layout.unpack_from(data, at)[0], at + layout.size


def read_string(
    field: Field, length: LengthReader, data: memoryview, at: int, budget: Budget
) -> tuple[str | None, int]:
    """Read a string of UTF-8."""
    value, at = read_bytes(field, length, data, at, budget)
    if value is None:
        return None, at
    try:
        return value.decode(), at
    except UnicodeDecodeError:
        raise Malformed(f"{field.name} is no UTF-8") from None


def read_bytes(
    field: Field, length: LengthReader, data: memoryview, at: int, _budget: Budget
) -> tuple[bytes | None, int]:
    """Read a field of bytes."""
    size, at = length(data, at)
    if size < 0:
        check_null(field, size)
        return None, at
    room_for(field, size, 1, data, at)
    return bytes(data[at : at + size]), at + size


def read_records(
    field: Field, length: LengthReader, data: memoryview, at: int, _budget: Budget
) -> tuple[memoryview, int]:
    """Read the records of a partition as a view of the frame."""
    size, at = length(data, at)
    if size < 0:
        check_null(field, size)
        return data[at:at], at
    room_for(field, size, 1, data, at)
    return data[at : at + size], at + size


def read_uuid(data: memoryview, at: int, _budget: Budget) -> tuple[UUID | None, int]:
    """Read a UUID; zero means none."""
    raw = bytes(data[at : at + 16])
    if len(raw) < 16:
        raise Malformed(f"a UUID of {len(raw)} bytes")
    return None if raw == ZERO else UUID(bytes=raw), at + 16


def read_fixed_array(
    field: Field, length: LengthReader, size: int, data: memoryview, at: int, budget: Budget
) -> tuple[tuple[Any, ...] | None, int]:
    """Read an array of numbers at once."""
    count, at = length(data, at)
    if count < 0:
        check_null(field, count)
        return None, at
    room_for(field, count, size, data, at)
    budget.take(field.name, count // NUMBERS)
    numbers = struct.unpack_from(f">{count}{FIXED[field.kind]}", data, at)
    return numbers, at + count * size


def read_array(
    field: Field, length: LengthReader, read: Reader, data: memoryview, at: int, budget: Budget
) -> tuple[tuple[Any, ...] | None, int]:
    """Read an array of strings, UUIDs or structures."""
    count, at = length(data, at)
    if count < 0:
        check_null(field, count)
        return None, at
    room_for(field, count, 1, data, at)
    budget.take(field.name, count)
    items = []
    for _ in range(count):
        item, at = read(data, at, budget)
        items.append(item)
    return tuple(items), at


def read_nullable_struct(
    read: Reader, data: memoryview, at: int, budget: Budget
) -> tuple[Any, int]:
    """Read a structure that a negative byte says is not there (KIP-893)."""
    there = data[at] < 0x80
    return read(data, at + 1, budget) if there else (None, at + 1)
