"""kafka-python's values of administration: enumerations, resources, and what is to be made."""

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Any, Final, NamedTuple, Self, cast


class Readable:
    """Mixin of enumerations that read their members from values and names."""

    @classmethod
    def build_from(cls, val: Any) -> Self:
        """Read a member: itself, its value, or its name in any case.

        Raises:
            ValueError: There is no such member.
        """
        members: dict[str, Any] = {each.name: each for each in cast("Iterable[Any]", cls)}
        for each in members.values():
            if val is each or val == each.value:
                return cast("Self", each)
        try:
            return cast("Self", members[str(val).strip().upper().replace("-", "_")])
        except KeyError:
            raise ValueError(f"no {cls.__name__} is {val!r}: {', '.join(members)}") from None

    @classmethod
    def value_for(cls, val: Any) -> Any:
        """The value of a member; see `build_from`."""
        return cast("Any", cls.build_from(val)).value


class AlterConfigOp(Readable, IntEnum):
    """Changes of one key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigFilterType(Readable, IntEnum):
    """Selections of the keys of a configuration."""

    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4


class ConfigResourceType(Readable, IntEnum):
    """Kinds of resources with a configuration."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigType(Readable, IntEnum):
    """Types of values."""

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


class ConfigSourceType(Readable, IntEnum):
    """Origins of a value."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

    def is_modified(self) -> bool:
        """Return True if the resource itself has the key."""
        return self.value not in {3, 4, 5}


class UpdateFeatureType(Readable, IntEnum):
    """Kinds of updates of a feature."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class OffsetSpec(Readable, IntEnum):
    """Offsets by name."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


class OffsetTimestamp(int):
    """The first record at or after a time, in epoch milliseconds."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


class IsolationLevel(Readable, IntEnum):
    """Ends of a log: with open transactions, or before the first."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class ElectionType(Readable, IntEnum):
    """Kinds of elections of leaders."""

    PREFERRED = 0
    UNCLEAN = 1


class GroupState(Readable, StrEnum):
    """States of a group."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"


class GroupType(Readable, StrEnum):
    """Protocols of a group."""

    UNKNOWN = "Unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class TopicPartitionReplica(NamedTuple):
    """A replica of a partition at one broker."""

    topic: str
    partition: int
    broker_id: int


class ConfigResource:
    """A resource with a configuration.

    Args:
        resource_type: Its kind, or the kind's name.
        name: Its name.
        configs: Keys to describe; or changes by key: a value, or a pair of an operation and a
            value.

    Raises:
        ValueError: There is no such kind.
    """

    def __init__(
        self,
        resource_type: ConfigResourceType | str,
        name: str,
        configs: Iterable[str] | Mapping[str, Any] | None = None,
    ) -> None:
        self.resource_type: ConfigResourceType = ConfigResourceType.build_from(resource_type)
        self.name = name
        self.configs = configs

    def __repr__(self) -> str:
        return f"ConfigResource({self.resource_type.name}, {self.name}, {self.configs})"


class NewTopic:
    """A topic to create.

    Args:
        name: Its name.
        num_partitions: How many partitions; −1 for the brokers' default.
        replication_factor: Copies of each; −1 for the brokers' default.
        replica_assignments: The brokers of each partition, in place of the numbers.
        topic_configs: Configuration keys and their values.
    """

    def __init__(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignments: Mapping[int, list[int]] | None = None,
        topic_configs: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments: dict[int, list[int]] = dict(replica_assignments or {})
        self.topic_configs: dict[str, Any] = dict(topic_configs or {})

    def __repr__(self) -> str:
        return f"NewTopic({self.name!r}, {self.num_partitions}, {self.replication_factor})"


class NewPartitions:
    """The partitions that a topic is to have.

    Args:
        total_count: How many, those that there are included.
        new_assignments: The brokers of each new partition.
    """

    def __init__(
        self, total_count: int, new_assignments: list[list[int]] | None = None
    ) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments

    def __repr__(self) -> str:
        return f"NewPartitions({self.total_count}, {self.new_assignments})"


class MemberToRemove:
    """A member to remove from its group.

    Args:
        member_id: Its id.
        group_instance_id: Its name as a static member.
        reason: Why, for the broker's log.
    """

    __slots__ = ("group_instance_id", "member_id", "reason")

    def __init__(
        self,
        member_id: str | None = None,
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id: str | None = member_id
        self.group_instance_id: str | None = group_instance_id
        self.reason: str | None = reason

    def _place(self) -> tuple[str | None, ...]:
        return self.member_id, self.group_instance_id, self.reason

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemberToRemove):
            return NotImplemented
        return self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def __repr__(self) -> str:
        return f"MemberToRemove{self._place()}"


class Answer:
    """An answer of a broker: its fields as attributes, or as a dict.

    Args:
        fields: The fields.
    """

    API_VERSION: Final = 3

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this answer has no {name}, but {', '.join(vars(self))}")

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"Answer({fields})"


def _plain(value: Any) -> Any:
    if isinstance(value, Answer):
        return value.to_dict()
    return [_plain(each) for each in value] if isinstance(value, list) else value
