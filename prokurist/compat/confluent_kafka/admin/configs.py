"""Configurations of topics, brokers and groups."""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import total_ordering
from types import MappingProxyType
from typing import Any, Final

from prokurist.admin import Append, ConfigChange, Delete, ResourceKind, Set, Subtract
from prokurist.admin import ConfigEntry as OurEntry
from prokurist.admin import ConfigResource as OurResource
from prokurist.compat.confluent_kafka.admin.resources import ResourceType
from prokurist.compat.confluent_kafka.model import read_enum


class AlterConfigOpType(Enum):
    """Changes of one key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigSource(Enum):
    """Origins of a value."""

    UNKNOWN_CONFIG = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class ConfigEntry:
    """A key of a configuration, or a change of one.

    Args:
        name: The key.
        value: Its value; None for a sensitive one.
        source: The number of its origin, as `ConfigSource` has it.
        is_read_only: True if it can only be changed in the broker's file.
        is_default: True if nothing has set it.
        is_sensitive: True if brokers do not tell its value.
        is_synonym: True for a key that another one is taken from.
        synonyms: The keys that it is taken from.
        incremental_operation: The change, in `incremental_alter_configs`.
    """

    def __init__(
        self,
        name: str,
        value: str | None,
        source: ConfigSource | int = ConfigSource.UNKNOWN_CONFIG,
        is_read_only: bool = False,
        is_default: bool = False,
        is_sensitive: bool = False,
        is_synonym: bool = False,
        synonyms: Mapping[str, "ConfigEntry"] = MappingProxyType({}),
        incremental_operation: AlterConfigOpType | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.is_read_only: bool = bool(is_read_only)
        self.is_default: bool = bool(is_default)
        self.is_sensitive: bool = bool(is_sensitive)
        self.is_synonym: bool = bool(is_synonym)
        self.synonyms: dict[str, ConfigEntry] = dict(synonyms)
        self.incremental_operation = incremental_operation

    @classmethod
    def of(cls, entry: OurEntry) -> "ConfigEntry":
        """A key of ours."""
        synonyms = {
            each.name: cls(
                each.name, each.value, int(each.source), is_default=False, is_synonym=True
            )
            for each in entry.synonyms
        }
        return cls(
            entry.name,
            entry.value,
            int(entry.source),
            entry.read_only,
            entry.is_default,
            entry.sensitive,
            False,
            synonyms,
        )

    def change(self) -> ConfigChange:
        """The change that it asks for.

        Raises:
            TypeError: It asks for none, or its value is no str.
        """
        operation = self.incremental_operation
        if not isinstance(operation, AlterConfigOpType):
            raise TypeError(
                f"{self.name}: incremental_operation is an AlterConfigOpType, not {operation!r}"
            )
        if operation is AlterConfigOpType.DELETE:
            return Delete()
        if not isinstance(self.value, str):
            raise TypeError(f"{self.name}: the value to set is a str")
        return _CHANGES[operation](self.value)

    def __str__(self) -> str:
        return f'{self.name}="{self.value}"'

    def __repr__(self) -> str:
        return f"ConfigEntry({self})"


_CHANGES: Final[Mapping[AlterConfigOpType, type[Set | Append | Subtract]]] = MappingProxyType(
    {
        AlterConfigOpType.SET: Set,
        AlterConfigOpType.APPEND: Append,
        AlterConfigOpType.SUBTRACT: Subtract,
    }
)
_KINDS: Final = MappingProxyType(
    {
        ResourceType.TOPIC: ResourceKind.TOPIC,
        ResourceType.BROKER: ResourceKind.BROKER,
        ResourceType.GROUP: ResourceKind.GROUP,
    }
)


@total_ordering
class ConfigResource:
    """A resource with a configuration, and changes of it.

    Args:
        restype: Its kind: a `ConfigResource.Type`, its name or its number.
        name: The topic, the broker's id or the group.
        set_config: The whole configuration, for `alter_configs`.
        described_configs: Its keys, as they are described.
        error: Its error.
        incremental_configs: The changes, for `incremental_alter_configs`.

    Raises:
        TypeError: The kind is of a wrong type.
        ValueError: There is no such kind, or no name.
    """

    Type = ResourceType

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: Mapping[str, str] | None = None,
        described_configs: dict[str, ConfigEntry] | None = None,
        error: Any = None,
        incremental_configs: Iterable[ConfigEntry] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("the name of a ConfigResource is a str, not None")
        self.restype: ResourceType = read_enum(ResourceType, restype)
        self.restype_int: int = int(self.restype.value)
        self.name = name
        self.set_config_dict: dict[str, str] = dict(set_config or {})
        self.incremental_configs: list[ConfigEntry] = list(incremental_configs or ())
        self.configs = described_configs
        self.error = error

    def set_config(self, name: str, value: str, overwrite: bool = True) -> None:
        """Set a key, for `alter_configs`.

        Args:
            name: The key.
            value: Its value.
            overwrite: False to leave one that is set already.
        """
        if overwrite or name not in self.set_config_dict:
            self.set_config_dict[name] = value

    def add_incremental_config(self, config_entry: ConfigEntry) -> None:
        """Add a change, for `incremental_alter_configs`."""
        self.incremental_configs.append(config_entry)

    def ours(self) -> OurResource:
        """The same as a value of ours.

        Raises:
            ValueError: Resources of this kind have no configuration.
        """
        if self.restype not in _KINDS:
            names = ", ".join(each.name for each in _KINDS)
            raise ValueError(f"{self}: there are configurations of {names}")
        return OurResource(_KINDS[self.restype], str(self.name))

    def changes(self) -> dict[str, ConfigChange]:
        """The changes by key.

        Raises:
            TypeError: One is none.
            ValueError: There are none.
        """
        if not self.incremental_configs:
            raise ValueError(
                f"{self}: incremental_configs are ConfigEntry objects: it is empty"
            )
        return {each.name: each.change() for each in self.incremental_configs}

    def __len__(self) -> int:
        return len(self.set_config_dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return (self.restype, self.name) == (other.restype, other.name)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return (self.restype, self.name) < (other.restype, other.name)

    def __hash__(self) -> int:
        return hash((self.restype, self.name))

    def __repr__(self) -> str:
        error = "" if self.error is None else f",{self.error!r}"
        return f"ConfigResource({self.restype},{self.name}{error})"
