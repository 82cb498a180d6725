"""Configurations by administrators: of topics, brokers, loggers and groups.

A value comes from the resource itself, from one broker, from the default of all brokers, from
the brokers' files, or is a default, in this order. Sensitive values are never shown.

Thread: the one that drives the model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from typing import Final, NamedTuple

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.properties import (
    BROKER_PROPERTIES,
    GROUP_PROPERTIES,
    LARGEST,
    TOPIC_PROPERTIES,
    InvalidValue,
    Kind,
    Property,
)

EVERY_BROKER: Final = ""


class ResourceType(IntEnum):
    """Kinds of a resource with a configuration."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    GROUP = 32


class Source(IntEnum):
    """Sources of a value, the first of a list decides."""

    TOPIC = 1
    ONE_BROKER = 2
    EVERY_BROKER = 3
    FILE = 4
    DEFAULT = 5
    LOGGER = 6
    GROUP = 8


class Value(NamedTuple):
    """A value with its name and source."""

    name: str
    value: str | None
    source: Source


@dataclass(slots=True)
class Configs:
    """Configurations of brokers and groups; topics keep their own.

    Attributes:
        file: The properties in the files of all brokers.
        given: What an administrator has set, by resource; it ends with its last key.
        loggers: Levels of the brokers' loggers, by broker and logger.
    """

    file: dict[str, str] = field(
        default_factory=lambda: {
            # Nothing is deleted by age, and time in a test begins where the test says.
            "log.retention.ms": "-1",
            "log.message.timestamp.after.max.ms": str(LARGEST),
        }
    )
    given: dict[tuple[ResourceType, str], dict[str, str]] = field(
        default_factory=lambda: {
            # The feature `eligible.leader.replicas.version` brings this one.
            (ResourceType.BROKER, EVERY_BROKER): {"min.insync.replicas": "1"}
        }
    )
    loggers: dict[tuple[int, str], str] = field(default_factory=dict)

    def of(self, kind: ResourceType, name: str) -> dict[str, str]:
        """The properties set for a resource."""
        return self.given.get((kind, name), {})

    def replace(self, kind: ResourceType, name: str, values: dict[str, str]) -> None:
        """Set the properties of a resource, all of them."""
        if values:
            self.given[kind, name] = values
        else:
            self.given.pop((kind, name), None)

    def values_of(
        self, known: Property, given: Mapping[str, str], source: Source, node: int | None
    ) -> list[Value]:
        """Return the values of a property of a topic or group, first the value in force.

        Args:
            known: The property.
            given: What is set for the topic or group.
            source: Its source.
            node: The broker that looks; None for the controller.
        """
        rows = []
        if known.name in given:
            rows.append(Value(known.name, given[known.name], source))
        if known.server is not None:
            rows += self._set_for_brokers(known.server, node)
        if known.server_default is not None:
            rows.append(Value(*known.server_default, Source.DEFAULT))
        return rows

    def values_of_broker(
        self, known: Property, node: int, own: Mapping[str, str]
    ) -> list[Value]:
        """Return the values of a broker's property, first the value in force.

        Args:
            known: The property.
            node: The broker.
            own: The properties in the file of this broker alone.
        """
        rows = list(self._set_for_brokers(known.name, node))
        if known.name in own:
            rows.append(Value(known.name, own[known.name], Source.FILE))
        if known.server_default is not None:
            rows.append(Value(*known.server_default, Source.DEFAULT))
        elif known.default is not None:
            rows.append(Value(known.name, known.default, Source.DEFAULT))
        return rows

    def _set_for_brokers(self, name: str, node: int | None) -> Iterator[Value]:
        own = {} if node is None else self.of(ResourceType.BROKER, str(node))
        default = self.of(ResourceType.BROKER, EVERY_BROKER)
        for values, source in (
            (own, Source.ONE_BROKER),
            (default, Source.EVERY_BROKER),
            (self.file, Source.FILE),
        ):
            if name in values:
                yield Value(name, values[name], source)

    def topic_value(
        self, known: Property, given: Mapping[str, str], node: int | None = None
    ) -> Value:
        """Return the value in force of a topic's property."""
        rows = self.values_of(known, given, Source.TOPIC, node)
        return in_force(known, rows)

    def topic_values(self, given: Mapping[str, str]) -> dict[str, str | None]:
        """Return the values of all properties of a topic, as the controller sees them."""
        return {
            name: self.topic_value(known, given).value
            for name, known in TOPIC_PROPERTIES.items()
        }


def in_force(known: Property, rows: list[Value]) -> Value:
    """The value in force, or the default in the unit of the property."""
    if rows and rows[0].source is not Source.DEFAULT:
        return Value(known.name, rows[0].value, rows[0].source)
    return Value(known.name, known.default, Source.DEFAULT)


def check_topic_config(values: Mapping[str, str]) -> None:
    """Check the properties of a topic.

    Raises:
        InvalidValue: One is unknown or invalid, or two of them contradict each other.
    """
    check_all(TOPIC_PROPERTIES, values, "topic")
    least = int(values.get("min.compaction.lag.ms", "0"))
    most = int(values.get("max.compaction.lag.ms", str(LARGEST)))
    if least > most:
        raise InvalidValue(
            f"conflict topic config setting min.compaction.lag.ms ({least}) "
            f"> max.compaction.lag.ms ({most})"
        )


def check_broker_config(values: Mapping[str, str]) -> None:
    """Check the properties of a broker, or of all; unknown properties pass.

    Raises:
        InvalidValue: One is invalid, or needs a restart.
    """
    fixed = [each for each in values if each in BROKER_PROPERTIES]
    fixed = [each for each in fixed if BROKER_PROPERTIES[each].read_only]
    if fixed:
        raise InvalidValue(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    for name, value in values.items():
        if name in BROKER_PROPERTIES:
            BROKER_PROPERTIES[name].check(value)


def check_group_config(values: Mapping[str, str], brokers: Mapping[str, str | None]) -> None:
    """Check the properties of a group against the brokers' bounds.

    Raises:
        InvalidValue: One is unknown, invalid, or out of bounds.
    """
    check_all(GROUP_PROPERTIES, values, "group")
    for name, value in values.items():
        if not name.startswith("consumer."):
            # Brokers' bounds of share groups are not modelled.
            continue
        least, most = (
            f"group.{name.replace('consumer.', f'consumer.{bound}.')}"
            for bound in ("min", "max")
        )
        if int(value) < int(brokers[least] or 0):
            raise InvalidValue(f"{name} must be greater than or equal to {least}")
        if int(value) > int(brokers[most] or LARGEST):
            raise InvalidValue(f"{name} must be less than or equal to {most}")


def check_all(known: Mapping[str, Property], values: Mapping[str, str], what: str) -> None:
    """Check names and values of properties."""
    for name in values:
        if name not in known:
            raise InvalidValue(f"Unknown {what} config name: {name}")
    for name, value in values.items():
        known[name].check(value)


def is_list(kind: ResourceType, name: str) -> bool:
    """True if a property is a list, for APPEND and SUBTRACT."""
    tables = {
        ResourceType.TOPIC: TOPIC_PROPERTIES,
        ResourceType.BROKER: BROKER_PROPERTIES,
        ResourceType.GROUP: GROUP_PROPERTIES,
    }
    known = tables.get(kind, {}).get(name)
    return known is not None and known.kind is Kind.LIST
