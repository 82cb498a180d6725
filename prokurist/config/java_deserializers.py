"""Counterparts of Kafka's own Java deserializers, by the names that property files have.

Each makes what the Java class makes of the same bytes, and raises where it does.
"""

import struct
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

JAVA_PACKAGE = "org.apache.kafka.common.serialization."


def _text(data: bytes) -> str:
    # As in Java, what is no UTF-8 becomes replacement characters.
    return data.decode("utf-8", "replace")


def _boolean(data: bytes) -> bool:
    if data not in {b"\x00", b"\x01"}:
        raise ValueError("a boolean is one byte, 0 or 1")
    return data == b"\x01"


def _number(form: str, data: bytes) -> Any:
    return struct.unpack(form, data)[0]


def _uuid(data: bytes) -> UUID:
    return UUID(data.decode())


JAVA_DESERIALIZERS: Mapping[str, Callable[[bytes], Any] | None] = MappingProxyType(
    {
        "ByteArrayDeserializer": None,
        "ByteBufferDeserializer": None,
        "BytesDeserializer": None,
        "StringDeserializer": _text,
        "BooleanDeserializer": _boolean,
        "ShortDeserializer": partial(_number, ">h"),
        "IntegerDeserializer": partial(_number, ">i"),
        "LongDeserializer": partial(_number, ">q"),
        "FloatDeserializer": partial(_number, ">f"),
        "DoubleDeserializer": partial(_number, ">d"),
        "UUIDDeserializer": _uuid,
    }
)
"""Deserializers in place of Java's classes; None leaves bytes as they are."""
