"""The identity of a schema with a record: in front of its bytes, or in a header.

In front there are a zero and the id as four bytes; in the header `__value_schema_id` or
`__key_schema_id` a one and the sixteen bytes of a GUID. With Protobuf the place of the message
in its file follows either.

Thread: any; pure functions.
"""

import struct
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from prokurist.errors import SerializationException
from prokurist.lazy_dataclasses import dataclass

BY_ID: Final = 0
BY_GUID: Final = 1
DEEPEST: Final = 64
"""Messages in messages; a path that is longer is refused."""
LONGEST_VARINT: Final = 5
_PREFIX: Final = struct.Struct(">bI")

Headers = list[tuple[str, bytes | None]]
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """Identity of a record's schema, and the value's bytes.

    Attributes:
        id: Its number or its GUID.
        payload: The value's own bytes.
        path: Place of a Protobuf message in its file; empty for other schemas.
    """

    id: int | UUID
    payload: bytes
    path: Path = ()


def header_name(is_key: bool) -> str:  # noqa: FBT001 - of one argument
    """The header with the schema's GUID."""
    return "__key_schema_id" if is_key else "__value_schema_id"


def prefix(number: int, path: Path = ()) -> bytes:
    """Write the bytes in front of a value."""
    return _PREFIX.pack(BY_ID, number) + written_path(path)


def header(guid: UUID, path: Path = ()) -> bytes:
    """Write the header's value."""
    return bytes((BY_GUID,)) + guid.bytes + written_path(path)


def read_frame(
    headers: Iterable[tuple[str, bytes | None]], data: bytes, *, is_key: bool, has_path: bool
) -> Frame:
    """Read a record's note of its schema: in a header, or else in front of its bytes.

    Args:
        headers: The record's.
        data: The bytes of its key or value.
        is_key: True for those of the key.
        has_path: True where the place of a message follows, as with Protobuf.

    Raises:
        SerializationException: It says nothing that can be read.
    """
    name = header_name(is_key)
    for each, value in headers:
        if each == name:
            if value is not None:
                found, at = _identity(value, f"the header {name}")
                path, _ = read_path(value, at) if has_path else ((), at)
                return Frame(found, data, path)
            break
    found, at = _identity(data, "the record")
    path, at = read_path(data, at) if has_path else ((), at)
    return Frame(found, data[at:], path)


def _identity(data: bytes, where: str) -> tuple[int | UUID, int]:
    if data[:1] == b"\0" and len(data) >= 5:
        return int.from_bytes(data[1:5], "big"), 5
    if data[:1] == b"\1" and len(data) >= 17:
        return UUID(bytes=bytes(data[1:17])), 17
    raise SerializationException(
        f"{where} begins with {bytes(data[:5])!r}, and not with a zero and the id of a schema, "
        "or a one and its GUID: it was written without a schema registry"
    )


def written_path(path: Path) -> bytes:
    """Write the place of a message: a single zero for the first one of its file."""
    if not path:
        return b""
    if path == (0,):
        return b"\0"
    return b"".join(map(_varint, (len(path), *path)))


def read_path(data: bytes, at: int) -> tuple[Path, int]:
    """Read the place of a message, and where it ends.

    Raises:
        SerializationException: It is broken off, or out of bounds.
    """
    count, at = _read_varint(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= DEEPEST:
        raise SerializationException(f"the place of a message has {count} numbers")
    path = []
    for _ in range(count):
        number, at = _read_varint(data, at)
        if number < 0:
            raise SerializationException("the place of a message has a negative number")
        path.append(number)
    return tuple(path), at


def _varint(number: int) -> bytes:
    left = number << 1  # Zigzag, of numbers that are not negative.
    made = bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for place in range(LONGEST_VARINT):
        if at + place >= len(data):
            break
        byte = data[at + place]
        found |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at + place + 1
    raise SerializationException("the place of a message is broken off")
