"""Requests from bodies to bytes.

A value that the protocol has no room for is refused by the name of its field; a field of
this version that is not given at all is a bug of ours.

Thread: any. Writers are made once per message and version, and pure.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby
from typing import Any, Final, TypeAlias
from uuid import UUID

from prokurist.network_thread.wire.request import Body
from prokurist.network_thread.wire.schema import FIXED, Field, Message, Struct

Writer: TypeAlias = Callable[[bytearray, Any], None]
"""Appends a value to the bytes so far."""
LengthWriter: TypeAlias = Callable[[bytearray, int], None]
"""Puts a length there; −1 for null."""

LONGEST_STRING: Final = 0x7FFF
ZERO: Final = bytes(16)
"""The UUID that stands for none."""
SHORT: Final = struct.Struct(">h")
INT: Final = struct.Struct(">i")
PRESENT: Final = b"\x01"
ABSENT: Final = b"\xff"
"""The byte before a structure that may be null (KIP-893)."""


@cache
def writer_of(message: Message) -> Writer:
    """Make the writer of a message without its header.

    It raises `ValueError` for a value that the protocol has no room for, and `KeyError`
    where a field of this version is not given.
    """
    return struct_writer(message.struct)


def struct_writer(table: Struct) -> Writer:
    """Make the writer of a structure, given as a body."""
    steps = list(steps_of(table))

    def write_struct(out: bytearray, body: Body) -> None:
        for step in steps:
            step(out, body)

    return write_struct


def steps_of(table: Struct) -> Iterator[Writer]:
    """The steps that write a structure's fields; neighbours of fixed size are one step."""
    plain = [field for field in table.fields if field.tag is None]
    for fixed, run in groupby(plain, lambda f: f.kind in FIXED and not f.array):
        if fixed:
            yield fixed_step(list(run))
        else:
            for field in run:
                yield partial(
                    write_field, field.name, field_writer(field, flexible=table.flexible)
                )
    if table.flexible:
        yield write_no_tags


def fixed_step(run: list[Field]) -> Writer:
    """Make the step that writes neighbouring fields of fixed size at once."""
    names = [field.name for field in run]
    layout = struct.Struct(">" + "".join(FIXED[field.kind] for field in run))

    def write_run(out: bytearray, body: Body) -> None:
        try:
            out += layout.pack(*[body[name] for name in names])
        except struct.error:
            for field in run:
                write_number(field, out, body[field.name])

    return write_run


def write_field(name: str, write: Writer, out: bytearray, body: Body) -> None:
    """Write one field of a body."""
    write(out, body[name])


def write_no_tags(out: bytearray, _body: Body) -> None:
    """Write that there are no tagged fields: those of our requests are for replicas."""
    out.append(0)


def write_varint(out: bytearray, value: int) -> None:
    """Write an unsigned varint."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def field_writer(field: Field, *, flexible: bool) -> Writer:
    """Make the writer of one field."""
    item = item_writer(field, flexible=flexible)
    if field.array:
        length = compact_length if flexible else int32_length
        return partial(write_array, field, length, item)
    return item


def item_writer(field: Field, *, flexible: bool) -> Writer:
    """Make the writer of a field's value, or of one element of its array."""
    if field.struct is not None:
        write = struct_writer(field.struct)
        # Of an array, it is the array that can be null.
        is_nullable = field.nullable and not field.array
        return partial(write_nullable_struct, write) if is_nullable else write
    match field.kind:
        case "string":
            return partial(write_string, field, compact_length if flexible else int16_length)
        case "bytes" | "records":
            return partial(write_bytes, field, compact_length if flexible else int32_length)
        case "uuid":
            return write_uuid
        case kind if kind in FIXED:
            return partial(write_number, field)
        case kind:
            raise NotImplementedError(f"no writer for {kind}, the kind of {field.name}")


def compact_length(out: bytearray, length: int) -> None:
    """Write a length as a varint that is greater by one; −1 for null."""
    write_varint(out, length + 1)


def int16_length(out: bytearray, length: int) -> None:
    """Write a length of two bytes; −1 for null."""
    out += SHORT.pack(length)


def int32_length(out: bytearray, length: int) -> None:
    """Write a length of four bytes; −1 for null."""
    out += INT.pack(length)


def write_number(field: Field, out: bytearray, value: Any) -> None:
    """Write one value of fixed size."""
    try:
        out += struct.pack(">" + FIXED[field.kind], value)
    except struct.error as error:
        raise ValueError(f"{field.name} is {value!r}, which is no {field.kind}") from error


def write_nullable_struct(write: Writer, out: bytearray, value: Body | None) -> None:
    """Write a structure that may be null, with a byte before it that says so."""
    out += PRESENT if value is not None else ABSENT
    if value is not None:
        write(out, value)


def write_null(field: Field, length: LengthWriter, out: bytearray) -> None:
    """Write a null structure."""
    if not field.nullable:
        raise ValueError(f"{field.name} cannot be null")
    length(out, -1)


def write_string(field: Field, length: LengthWriter, out: bytearray, value: str | None) -> None:
    """Write a string as UTF-8."""
    if value is None:
        write_null(field, length, out)
        return
    raw = value.encode()
    if len(raw) > LONGEST_STRING:
        raise ValueError(
            f"{field.name} has {len(raw)} bytes, and a string {LONGEST_STRING} at most"
        )
    length(out, len(raw))
    out += raw


def write_bytes(
    field: Field, length: LengthWriter, out: bytearray, value: bytes | None
) -> None:
    """Write a field of bytes."""
    if value is None:
        write_null(field, length, out)
        return
    length(out, len(value))
    out += value


def write_uuid(out: bytearray, value: UUID | None) -> None:
    """Write a UUID; zero means none."""
    out += ZERO if value is None else value.bytes


def write_array(
    field: Field,
    length: LengthWriter,
    write: Writer,
    out: bytearray,
    values: Sequence[Any] | None,
) -> None:
    """Write an array."""
    if values is None and field.nullable:
        length(out, -1)
        return
    # Metadata 0 has no null for "all topics": it says so by naming none.
    values = values or ()
    length(out, len(values))
    for value in values:
        write(out, value)
