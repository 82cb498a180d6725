"""The entries of the table of keys: importance, effect, documentation.

Invariants: a `Key` stands in the annotation of a dataclass's field; what the field says
by itself (name, Python type, default) is not said here again.
"""

from enum import Enum

from prokurist.config.kinds import ValueKind
from prokurist.lazy_dataclasses import dataclass


class Importance(Enum):
    """Kafka's grading of how often a key needs attention."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


HIGH, MEDIUM, LOW = Importance


class Effect(Enum):
    """Effects of setting a key."""

    SUPPORTED = "supported"
    NONE = "accepted without effect"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, eq=False)
class Status:
    """An effect and, unless it is the ordinary one, its reason.

    Attributes:
        effect: The effect of setting the key.
        reason: The reason, and the alternative; a clause without a full stop.
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


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """Everything about a key besides its name, Python type and default.

    Attributes:
        kind: How a value is read and checked.
        doc: One line for the reader of the documentation.
        importance: Kafka's grading.
        status: The effect of setting the key.
        aliases: Other clients' spellings with exactly the same meaning.
        ours: True for a key of this client's own, unknown to Java.
    """

    kind: ValueKind
    doc: str
    importance: Importance = MEDIUM
    status: Status = SUPPORTED
    aliases: tuple[str, ...] = ()
    ours: bool = False
