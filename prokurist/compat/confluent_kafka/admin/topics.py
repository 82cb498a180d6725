"""Topics to create, and as they are described."""

from collections.abc import Iterable
from functools import total_ordering
from typing import Any, Final

from prokurist.admin import NewPartitions as OurPartitions
from prokurist.admin import NewTopic as OurTopic
from prokurist.admin import TopicDescription as OurDescription
from prokurist.compat.confluent_kafka.admin.acls import AclOperation, operations_of
from prokurist.compat.confluent_kafka.model import Node, TopicPartitionInfo, Uuid

_DEFAULT: Final = -1
"""The brokers' default, in place of a number."""
_MOST: Final = 100_000


@total_ordering
class _New:
    """Partitions with their brokers; equal and ordered by all fields but the configuration."""

    __slots__ = ("_replica_assignment", "_topic")

    def __init__(self, topic: str, replica_assignment: list[list[int]] | None) -> None:
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        self._topic = topic
        self._replica_assignment = replica_assignment

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self._topic

    @property
    def replica_assignment(self) -> list[list[int]] | None:
        """The brokers of each partition; None to leave them to the controller."""
        return self._replica_assignment

    def _place(self) -> tuple[Any, ...]:
        """The fields by which it is compared."""
        return (self._topic,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _New):
            return NotImplemented
        return type(self) is type(other) and self._place() == other._place()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _New) or type(self) is not type(other):
            return NotImplemented
        return self._place() < other._place()

    def __hash__(self) -> int:
        return hash(self._place())


class NewTopic(_New):
    """A topic to create.

    Args:
        topic: Its name.
        num_partitions: How many partitions; −1 for the brokers' default.
        replication_factor: Copies of each; −1 for the brokers' default.
        replica_assignment: The brokers of each partition, in place of the factor.
        config: Configuration keys and their values.

    Raises:
        TypeError: An argument is of a wrong type.
    """

    __slots__ = ("_config", "_num_partitions", "_replication_factor")

    def __init__(
        self,
        topic: str,
        num_partitions: int = _DEFAULT,
        replication_factor: int = _DEFAULT,
        replica_assignment: list[list[int]] | None = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(topic, replica_assignment)
        if config is not None:
            require_dict("config", config)
        self._num_partitions = num_partitions
        self._replication_factor = replication_factor
        self._config = config

    @property
    def num_partitions(self) -> int:
        """The number of partitions; −1 for the brokers' default."""
        return self._num_partitions

    @property
    def replication_factor(self) -> int:
        """Copies of each partition; −1 for the brokers' default."""
        return self._replication_factor

    @property
    def config(self) -> dict[str, Any] | None:
        """Configuration keys and their values."""
        return self._config

    def _place(self) -> tuple[Any, ...]:
        return (self.topic, self.num_partitions, self.replication_factor)

    def ours(self) -> OurTopic:
        """The same as a value of ours.

        Raises:
            ValueError: It contradicts itself, or a number is out of range.
        """
        configs = {
            key: None if value is None else str(value)
            for key, value in (self.config or {}).items()
        }
        if self.replica_assignment:
            if self.replication_factor != _DEFAULT:
                raise ValueError(
                    f"{self}: replication_factor and replica_assignment exclude each other"
                )
            if self.num_partitions != len(self.replica_assignment):
                raise ValueError(
                    f"{self}: replica_assignment is a list of brokers for each of the "
                    f"{self.num_partitions} partitions"
                )
            return OurTopic(configs=configs, replicas=dict(enumerate(self.replica_assignment)))
        if self.num_partitions != _DEFAULT and not 0 < self.num_partitions <= _MOST:
            raise ValueError(f"{self}: num_partitions is from 1 to {_MOST}, or -1")
        return OurTopic(
            None if self.num_partitions == _DEFAULT else self.num_partitions,
            None if self.replication_factor == _DEFAULT else self.replication_factor,
            configs,
        )

    def __repr__(self) -> str:
        return f"NewTopic(topic={self.topic},num_partitions={self.num_partitions})"


class NewPartitions(_New):
    """The partitions that a topic is to have.

    Args:
        topic: Its name.
        new_total_count: How many, those that there are included.
        replica_assignment: The brokers of each new partition.

    Raises:
        TypeError: An argument is of a wrong type.
    """

    __slots__ = ("_new_total_count",)

    def __init__(
        self,
        topic: str,
        new_total_count: int,
        replica_assignment: list[list[int]] | None = None,
    ) -> None:
        super().__init__(topic, replica_assignment)
        self._new_total_count = new_total_count

    @property
    def new_total_count(self) -> int:
        """The number of partitions, those that there are included."""
        return self._new_total_count

    def _place(self) -> tuple[Any, ...]:
        return (self.topic, self.new_total_count)

    def ours(self) -> OurPartitions:
        """The same as a value of ours.

        Raises:
            ValueError: The number is out of range.
        """
        total, given = self.new_total_count, self.replica_assignment or []
        if not 0 < total <= _MOST:
            raise ValueError(f"{self}: new_total_count is from 1 to {_MOST}")
        return OurPartitions(total, dict(enumerate(given, total - len(given))))

    def __repr__(self) -> str:
        return f"NewPartitions(topic={self.topic},new_total_count={self.new_total_count})"


def require_dict(name: str, given: Any) -> None:
    """Check a dict.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(given, dict):
        raise TypeError(f"{name} is a dict of strings, not {given!r}")


class TopicDescription:
    """A topic, with its partitions and their brokers.

    Args:
        name: Its name.
        topic_id: Its id.
        is_internal: True for one of Kafka's internal topics.
        partitions: Its partitions.
        authorized_operations: Operations that this user is authorized to; None unless
            requested.
    """

    def __init__(
        self,
        name: str,
        topic_id: Uuid,
        is_internal: bool,
        partitions: list[TopicPartitionInfo],
        authorized_operations: Iterable[AclOperation | str | int] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.authorized_operations: list[AclOperation] | None = operations_of(
            authorized_operations
        )

    @classmethod
    def of(cls, found: OurDescription) -> "TopicDescription":
        """A description of ours."""
        partitions = [
            TopicPartitionInfo(
                each.partition,
                None if each.leader is None else Node.of(each.leader),
                [Node.of(node) for node in each.replicas],
                [Node.of(node) for node in each.in_sync_replicas],
            )
            for each in found.partitions
        ]
        return cls(
            found.name,
            Uuid.of(found.topic_id),
            found.internal,
            partitions,
            found.operations and sorted(found.operations),
        )

    def __repr__(self) -> str:
        return f"TopicDescription({self.name}, {len(self.partitions)} partitions)"
