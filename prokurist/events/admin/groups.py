"""Work on groups.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import OffsetAndMetadata, TopicPartition
from prokurist.types.groups import MemberToRemove

NONE: Final[Mapping[int, None]] = MappingProxyType({})
"""No brokers by id: all that there are."""


@dataclass(frozen=True, slots=True)
class GroupsToList:
    """List the groups of all brokers.

    Attributes:
        kinds: The kinds of groups; empty for all.
        states: Their states; empty for all.
        protocol_types: Their types of protocol; empty for all.
    """

    kinds: frozenset[str]
    states: frozenset[str]
    protocol_types: frozenset[str]
    items: Mapping[int, None] = field(default_factory=lambda: NONE)


@dataclass(frozen=True, slots=True)
class GroupsToDescribe:
    """Describe groups, by name.

    Attributes:
        items: The groups.
        operations: True to ask for the authorized operations.
    """

    items: Mapping[str, None]
    operations: bool = False


@dataclass(frozen=True, slots=True)
class GroupOffsetsToFetch:
    """Look up committed offsets of groups.

    Attributes:
        items: The partitions of each group; None for all that have committed offsets.
        stable: True to wait for transactions that commit offsets.
    """

    items: Mapping[str, tuple[TopicPartition, ...] | None]
    stable: bool = False


@dataclass(frozen=True, slots=True)
class GroupOffsetsToAlter:
    """Commit offsets of a group without members.

    Attributes:
        group: The group.
        items: The offsets.
    """

    group: str
    items: Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class GroupOffsetsToDelete:
    """Delete committed offsets of a group.

    Attributes:
        group: The group.
        items: The partitions.
    """

    group: str
    items: Mapping[TopicPartition, None]


@dataclass(frozen=True, slots=True)
class GroupsToDelete:
    """Delete groups, by name."""

    items: Mapping[str, None]


@dataclass(frozen=True, slots=True)
class MembersToRemove:
    """Remove members from a group.

    Attributes:
        group: The group.
        items: The members.
        reason: The reason, for the broker's log.
    """

    group: str
    items: Mapping[MemberToRemove, None]
    reason: str
