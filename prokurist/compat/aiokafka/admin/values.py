"""Arguments and answers of aiokafka's admin client."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from prokurist.compat.aiokafka.errors import IllegalArgumentError
from prokurist.lazy_dataclasses import dataclass


class ConfigResourceType(IntEnum):
    """Kinds of resources."""

    BROKER = 4
    TOPIC = 2


class ConfigResource:
    """A resource, and configuration keys of it.

    Args:
        resource_type: Its kind, or the name of that.
        name: Its name; of a broker, its id.
        configs: Keys and values; to describe, the keys count, and None is for all.
    """

    def __init__(
        self,
        resource_type: ConfigResourceType | str,
        name: str,
        configs: Mapping[str, str | None] | None = None,
    ) -> None:
        if not isinstance(resource_type, ConfigResourceType):
            resource_type = ConfigResourceType[str(resource_type).upper()]
        self.resource_type: ConfigResourceType = resource_type
        self.name = name
        self.configs = configs


class NewTopic:
    """A topic to create.

    Args:
        name: Its name.
        num_partitions: How many partitions; −1 with assignments.
        replication_factor: Copies of each; −1 with assignments.
        replica_assignments: The brokers of each partition, in place of both.
        topic_configs: Configuration keys and their values.

    Raises:
        IllegalArgumentError: Both, or none.
    """

    def __init__(
        self,
        name: str,
        num_partitions: int,
        replication_factor: int,
        replica_assignments: Mapping[int, Sequence[int]] | None = None,
        topic_configs: Mapping[str, str] | None = None,
    ) -> None:
        if (-1 in (num_partitions, replication_factor)) == (replica_assignments is None):
            raise IllegalArgumentError(
                "a topic has num_partitions and replication_factor, or replica_assignments"
            )
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments: Mapping[int, Sequence[int]] = replica_assignments or {}
        self.topic_configs: Mapping[str, str] = topic_configs or {}


class NewPartitions:
    """Partitions to add.

    Args:
        total_count: How many there are to be.
        new_assignments: The brokers of each that is added.
    """

    def __init__(
        self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments


class RecordsToDelete:
    """Records to delete.

    Args:
        before_offset: The first offset to keep.
    """

    def __init__(self, before_offset: int) -> None:
        self.before_offset = before_offset


class TopicError(NamedTuple):
    """The outcome of a topic."""

    topic: str
    error_code: int
    error_message: str | None


class TopicErrorCode(NamedTuple):
    """The outcome of a topic that was to be deleted."""

    topic: str
    error_code: int


@dataclass(frozen=True)
class TopicErrors:
    """The answer to topics or partitions to create."""

    topic_errors: list[TopicError]
    throttle_time_ms: int = 0


@dataclass(frozen=True)
class TopicErrorCodes:
    """The answer to topics to delete."""

    topic_error_codes: list[TopicErrorCode]
    throttle_time_ms: int = 0


class ConfigValue(NamedTuple):
    """A configuration key."""

    config_names: str
    config_value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    config_synonyms: list[tuple[str, str | None, int]]


class DescribedResource(NamedTuple):
    """The configuration of a resource."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    config_entries: list[ConfigValue]


class AlteredResource(NamedTuple):
    """The outcome of a resource."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


@dataclass(frozen=True)
class DescribedConfigs:
    """The answer to resources to describe."""

    resources: list[DescribedResource]
    throttle_time_ms: int = 0


@dataclass(frozen=True)
class AlteredConfigs:
    """The answer to resources to alter."""

    resources: list[AlteredResource]
    throttle_time_ms: int = 0
