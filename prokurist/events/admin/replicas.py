"""Work on replicas.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field

from prokurist.events.admin.work import ONE
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition
from prokurist.types.replicas import Cancel, Replica


@dataclass(frozen=True, slots=True)
class LogDirsToDescribe:
    """Describe the log directories of brokers, by id; of all brokers if none is named."""

    items: Mapping[int, None]


@dataclass(frozen=True, slots=True)
class LogDirsToAlter:
    """Move replicas to log directories of their brokers, by path."""

    items: Mapping[Replica, str]


@dataclass(frozen=True, slots=True)
class LeadersToElect:
    """Elect leaders of partitions.

    Attributes:
        items: The partitions.
        unclean: True to elect replicas that are not in sync.
    """

    items: Mapping[TopicPartition, None]
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class AllLeadersToElect:
    """Elect the preferred leader of every partition that has another."""

    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class PartitionsToReassign:
    """Move partitions to brokers, or cancel that.

    Attributes:
        items: The brokers of each partition, the preferred leader first.
        allow_rf_change: True to allow another number of replicas.
    """

    items: Mapping[TopicPartition, tuple[int, ...] | Cancel]
    allow_rf_change: bool = False


@dataclass(frozen=True, slots=True)
class ReassignmentsToList:
    """List reassignments under way.

    Attributes:
        partitions: The partitions; None for all.
    """

    items: Mapping[str, None] = field(default_factory=lambda: ONE)
    partitions: tuple[TopicPartition, ...] | None = None
