"""The nouns of Kafka: small frozen values without behaviour.

Thread: any; nothing here changes once it is made. Each value is cheap to make,
to hash and to send across a process boundary, and its repr can be pasted back.
The record and its containers live in `prokurist.records`.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from typing import NamedTuple
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass

__all__ = [
    "Acknowledge",
    "ConsumerGroupMetadata",
    "GroupMembershipOperation",
    "LogEvent",
    "MembershipState",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionInfo",
    "PartitionProgress",
    "SubscriptionPattern",
    "TimestampType",
    "TopicPartition",
]


class TopicPartition(NamedTuple):
    """One partition of one topic.

    A named tuple and no dataclass: it is the key of every table in the client,
    and a tuple hashes and compares without running a line of Python.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """A position to commit, or one that was committed.

    Attributes:
        offset: The next offset to read: one past the last record that is done.
        metadata: A note of yours that the group keeps beside the offset.
        leader_epoch: The leader epoch of the last record read, where it is
            known; it lets the client notice a log that was cut back.

    Raises:
        ValueError: The offset is negative or has more than 63 bits, or the leader epoch is
            negative or has more than 31.
        TypeError: The offset or the leader epoch is no int, or the metadata no str.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None

    def __post_init__(self) -> None:
        require_int("offset", self.offset)
        if not isinstance(self.metadata, str):
            raise TypeError(f"metadata is a str, not {self.metadata!r}")
        if self.leader_epoch is not None:
            require_int("leader_epoch", self.leader_epoch, 31)


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """The first record at or after a moment.

    Attributes:
        offset: Its offset.
        timestamp: Its timestamp, in milliseconds since the epoch.
        leader_epoch: The leader epoch it was written in, where it is known.

    Raises:
        ValueError: The offset, timestamp or leader epoch is negative.
        TypeError: One of them is no int.
    """

    offset: int
    timestamp: int
    leader_epoch: int | None = None

    def __post_init__(self) -> None:
        require_int("offset", self.offset)
        require_int("timestamp", self.timestamp)
        if self.leader_epoch is not None:
            require_int("leader_epoch", self.leader_epoch, 31)


@dataclass(frozen=True, slots=True)
class Node:
    """A broker, as the cluster's metadata names it.

    Attributes:
        id: Its node id; negative for a bootstrap address not yet identified.
        host: The host it advertises.
        port: The port it advertises.
        rack: Its rack, where it has one.
    """

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        name = f"broker {self.id}" if self.id >= 0 else "bootstrap broker"
        return f"{name} ({host}:{self.port})"


class PartitionProgress(NamedTuple):
    """Progress of a consumer in one of its partitions.

    Attributes:
        returned: One past the last record that was returned, the one in hand of an iteration
            included; None where nothing was since reading began there, or went on elsewhere.
        stored: The offset that `store_offsets` has marked; None for none.
        committed: The offset that this consumer last committed, or found committed; None where
            it knows of none, and after a seek.
        end_met: The end of the log: all before it was returned, and a broker that was asked
            from there had nothing more. None before.
    """

    returned: OffsetAndMetadata | None
    stored: OffsetAndMetadata | None
    committed: int | None
    end_met: int | None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """Metadata of a partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        leader: The broker that leads it; None while there is none.
        replicas: All brokers that keep a copy, the preferred leader first.
        in_sync_replicas: Those that are caught up.
        offline_replicas: Those that are down.
        leader_epoch: How often the leader has changed, where it is known. A log that was cut
            back has a greater one than before.
        topic_id: The id of the topic, where brokers tell it (2.8 and newer). A topic that is
            deleted and created again has another.
    """

    topic: str
    partition: int
    leader: Node | None
    replicas: tuple[Node, ...] = ()
    in_sync_replicas: tuple[Node, ...] = ()
    offline_replicas: tuple[Node, ...] = ()
    leader_epoch: int | None = None
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """A member's place in its group, as a transactional producer needs it.

    Attributes:
        group_id: The group.
        generation_id: The classic generation or the KIP-848 member epoch; −1
            while the member is in none.
        member_id: The member's id; empty while it has none.
        group_instance_id: The static member's name, where there is one.
    """

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionPattern:
    """A regular expression that the broker resolves (KIP-848, RE2 syntax).

    For a pattern that the client resolves, subscribe to a `re.Pattern`.

    Raises:
        ValueError: The pattern is empty.
        TypeError: It is no str.
    """

    pattern: str

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise TypeError(f"a SubscriptionPattern takes a str, not {self.pattern!r}")
        if not self.pattern:
            raise ValueError("a SubscriptionPattern matches something: it is empty")


class TimestampType(Enum):
    """Sources of a record's timestamp."""

    NO_TIMESTAMP_TYPE = -1
    """The record has no timestamp, as in magic 0, the oldest format."""
    CREATE_TIME = 0
    """The producer."""
    LOG_APPEND_TIME = 1
    """The broker, when it appended the batch."""


