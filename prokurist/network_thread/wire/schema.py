"""Structure of messages in one version, from the tables of all versions.

Thread: any; nothing changes once it is made.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import API_VERSIONS, Api
from prokurist.network_thread.wire.tables import TABLES, Row

FIXED: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "float64": "d",
}
"""Kinds of a fixed size, as `struct` calls them."""


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        name: Its name.
        kind: Its type: `int32`, `string`, `uuid`, `struct` …
        array: True for an array of these.
        nullable: True if it, or the array as a whole, can be null.
        tag: Its number if it is a tagged field.
        struct: Its structure, for kind `struct`.
    """

    name: str
    kind: str
    array: bool
    nullable: bool
    tag: int | None
    struct: "Struct | None"


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A message, or a structure inside one.

    Attributes:
        flexible: True if lengths are varints and tagged fields follow (KIP-482).
        fields: Its fields, in the order of writing.
    """

    flexible: bool
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A request or an answer in one version; there is one object of each.

    Attributes:
        struct: Its fields.
        header_flexible: True if the header before it ends in tagged fields.
    """

    struct: Struct
    header_flexible: bool


@cache
def message(api: Api, version: int, kind: Literal["request", "response"]) -> Message:
    """The message of an API in one version."""
    since, asked, answered = TABLES[api.name]
    flexible = 0 <= since <= version
    struct = struct_of(asked if kind == "request" else answered, version, flexible=flexible)
    # The header of an ApiVersions answer never is: the client cannot know yet what it
    # talks to.
    return Message(struct, flexible and (kind == "request" or api is not API_VERSIONS))


def struct_of(rows: Sequence[Row], version: int, *, flexible: bool) -> Struct:
    """The structure of the fields that a version has.

    Args:
        rows: Its fields, each followed by its own structure, one deeper.
        version: The version.
        flexible: True if the version is flexible.
    """
    made = []
    for at, (depth, name, kind, first, last, null, tag) in enumerate(rows):
        if depth != rows[0][0] or not first <= version <= last:
            continue
        inner = kind.removeprefix("[]")
        made.append(
            Field(
                name=name,
                kind=inner,
                array=inner != kind,
                nullable=0 <= null <= version,
                tag=None if tag < 0 else tag,
                struct=struct_of(below(rows, at), version, flexible=flexible)
                if inner == "struct"
                else None,
            )
        )
    return Struct(flexible, tuple(made))


def below(rows: Sequence[Row], at: int) -> Sequence[Row]:
    """The rows of a row's structure: those after it that are deeper."""
    end = at + 1
    while end < len(rows) and rows[end][0] > rows[at][0]:
        end += 1
    return rows[at + 1 : end]
