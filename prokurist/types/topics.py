"""Topics as an administrator asks for them, and as the cluster describes them.

Thread: any; frozen values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import PartitionInfo, require_int
from prokurist.types.configs import ConfigEntry
from prokurist.types.operations import AclOperation

NO_CONFIGS: Final[Mapping[str, str | None]] = MappingProxyType({})
NO_REPLICAS: Final[Mapping[int, Sequence[int]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create.

    Attributes:
        partitions: The number of partitions; None for the brokers' `num.partitions`.
        replication_factor: Copies of each partition; None for the brokers'
            `default.replication.factor`.
        configs: Configuration keys and their values.
        replicas: The brokers of each partition, the preferred leader first, instead of the two
            numbers.

    Raises:
        ValueError: A number is below 1, or replicas are given beside a number, or not for the
            partitions from 0 on without a gap.
        TypeError: A value is of another type.
    """

    partitions: int | None = None
    replication_factor: int | None = None
    configs: Mapping[str, str | None] = field(default_factory=dict)
    replicas: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_positive("partitions", self.partitions, 31)
        require_positive("replication_factor", self.replication_factor, 15)
        require_texts("configs", self.configs)
        require_replicas("replicas", self.replicas)
        if not self.replicas:
            return
        if self.partitions is not None or self.replication_factor is not None:
            raise ValueError(
                "replicas say how many partitions and copies there are: leave out partitions "
                "and replication_factor"
            )
        if sorted(self.replicas) != list(range(len(self.replicas))):
            raise ValueError(
                f"replicas are given for partitions 0 to {len(self.replicas) - 1} without a "
                f"gap, not for {sorted(self.replicas)}"
            )


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A topic that was created, or could be with `validate_only`.

    Attributes:
        topic_id: Its id; None from brokers before 2.8.
        partitions: The number of partitions; None where the broker does not tell.
        replication_factor: Copies of each partition; None where the broker does not tell.
        configs: Its configuration; None where this user may not see it.
        earlier_attempt: True if an attempt whose answer was lost has created it. The topic was
            compared with the request.
        visible: With `wait=True`, whether all live brokers know it, with leaders; else None.
    """

    topic_id: UUID | None = None
    partitions: int | None = None
    replication_factor: int | None = None
    configs: Mapping[str, ConfigEntry] | None = None
    earlier_attempt: bool = False
    visible: bool | None = None


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    """A topic that was deleted.

    Attributes:
        topic_id: Its id, where it was deleted by its id.
        earlier_attempt: True if an attempt whose answer was lost has deleted it.
        visible: With `wait=True`, whether all live brokers know that it is gone; else None.
    """

    topic_id: UUID | None = None
    earlier_attempt: bool = False
    visible: bool | None = None


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """The partitions that a topic is to have.

    Attributes:
        total: Their number, those that there are included.
        replicas: The brokers of each new partition, by its number; empty to leave it to the
            controller.

    Raises:
        ValueError: A number is below 1, or replicas are not those of the last partitions.
        TypeError: A value is of another type.
    """

    total: int
    replicas: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.total is None:
            raise TypeError("total is an int, not None")
        require_positive("total", self.total, 31)
        require_replicas("replicas", self.replicas)
        first = self.total - len(self.replicas)
        if sorted(self.replicas) != list(range(first, self.total)) or first < 0:
            raise ValueError(
                f"replicas are given for the last partitions, {max(first, 0)} to "
                f"{self.total - 1}, not for {sorted(self.replicas)}"
            )


@dataclass(frozen=True, slots=True)
class CreatedPartitions:
    """A topic that was given partitions.

    Attributes:
        total: The number of partitions that it has.
        earlier_attempt: True if an attempt whose answer was lost has created them.
        visible: With `wait=True`, whether all live brokers know them, with leaders; else None.
    """

    total: int
    earlier_attempt: bool = False
    visible: bool | None = None


@dataclass(frozen=True, slots=True)
class TopicListing:
    """One topic of a list.

    Attributes:
        name: Its name.
        topic_id: Its id; None from brokers before 2.8.
        internal: True for one of Kafka's internal topics.
        partitions: The number of its partitions.
    """

    name: str
    topic_id: UUID | None
    internal: bool
    partitions: int


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic, with its partitions.

    Attributes:
        name: Its name.
        topic_id: Its id; None from brokers before 2.8.
        internal: True for one of Kafka's internal topics.
        partitions: Its partitions, by number.
        operations: Operations that this user is authorized to; None unless requested.
    """

    name: str
    topic_id: UUID | None
    internal: bool
    partitions: tuple[PartitionInfo, ...]
    operations: frozenset[AclOperation] | None = None

    @property
    def leaderless(self) -> tuple[int, ...]:
        """The partitions without a leader."""
        return tuple(each.partition for each in self.partitions if each.leader is None)

    @property
    def under_replicated(self) -> tuple[int, ...]:
        """The partitions with fewer replicas in sync than replicas."""
        return tuple(
            each.partition
            for each in self.partitions
            if len(each.in_sync_replicas) < len(each.replicas)
        )


def require_positive(name: str, value: object, bits: int) -> None:
    """Check a number that is at least 1; None is the brokers' default.

    Raises:
        TypeError: It is no int.
        ValueError: It is below 1, or too large.
    """
    if value is None:
        return
    require_int(name, value, bits)
    if value == 0:
        raise ValueError(f"{name} is at least 1, or left out for the brokers' default: 0")


def require_texts(name: str, values: object) -> None:
    """Check a mapping of texts to texts or None.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} map keys to values, such as {{'retention.ms': '1000'}}")
    for key, value in values.items():
        if not isinstance(key, str):
            raise TypeError(f"a key of {name} is a str, not {key!r}")
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{key} in {name} is a str, not {value!r}: write '{value}'")


def require_replicas(name: str, replicas: object) -> None:
    """Check a mapping of partitions to their brokers.

    Raises:
        TypeError: It is none.
        ValueError: A partition has no broker, or one twice.
    """
    if not isinstance(replicas, Mapping):
        raise TypeError(f"{name} map partitions to broker ids, such as {{0: [1, 2]}}")
    for partition, brokers in replicas.items():
        require_int(f"a partition of {name}", partition, 31)
        if isinstance(brokers, str) or not isinstance(brokers, Sequence):
            raise TypeError(f"{name}[{partition}] are broker ids, such as [1, 2]: {brokers!r}")
        for each in brokers:
            require_int(f"a broker of {name}[{partition}]", each, 31)
        if not brokers or len(set(brokers)) < len(brokers):
            raise ValueError(
                f"{name}[{partition}] names each broker once, and one at least: {brokers!r}"
            )