class Acknowledge(IntEnum):
    """Decisions on a record of a share group, with Kafka's numbers."""

    ACCEPT = 1
    """It was processed."""
    RELEASE = 2
    """It was not, and may be delivered again."""
    REJECT = 3
    """It cannot be processed, and is not delivered again."""
    RENEW = 4
    """It is being processed, and its lock begins again."""


class GroupMembershipOperation(Enum):
    """Treatment of the membership by `close` (KIP-1092)."""

    DEFAULT = "default"
    """A dynamic member leaves; a static one stays until its session ends."""
    LEAVE_GROUP = "leave"
    """Leave, even as a static member, so that its partitions move at once."""
    REMAIN_IN_GROUP = "remain"
    """Send no leave, even as a dynamic member, and let the session end."""


class MembershipState(Enum):
    """States of a group's member, for either protocol; see `KafkaConsumer.health`."""

    OUT = "out"
    """In no group: nothing is subscribed to, or no poll has come since."""
    JOINING = "joining"
    """It has asked to be let in, or is about to."""
    STABLE = "stable"
    """It owns its target assignment."""
    RECONCILING = "reconciling"
    """A member during a rebalance of its group."""
    FENCED = "fenced"
    """Fenced by the coordinator. The next poll calls the listener; then the member rejoins."""
    STALE = "stale"
    """It has left, for it had not polled for too long; the next poll joins again."""
    FAILED = "failed"
    """The group will not have it: every poll raises why, until it unsubscribes."""


def named(partitions: Iterable[TopicPartition], most: int = 5) -> str:
    """Partitions as a person reads them: `orders-0, orders-1 and 3 more`."""
    ordered = sorted(partitions)
    shown = ", ".join(map(str, ordered[:most]))
    more = len(ordered) - most
    return f"{shown} and {more} more" if more > 0 else shown


def counted(number: int, noun: str) -> str:
    """A number and its noun: `1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def require_int(name: str, value: object, bits: int = 63) -> None:
    """Check a number that Kafka keeps as a non-negative integer.

    Args:
        name: Its name.
        value: The number.
        bits: How many the protocol has for it, beside its sign.

    Raises:
        TypeError: It is no int (a bool is none either).
        ValueError: It is negative, or has more bits.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, not {value!r}")
    if value < 0:
        raise ValueError(f"{name} is not negative: {value}")
    if value.bit_length() > bits:
        raise ValueError(f"{name} has {bits} bits, at most {2**bits - 1}: {value}")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """Event for `on_event`; docs/logging.md lists all kinds.

    Attributes:
        name: Its name there: `broker_unreachable`, for example.
        level: Its level, a number of Python's logging; 0 for statistics, which are not logged.
        text: The sentence of the log.
        values: The keys that are listed there, and their values: an `error` is the exception,
            a partition a `TopicPartition`.
        age: Seconds since it happened: a poll may come late.
        client_id: The client's id.
        group: Its group, if it has one.
    """

    name: str
    level: int
    text: str
    values: Mapping[str, object]
    age: float = 0.0
    client_id: str = ""
    group: str | None = None

    def __str__(self) -> str:
        return self.text
