"""Work on topics.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field
from uuid import UUID

from prokurist.events.admin.work import ONE
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition
from prokurist.types.topics import NewPartitions, NewTopic


@dataclass(frozen=True, slots=True)
class TopicsToCreate:
    """Create topics, by name.

    Attributes:
        items: The topics.
        validate_only: True to check the request, and create nothing.
        wait: True to wait until all live brokers know them.
    """

    items: Mapping[str, NewTopic]
    validate_only: bool = False
    wait: bool = False


@dataclass(frozen=True, slots=True)
class TopicsToDelete:
    """Delete topics, by name or by id.

    Attributes:
        items: The topics.
        wait: True to wait until no live broker knows them.
    """

    items: Mapping[str | UUID, None]
    wait: bool = False


@dataclass(frozen=True, slots=True)
class PartitionsToCreate:
    """Add partitions to topics, by name.

    Attributes:
        items: The partitions that each topic is to have.
        validate_only: True to check the request, and create nothing.
        wait: True to wait until all live brokers know them.
    """

    items: Mapping[str, NewPartitions]
    validate_only: bool = False
    wait: bool = False


@dataclass(frozen=True, slots=True)
class TopicsToList:
    """List all topics that this user may describe.

    Attributes:
        internal: True to list Kafka's internal topics as well.
    """

    items: Mapping[str, None] = field(default_factory=lambda: ONE)
    internal: bool = False


@dataclass(frozen=True, slots=True)
class TopicsToDescribe:
    """Describe topics, by name or by id.

    Attributes:
        items: The topics.
        operations: True to ask for the authorized operations.
    """

    items: Mapping[str | UUID, None]
    operations: bool = False


@dataclass(frozen=True, slots=True)
class TopicPageToDescribe:
    """Describe some partitions of topics, from a cursor on.

    Attributes:
        names: The topics, sorted.
        page: How many partitions, at most.
        cursor: The first partition; None to begin.
    """

    names: tuple[str, ...]
    page: int
    cursor: TopicPartition | None = None
    items: Mapping[str, None] = field(default_factory=lambda: ONE)
