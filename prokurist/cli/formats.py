"""From a record to the bytes that are written for it: `-f`, `-K`, `-D`, `-J`, `-Z`, as in kcat.

Thread: any; pure functions.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from prokurist.cli.errors import Misused
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TimestampType

Format: TypeAlias = Callable[[ConsumerRecord], bytes]

NULL: Final = b"NULL"
"""Text of `-Z` for a missing key or value."""

ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}
ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|.|$)", re.DOTALL)
TIMESTAMP_TYPES: Final = {
    TimestampType.CREATE_TIME: "create",
    TimestampType.LOG_APPEND_TIME: "logappend",
}


def size(data: bytes | None) -> bytes:
    """A length, −1 for null."""
    return b"%d" % (-1 if data is None else len(data))


def headers(record: ConsumerRecord) -> bytes:
    """The headers as `name=value`, with commas between them."""
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in record.headers)


FIELDS: Final[dict[str, Format]] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "K": lambda record: size(record.key),
    "S": lambda record: size(record.value),
    "T": lambda record: b"%d" % record.timestamp,
    "h": headers,
    "%": lambda _: b"%",
}


def key_of(null: bytes) -> Format:
    """Bytes of the key, or the marker of an absent key."""
    return lambda record: null if record.key is None else record.key


def value_of(null: bytes) -> Format:
    """Bytes of the value, or the marker of an absent value."""
    return lambda record: null if record.value is None else record.value


def compiled(text: str, null: bytes = b"") -> Format:
    r"""A format string such as `%t [%p] %o: %s\n`.

    Args:
        text: The format string.
        null: Written for a key or a value that is not there.

    Raises:
        Misused: It has a token that means nothing.
    """
    fields = {"k": key_of(null), "s": value_of(null), **FIELDS}
    parts: list[Format] = []
    for literal, token in re.findall(r"([^%]+)|%(.?)", text, re.DOTALL):
        if literal:
            parts.append(always(unescaped(literal)))
        elif token in fields:
            parts.append(fields[token])
        else:
            known = " ".join(f"%{each}" for each in fields)
            raise Misused(f"-f: %{token} means nothing; there are {known}")
    return lambda record: b"".join(part(record) for part in parts)


def always(data: bytes) -> Format:
    """Return a format with the same bytes for every record."""
    return lambda _: data


def delimited(key: str | None, end: str, null: bytes = b"") -> Format:
    """Value and delimiter, and before them, if that has one, key and delimiter."""
    behind, value_bytes = unescaped(end), value_of(null)
    if key is None:
        return lambda record: value_bytes(record) + behind
    between, key_bytes = unescaped(key), key_of(null)
    return lambda record: key_bytes(record) + between + value_bytes(record) + behind


def unescaped(text: str) -> bytes:
    r"""Replace the escapes `\n`, `\t`, `\x1f` and their like.

    Raises:
        Misused: An escape stands for nothing.
    """

    def meant(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 3:
            return chr(int(escape[1:], 16))
        if escape not in ESCAPES:
            raise Misused(rf"\{escape} stands for nothing; there are \n \t \r \0 \\ and \xNN")
        return ESCAPES[escape]

    # Bytes above 127 are written as they are meant, not as UTF-8 would have them.
    whole = bytearray()
    last = 0
    for found in ESCAPE.finditer(text):
        whole += text[last : found.start()].encode() + meant(found).encode("latin-1")
        last = found.end()
    return bytes(whole + text[last:].encode())


def as_json(record: ConsumerRecord) -> bytes:
    """One line with kcat's names; bytes that are no UTF-8 become lone surrogates.

    Python's `surrogateescape` turns those back into the bytes.
    """
    return json_line(record, readable(record.value))


def with_json_value(record: ConsumerRecord) -> bytes:
    """The same, with a JSON value embedded as JSON, not as text."""
    payload: Any = readable(record.value)
    if payload is not None:
        with suppress(ValueError):
            payload = json.loads(payload)
    return json_line(record, payload)


def json_line(record: ConsumerRecord, payload: object) -> bytes:
    """One object with a record's parts."""
    flat = [part for name, value in record.headers for part in (name, readable(value))]
    envelope = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": TIMESTAMP_TYPES.get(record.timestamp_type, "unknown"),
        "ts": record.timestamp,
        "headers": flat,
        "key": readable(record.key),
        "payload": payload,
    }
    return json.dumps(envelope).encode() + b"\n"


def readable(data: bytes | None) -> str | None:
    """Bytes as text, with invalid UTF-8 escaped."""
    return None if data is None else data.decode("utf-8", "surrogateescape")
