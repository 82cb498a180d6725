"""The one file that knows kio: what a message of one version is made of.

kio's generated dataclasses are read as tables: name, kind, nullability and tag
of every field. Each is loaded by name when its version is first used and then
kept; all versions of all APIs would cost a third of a second. Requests are
written by kio; answers are read by `reading`, which says why.

Thread: any; nothing changes once it is made.
"""

import io
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from importlib import import_module
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.request import Body

DURATIONS: Final = frozenset({"timedelta_i32", "timedelta_i64"})
"""The kinds that kio's writer wants as timedeltas."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        name: Its name.
        kind: What it holds, in kio's words: `int32`, `string`, `error_code` …
        array: Whether it holds many of these.
        nullable: Whether it, or the array as a whole, can be null.
        tag: Its number if it is a tagged field.
        struct: What it is made of if it holds a structure.
    """

    name: str
    kind: str
    array: bool
    nullable: bool
    tag: int | None
    struct: "Struct | None"


@dataclass(frozen=True, slots=True)
class Struct:
    """A message, or a structure inside one.

    Attributes:
        cls: kio's dataclass for it.
        flexible: Whether lengths are varints and tagged fields follow (KIP-482).
        fields: Its fields, in the order in which they are written.
    """

    cls: type[Any]
    flexible: bool
    fields: tuple[Field, ...]

    def made_of(self, values: Body) -> Any:
        """The value of kio's for these fields; those that this version lacks stay out.

        Raises:
            KeyError: A field of this version was not given: a bug of ours, for
                no default of kio's is ever relied upon.
        """
        return self.cls(
            **{field.name: written(field, values[field.name]) for field in self.fields}
        )


@dataclass(frozen=True, slots=True)
class Message:
    """A request or an answer in one version.

    Attributes:
        struct: Its fields.
        header_flexible: Whether the header before it ends in tagged fields.
    """

    struct: Struct
    header_flexible: bool

    def to_bytes(self, values: Body) -> bytes:
        """The message without its header, written by kio.

        Raises:
            ValueError: A value that the protocol has no room for.
        """
        serial = import_module("kio.serial")
        errors = import_module("kio.serial.errors")
        buffer = io.BytesIO()
        try:
            serial.entity_writer(self.struct.cls)(buffer, self.struct.made_of(values))
        except errors.SerialError as error:
            raise ValueError(str(error)) from error
        return buffer.getvalue()


def load() -> None:
    """Import what all messages stand on: a tenth of a second and more, once a process.

    Whoever imports holds the interpreter, so a client does this when it is built. On
    the network thread it would be the first poll that is late for it.
    """
    import_module("kio.serial")


@cache
def message(api: Api, version: int, kind: Literal["request", "response"]) -> Message:
    """The message of one API in one version; the first call imports it."""
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in api.name).removeprefix("_")
    module = import_module(f"kio.schema.{name}.v{version}.{kind}")
    cls = getattr(module, f"{api.name}{kind.title()}")
    # By itself an ApiVersions answer is flexible from 3 on and its header never
    # is: the client cannot know what it talks to yet. kio's table says so too.
    return Message(struct_of(cls), cls.__header_schema__.__flexible__)


def struct_of(cls: type[Any]) -> Struct:
    """Read one of kio's dataclasses as a table."""
    return Struct(cls, cls.__flexible__, tuple(field_of(field) for field in fields(cls)))


def field_of(field: Any) -> Field:
    """Read one field: `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    inner, nullable = without_none(field.type)
    array = get_origin(inner) is tuple
    if array:
        inner = get_args(inner)[0]
    struct = struct_of(inner) if isinstance(inner, type) and is_dataclass(inner) else None
    return Field(
        name=field.name,
        kind="struct" if struct else field.metadata["kafka_type"],
        array=array,
        nullable=nullable,
        tag=field.metadata.get("tag"),
        struct=struct,
    )


def without_none(annotation: Any) -> tuple[Any, bool]:
    """`X | None` as X and True."""
    members = get_args(annotation)
    if NoneType not in members:
        return annotation, False
    return next(member for member in members if member is not NoneType), True


def written(field: Field, value: Any) -> Any:
    """One of our values as kio's writer wants it."""
    if value is None:
        # Metadata 0 has no null for "all topics": it says so by naming none.
        return () if field.array and not field.nullable else None
    if field.struct is not None:
        return (
            tuple(map(field.struct.made_of, value))
            if field.array
            else field.struct.made_of(value)
        )
    if field.kind in DURATIONS:
        return timedelta(milliseconds=value)
    return value
