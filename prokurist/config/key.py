"""Key and row: what the table says of one configuration key.

The table is not written down a second time anywhere: its rows are the annotated fields
of the dataclasses in this package, and `table` reads them from there.

Invariants: a row's dotted name is its field's name with dots for underscores; a key
whose default is None takes None, and no other key does; a field without a `Key` in its
annotation is no key.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, get_type_hints

from prokurist.config.kinds import Kind


class Importance(Enum):
    """How often a key is worth a thought; Kafka's grading."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


HIGH, MEDIUM, LOW = Importance


class Effect(Enum):
    """What giving a key does."""

    SUPPORTED = "supported"
    NONE = "accepted without effect"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Status:
    """An effect and, unless it is the ordinary one, its reason.

    Attributes:
        effect: What giving the key does.
        reason: Why, and what to do instead; a clause without a full stop.
    """

    effect: Effect
    reason: str = ""


SUPPORTED = Status(Effect.SUPPORTED)


def without_effect(reason: str) -> Status:
    """The status of a key that is read and checked and then changes nothing.

    Args:
        reason: Why.

    Returns:
        The status.
    """
    return Status(Effect.NONE, reason)


def refused(reason: str) -> Status:
    """The status of a key that cannot be given.

    Args:
        reason: Why, and the way out.

    Returns:
        The status.
    """
    return Status(Effect.REFUSED, reason)


@dataclass(frozen=True, slots=True)
class Key:
    """Everything about a key besides its name, Python type and default.

    Attributes:
        kind: How a value is read and checked.
        doc: One line for the reader of the documentation.
        importance: Kafka's grading.
        status: What giving the key does.
        aliases: Other clients' spellings with exactly the same meaning.
        ours: Whether the key is this client's own, unknown to Java.
    """

    kind: Kind
    doc: str
    importance: Importance = MEDIUM
    status: Status = SUPPORTED
    aliases: tuple[str, ...] = ()
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a client's table.

    Attributes:
        name: The dotted name.
        field: The name of the field, and of the keyword.
        key: What the annotation says.
        default: The value when the key is not given; `MISSING` if it must be.
    """

    name: str
    field: str
    key: Key
    default: object

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is MISSING

    @property
    def optional(self) -> bool:
        """Whether None may be given."""
        return self.default is None


@cache
def table(keys: type[Any], /) -> Mapping[str, Row]:
    """Read the table from a class; done once per class, on first use.

    Args:
        keys: One of the dataclasses of keys.

    Returns:
        The rows by dotted name, in the order of the fields.
    """
    hints = get_type_hints(keys, include_extras=True)
    rows: dict[str, Row] = {}
    for field in fields(keys):
        for note in getattr(hints[field.name], "__metadata__", ()):
            if isinstance(note, Key):
                name = field.name.replace("_", ".")
                rows[name] = Row(name, field.name, note, field.default)
    return MappingProxyType(rows)
