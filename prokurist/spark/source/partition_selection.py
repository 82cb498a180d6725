"""Selection of partitions: `subscribe`, `subscribePattern` or `assign`.

Thread: any; frozen values and pure functions.
"""

import re
from collections.abc import Mapping
from typing import Final

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import check_topic, partitions_in
from prokurist.spark.source.java_patterns import java_pattern
from prokurist.types import TopicPartition

WAYS: Final = ("subscribe", "subscribePattern", "assign")
INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Kafka's own topics, which no pattern of topics means."""


@dataclass(frozen=True, slots=True)
class Topics:
    """All partitions of some topics, later ones included."""

    names: tuple[str, ...]

    def selects(self, partition: TopicPartition) -> bool:
        """Whether a partition is read if it exists."""
        return partition.topic in self.names


@dataclass(frozen=True, slots=True)
class Matching:
    """All partitions of all topics whose names match a pattern."""

    pattern: re.Pattern[str]

    def matches(self, topic: str) -> bool:
        """Whether a topic of this name is read if it exists."""
        return topic not in INTERNAL and self.pattern.search(topic) is not None

    def selects(self, partition: TopicPartition) -> bool:
        """Whether a partition is read if it exists."""
        return self.matches(partition.topic)


@dataclass(frozen=True, slots=True)
class Partitions:
    """A fixed set of partitions."""

    partitions: tuple[TopicPartition, ...]

    def selects(self, partition: TopicPartition) -> bool:
        """Whether a partition is read if it exists."""
        return partition in self.partitions


Selection = Topics | Matching | Partitions


def selection_in(options: Mapping[str, str]) -> Selection:
    """Read which partitions a reader's options select.

    Args:
        options: Names in lower case, and values.

    Raises:
        ConfigException: They say nothing of it, or more than one thing, or nonsense.
    """
    ways = [name for name in WAYS if name.lower() in options]
    if len(ways) != 1:
        given = " and ".join(ways) + " are all given" if ways else "none is given"
        raise ConfigException(
            f"one of subscribe, subscribePattern and assign says what is read; {given}"
        )
    (way,) = ways
    text = options[way.lower()].strip()
    if not text:
        raise ConfigException(f"{way} is empty: say what is to be read")
    if way == "assign":
        return Partitions(tuple(partitions_in(text, way)))
    if way == "subscribePattern":
        return Matching(java_pattern(text, way))
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ConfigException(f"subscribe={text!r} names no topic")
    for name in names:
        check_topic(name, f"subscribe={text!r}")
    return Topics(names)
