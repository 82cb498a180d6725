"""Writes the bodies of answers, as `wire/reading.py` reads them.

Thread: any; no state. Numbers that do not fit their field wrap around.
"""

import struct
from typing import Any, Final

from prokurist.network_thread.wire.schema import FIXED, Field, Struct
from prokurist.network_thread.wire.writing import write_varint

NULL_STRUCT: Final = b"\xff"


def varint(value: int) -> bytes:
    """Encode an unsigned varint."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


def body_bytes(table: Struct, body: dict[str, Any]) -> bytes:
    """Encode the fields of a structure."""
    out = [
        _field(each, body[each.name], flexible=table.flexible)
        for each in table.fields
        if each.tag is None
    ]
    if table.flexible:
        tagged = sorted(
            (each.tag, _field(each, body[each.name], flexible=True))
            for each in table.fields
            if each.tag is not None and each.name in body
        )
        out.append(varint(len(tagged)))
        out += [varint(tag) + varint(len(data)) + data for tag, data in tagged]
    return b"".join(out)


def _field(field: Field, value: Any, *, flexible: bool) -> bytes:
    if field.array:
        if value is None:
            return _length(None, 4, flexible=flexible)
        one = field._replace(array=False, nullable=False)
        items = [_field(one, each, flexible=flexible) for each in value]
        return _length(len(items), 4, flexible=flexible) + b"".join(items)
    if field.struct is not None:
        if field.nullable:
            return NULL_STRUCT if value is None else b"\1" + body_bytes(field.struct, value)
        return body_bytes(field.struct, value)
    if field.kind == "uuid":
        return bytes(16) if value is None else bytes(value.bytes)
    if field.kind in FIXED:
        size = struct.calcsize(FIXED[field.kind])
        return (int(value) % (1 << 8 * size)).to_bytes(size)
    width = 2 if field.kind == "string" else 4
    if value is None:
        return _length(None, width, flexible=flexible)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return _length(len(data), width, flexible=flexible) + data


def _length(count: int | None, width: int, *, flexible: bool) -> bytes:
    if flexible:
        return varint(0 if count is None else count + 1)
    return (-1 if count is None else count).to_bytes(width, signed=True)
