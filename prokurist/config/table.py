"""The table: its rows, read from the annotated fields of a client's keys.

It is not written down a second time anywhere; documentation, TypedDicts and parsing all
begin here.

Invariants: a row's dotted name is its field's name with dots for underscores; a key
whose default is None takes None, and no other key does; a field without a `Key` in its
annotation is no key. Nothing is computed before it is first asked for.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import MappingProxyType
from typing import Any

from prokurist.config.foreign import Foreign
from prokurist.config.key import Key
from prokurist.config.kinds import ValueKind
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ConfigRow:
    """One row of a client's table.

    Attributes:
        name: The dotted name.
        field: The name of the field, and of the keyword.
        key: The annotation.
        default: The value when the key is not given; `MISSING` if it must be.
    """

    name: str
    field: str
    key: Key
    default: object

    @property
    def required(self) -> bool:
        """True if the key has no default."""
        return self.default is MISSING

    @property
    def optional(self) -> bool:
        """True if the key may be None."""
        return self.default is None


@dataclass(frozen=True, slots=True, eq=False)
class Client:
    """The parts of a client's configuration that differ between consumer and producer.

    Attributes:
        word: "consumer" or "producer".
        keys: The class with the table's fields.
        checks: The rules between its keys.
        foreign: Keys that mean something to the other client only and that other
            libraries give to both.
        deprecated: KIP-19's old keys, if this client has them.
    """

    word: str
    keys: type[Any]
    checks: tuple[Callable[[dict[str, Any], Collection[str]], Iterator[str]], ...]
    foreign: Mapping[str, Foreign]
    deprecated: Mapping[str, ValueKind]


@cache
def table(client: Client, /) -> Mapping[str, ConfigRow]:
    """Read a client's table from its class.

    Args:
        client: The client.

    Returns:
        The rows by dotted name, in the order of the fields.
    """
    rows: dict[str, ConfigRow] = {}
    for field in fields(client.keys):
        # Annotations are objects in our own classes; to resolve them as if they were text
        # would take a third of a client's making.
        for note in getattr(field.type, "__metadata__", ()):
            if isinstance(note, Key):
                name = plain(field.name)
                rows[name] = ConfigRow(name, field.name, note, field.default)
    return MappingProxyType(rows)


@cache
def spellings(client: Client, /) -> Mapping[str, ConfigRow]:
    """List every spelling of every key of a table, aliases included.

    Args:
        client: The client.

    Returns:
        The rows by spelling, with dots for underscores.
    """
    found: dict[str, ConfigRow] = {}
    for row in table(client).values():
        for spelling in (row.name, *row.key.aliases):
            found[plain(spelling)] = row
    return MappingProxyType(found)


def plain(spelling: str) -> str:
    """Bring a spelling into the one form that tables are searched by.

    Args:
        spelling: A key as it was written.

    Returns:
        The same with dots for underscores.
    """
    return spelling.replace("_", ".")
