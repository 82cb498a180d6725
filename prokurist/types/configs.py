"""Configurations that the cluster keeps: of topics, brokers, groups and client metrics.

Thread: any; frozen values.
"""

from enum import IntEnum
from typing import Self, TypeAlias

from prokurist.config.secret import Secret
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import require_int


class ResourceKind(IntEnum):
    """Kinds of resources with a configuration; the numbers are the protocol's."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True, order=True)
class ConfigResource:
    """A resource with a configuration.

    Attributes:
        kind: Its kind.
        name: The topic, the broker's id, the group, or the client metrics subscription; empty
            for the default of all brokers.

    Raises:
        TypeError: The kind or the name is of another type.
        ValueError: The name is empty, or that of a broker is no number.
    """

    kind: ResourceKind
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.kind, ResourceKind):
            raise TypeError(f"a resource's kind is a ResourceKind, not {self.kind!r}")
        if not isinstance(self.name, str):
            raise TypeError(
                f"a resource's name is a str, not {self.name!r}; "
                f"ConfigResource.broker(2) takes a number"
            )
        of_broker = self.kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER)
        if not self.name and self.kind is not ResourceKind.BROKER:
            raise ValueError(f"a resource of kind {self.kind.name} has a name: it is empty")
        if of_broker and self.name and not self.name.isdecimal():
            raise ValueError(f"a broker is named by its id, a number: {self.name!r}")

    @classmethod
    def topic(cls, name: str) -> Self:
        """A topic."""
        return cls(ResourceKind.TOPIC, name)

    @classmethod
    def broker(cls, number: int) -> Self:
        """One broker: its own configuration, above the default of all brokers."""
        require_int("a broker's id", number, 31)
        return cls(ResourceKind.BROKER, str(number))

    @classmethod
    def all_brokers(cls) -> Self:
        """The cluster-wide default of brokers."""
        return cls(ResourceKind.BROKER, "")

    @classmethod
    def broker_logger(cls, number: int) -> Self:
        """The log levels of one broker."""
        require_int("a broker's id", number, 31)
        return cls(ResourceKind.BROKER_LOGGER, str(number))

    @classmethod
    def group(cls, group_id: str) -> Self:
        """A group; it need not exist."""
        return cls(ResourceKind.GROUP, group_id)

    @classmethod
    def client_metrics(cls, name: str) -> Self:
        """A subscription to metrics of clients (KIP-714)."""
        return cls(ResourceKind.CLIENT_METRICS, name)

    @property
    def broker_id(self) -> int | None:
        """The only broker that can answer; None if any can."""
        of_broker = self.kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER)
        return int(self.name) if of_broker and self.name else None

    def __str__(self) -> str:
        kind = self.kind.name.lower().replace("_", " ")
        return f"{kind} {self.name}" if self.name else "the default of all brokers"


class ConfigSource(IntEnum):
    """Origins of a value; the numbers are the protocol's."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @classmethod
    def _missing_(cls, value: object) -> Self:
        del value  # A number that is newer than we are.
        return cls(0)


class ConfigType(IntEnum):
    """Types of values; the numbers are the protocol's."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def _missing_(cls, value: object) -> Self:
        del value  # A number that is newer than we are.
        return cls(0)


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """A key from which a value is taken, by precedence.

    Attributes:
        name: The key.
        value: Its value; None for a sensitive one.
        source: Its origin.
    """

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One key of a configuration.

    Attributes:
        name: The key.
        value: Its value; None for a sensitive one, or where there is none.
        source: Its origin.
        read_only: True if it can only be changed in the broker's file.
        sensitive: True if brokers do not tell its value.
        type: Its type; UNKNOWN from brokers before 2.6.
        synonyms: The keys that it is taken from, if requested.
        documentation: Its documentation, if requested.
    """

    name: str
    value: str | None
    source: ConfigSource = ConfigSource.UNKNOWN
    read_only: bool = False
    sensitive: bool = False
    type: ConfigType = ConfigType.UNKNOWN
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """True if nothing has set it."""
        return self.source is ConfigSource.DEFAULT


@dataclass(frozen=True, slots=True)
class Set:
    """Set a key.

    Attributes:
        value: The value; a `Secret` appears in no log and no error.
    """

    value: str | Secret

    def __post_init__(self) -> None:
        if not isinstance(self.value, str | Secret):
            raise TypeError(f"Set takes a str or a Secret, not {self.value!r}")


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a key: the next origin's value counts."""


@dataclass(frozen=True, slots=True)
class Append:
    """Add to a list.

    Attributes:
        value: The element, or several with commas.
    """

    value: str

    def __post_init__(self) -> None:
        require_element("Append", self.value)


@dataclass(frozen=True, slots=True)
class Subtract:
    """Take from a list.

    Attributes:
        value: The element, or several with commas.
    """

    value: str

    def __post_init__(self) -> None:
        require_element("Subtract", self.value)


ConfigChange: TypeAlias = Set | Delete | Append | Subtract
"""A change of one key; all other keys stay."""


def require_element(name: str, value: object) -> None:
    """Check an element of a list."""
    if not isinstance(value, str):
        raise TypeError(f"{name} takes a str, not {value!r}")
