"""Frames to requests and answers to frames, with kio and nothing of the client's.

A handler describes its answer as plain mappings with the field names of all versions; `encode`
takes those of the version at hand. So one handler serves every version, and a needed field that
the handler forgot is a loud error.

Error codes are numbers up to here, and any number goes out: kio's enum ends at
the codes of its own day, and a client must survive those of tomorrow.

Thread: any; nothing here keeps state but caches of classes.
"""

import io
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from importlib import import_module
from types import NoneType
from typing import Any, Final, NamedTuple, get_args, get_origin

from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.constants import EntityType

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.apis import Api, by_key

Values = Mapping[str, Any]
"""An answer, or a part of one: field names of any version, and plain values.

Times are seconds, timestamps are milliseconds, error codes are integers, nested structs are
`Values`.
"""

HEAD: Final = struct.Struct(">hhi")
"""First fields of every request: API key, version, correlation id."""


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MalformedRequest(Exception):
    """Bytes that are no request; a broker closes the connection."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request off the wire.

    Attributes:
        api: The API; None if the model does not speak it.
        key: Its number as it came.
        version: The version as it came, offered or not.
        correlation_id: The correlation id of the answer.
        client_id: The request's client id; None when there is none or it was not read.
        body: kio's request of that version; None when the version is not one of
            kio's, so that there is only the head.
        left_over: Bytes behind the request. A broker does not mind them, and
            librdkafka's Metadata has three; of our own client they are a bug.
    """

    api: Api | None
    key: int
    version: int
    correlation_id: int
    client_id: str | None
    body: Any
    left_over: int = 0

    @property
    def name(self) -> str:
        """The API's name, for people."""
        return self.api.name if self.api else f"API {self.key}"

    def __repr__(self) -> str:
        return f"Request({self.name} v{self.version}, #{self.correlation_id})"


class UnlistedCode(NamedTuple):
    """An error code that kio does not know, in the shape its writer takes."""

    value: int


@cache
def message_class(api: Api, version: int, kind: EntityType) -> type[Any]:
    """The class that kio has for a message; imports that one version."""
    module, _, name = schema_name_map[api.folder][version][kind].partition(":")  # type: ignore[index]
    cls: type[Any] = getattr(import_module(module), name)
    return cls


def decode(frame: bytes) -> Request:
    """Read one request.

    Raises:
        MalformedRequest: The bytes end too soon, or make no sense.
    """
    if len(frame) < HEAD.size:
        raise MalformedRequest(f"a request of {len(frame)} bytes has no head")
    key, version, correlation_id = HEAD.unpack_from(frame)
    api = by_key().get(key)
    if api is None or not api.oldest <= version <= api.newest:
        return Request(api, key, version, correlation_id, None, None)
    cls = message_class(api, version, EntityType.request)
    try:
        header, position = entity_reader(cls.__header_schema__)(frame, 0)
        body, size = entity_reader(cls)(frame, position)
    except (SerialError, ValueError, IndexError, OverflowError) as error:
        raise MalformedRequest(f"{api.name} v{version}: {error}") from error
    left_over = len(frame) - position - size
    return Request(api, key, version, correlation_id, header.client_id, body, left_over)


def encode(api: Api, version: int, correlation_id: int, answer: Values) -> bytes:
    """Write one answer, without its length prefix.

    Raises:
        TypeError: The handler gave no value for a field that the version needs.
    """
    cls = message_class(api, version, EntityType.response)
    header = cls.__header_schema__
    out = io.BytesIO()
    entity_writer(header)(out, header(correlation_id=correlation_id))
    entity_writer(cls)(out, build(cls, answer))
    return out.getvalue()


def build(cls: Any, values: Values) -> Any:
    """Make a kio struct from plain values, without those that its version lacks."""
    taken: dict[str, Any] = {}
    for field in plan(cls):
        if field.name in values:
            taken[field.name] = field.convert(values[field.name])
        elif field.required:
            raise TypeError(f"{cls.__module__}.{cls.__name__} needs {field.name!r}")
    return cls(**taken)


class PlannedField(NamedTuple):
    """Plan for one field of a kio struct.

    Attributes:
        name: Its name.
        required: True if the struct cannot be made without it.
        convert: Converts a plain value to kio's.
        struct: The struct in it, where there is one.
    """

    name: str
    required: bool
    convert: Callable[[Any], Any]
    struct: type[Any] | None


@cache
def plan(cls: Any) -> tuple[PlannedField, ...]:
    """Plan how to fill each field of a kio struct."""
    planned: list[PlannedField] = []
    for each in fields(cls):
        required = each.default is MISSING and each.default_factory is MISSING
        kafka_type = each.metadata.get("kafka_type")
        struct_class: type[Any] | None = None
        convert: Callable[[Any], Any]
        if kafka_type is None:
            struct_class, many = nested(each.type)
            convert = partial(as_structs if many else as_struct, struct_class)
        else:
            convert = CONVERTERS.get(kafka_type, as_it_is)
        planned.append(PlannedField(each.name, required, convert, struct_class))
    return tuple(planned)


def nested(declared: Any) -> tuple[type[Any], bool]:
    """The struct inside `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    if is_dataclass(declared) and isinstance(declared, type):
        return declared, False
    [inner] = [each for each in get_args(declared) if each not in (NoneType, Ellipsis)]
    struct_class, _ = nested(inner)
    return struct_class, tuple in (get_origin(declared), get_origin(inner))


def as_struct(cls: type[Any], values: Values | None) -> Any:
    """A struct, or null."""
    return None if values is None else build(cls, values)


def as_structs(cls: type[Any], items: Sequence[Values] | None) -> tuple[Any, ...] | None:
    """An array of structs, or null."""
    return None if items is None else tuple(build(cls, item) for item in items)


def as_error_code(code: int) -> ErrorCode | UnlistedCode:
    """The enum's member where there is one; otherwise the number all the same."""
    try:
        return ErrorCode(code)
    except ValueError:
        return UnlistedCode(code)


def as_timedelta(seconds: float) -> timedelta:
    """A time on the wire."""
    return timedelta(seconds=seconds)


def as_moment(milliseconds: int | None) -> datetime | None:
    """A timestamp; null for none, and −1 where the protocol has that and no null."""
    return None if milliseconds is None else EPOCH + timedelta(milliseconds=milliseconds)


def as_it_is(value: Any) -> Any:
    """Numbers, strings, bytes, uuids, and arrays of them."""
    return tuple(value) if isinstance(value, list) else value


CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "error_code": as_error_code,
    "timedelta_i32": as_timedelta,
    "timedelta_i64": as_timedelta,
    "datetime_i64": as_moment,
}
"""From plain values to kio's, by kio's name of a field's type."""
