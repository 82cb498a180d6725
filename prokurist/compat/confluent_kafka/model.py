"""confluent-kafka's values of administration that its package itself has."""

from enum import Enum
from typing import Any, Final
from uuid import UUID

from prokurist.compat.confluent_kafka.values import TopicPartition
from prokurist.types import Node as OurNode

_HALF: Final = 64
_TEXT: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SIXES: Final = 22
"""Characters of an id, of six bits each."""


class Ordered(Enum):
    """An enumeration whose members compare by their numbers."""

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self.value < other.value)


class ConsumerGroupState(Ordered):
    """States of a group."""

    UNKNOWN = 0
    UNKOWN = 0  # Their own slip, which programs use.
    PREPARING_REBALANCING = 1
    COMPLETING_REBALANCING = 2
    STABLE = 3
    DEAD = 4
    EMPTY = 5


class ConsumerGroupType(Ordered):
    """Protocols of a group."""

    UNKNOWN = 0
    CONSUMER = 1
    CLASSIC = 2


class IsolationLevel(Ordered):
    """Ends of a log: with open transactions, or before the first."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class ElectionType(Ordered):
    """Kinds of elections of leaders."""

    PREFERRED = 0
    UNCLEAN = 1


class Uuid:
    """An id of 128 bits.

    Args:
        most_significant_bits: Its first half, with a sign.
        least_significant_bits: Its second half, with a sign.
    """

    __slots__ = ("_number",)

    def __init__(self, most_significant_bits: int, least_significant_bits: int) -> None:
        low = least_significant_bits % (1 << _HALF)
        self._number = most_significant_bits % (1 << _HALF) << _HALF | low

    @classmethod
    def of(cls, number: UUID | None) -> "Uuid":
        """An id of ours; zero where there is none."""
        bits = 0 if number is None else number.int
        return cls(bits >> _HALF, bits)

    def get_most_significant_bits(self) -> int:
        """Return its first half."""
        return _signed(self._number >> _HALF)

    def get_least_significant_bits(self) -> int:
        """Return its second half."""
        return _signed(self._number)

    def __eq__(self, other: object) -> bool:
        return self._number == other._number if isinstance(other, Uuid) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._number)

    def __str__(self) -> str:
        bits = self._number << 6 * _SIXES - 2 * _HALF
        return "".join(_TEXT[bits >> 6 * place & 63] for place in reversed(range(_SIXES)))

    def __repr__(self) -> str:
        return f"Uuid({self})"


def _signed(number: int) -> int:
    low = number % (1 << _HALF)
    return low - (1 << _HALF) if low >> _HALF - 1 else low


class Node:
    """A broker.

    Args:
        id: Its id.
        host: Its host.
        port: Its port.
        rack: Its rack.
    """

    def __init__(self, id: int, host: str, port: int, rack: str | None = None) -> None:  # noqa: A002 - its name there
        self.id = id
        self.id_string: str = str(id)
        self.host = host
        self.port = port
        self.rack = rack

    @classmethod
    def of(cls, node: OurNode) -> "Node":
        """A broker of ours."""
        return cls(node.id, node.host, node.port, node.rack)

    def __str__(self) -> str:
        rack = f"(Rack - {self.rack})" if self.rack else ""
        return f"({self.id}) {self.host}:{self.port} {rack}"

    def __repr__(self) -> str:
        return f"Node({self.id}, {self.host}:{self.port})"


class ConsumerGroupTopicPartitions:
    """A group, and partitions with offsets.

    Args:
        group_id: The group.
        topic_partitions: The partitions; None for all with a committed offset.
    """

    def __init__(
        self, group_id: str, topic_partitions: list[TopicPartition] | None = None
    ) -> None:
        self.group_id = group_id
        self.topic_partitions = topic_partitions

    def __repr__(self) -> str:
        return f"ConsumerGroupTopicPartitions({self.group_id!r}, {self.topic_partitions})"


class TopicCollection:
    """Topics by name.

    Args:
        topic_names: Their names.
    """

    def __init__(self, topic_names: list[str]) -> None:
        self.topic_names = topic_names

    def __repr__(self) -> str:
        return f"TopicCollection({self.topic_names})"


class TopicPartitionInfo:
    """A partition of a topic, with its brokers.

    Args:
        id: Its number.
        leader: Its leader; None where there is none.
        replicas: The brokers that hold it.
        isr: Those of them that are in sync.
    """

    def __init__(
        self,
        id: int,  # noqa: A002 - its name there
        leader: Node | None,
        replicas: list[Node],
        isr: list[Node],
    ) -> None:
        self.id = id
        self.leader = leader
        self.replicas = replicas
        self.isr = isr

    def __repr__(self) -> str:
        return f"TopicPartitionInfo({self.id}, leader={self.leader!r})"


def read_enum(kind: type[Enum], given: Any) -> Any:
    """Read a member of an enumeration: itself, its name in any case, or its number.

    Raises:
        TypeError: It is of another type.
        ValueError: There is no such name or number.
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, str):
        try:
            return kind[given.upper()]
        except KeyError:
            names = ", ".join(kind.__members__)
            raise ValueError(f"there is no {kind.__name__} {given!r}: {names}") from None
    if isinstance(given, int):
        return kind(given)
    raise TypeError(f"a {kind.__name__} is expected, not {given!r}")
