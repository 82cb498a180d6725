"""Groups as an administrator sees them: their kinds, states, members, offsets.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import Node, OffsetAndMetadata, TopicPartition
from prokurist.types.operations import AclOperation


class GroupKind(StrEnum):
    """The protocol of a group (KIP-1043)."""

    CLASSIC = "classic"
    """JoinGroup and SyncGroup; also Kafka Connect's."""
    CONSUMER = "consumer"
    """The consumer protocol of KIP-848."""
    SHARE = "share"
    STREAMS = "streams"


class GroupState(StrEnum):
    """A state of a group; the names are the protocol's."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"
    PREPARING_REBALANCE = "PreparingRebalance"
    """Classic groups."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """Classic groups."""
    ASSIGNING = "Assigning"
    """Groups of the consumer and the streams protocol."""
    RECONCILING = "Reconciling"
    """Groups of the consumer and the streams protocol."""
    NOT_READY = "NotReady"
    """Groups of the streams protocol."""


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group in a list.

    Attributes:
        group_id: Its name.
        kind: A `GroupKind`, or the word of a newer broker; None from brokers before 3.8.
        state: A `GroupState`, or the word of a newer broker; None from brokers before 2.6.
        protocol_type: `consumer` for consumers, `connect` for Kafka Connect; empty where a
            classic group has had no members.
        coordinator: The id of the broker that coordinates it.
    """

    group_id: str
    kind: str | None
    state: str | None
    protocol_type: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class StreamsTask:
    """Tasks of one subtopology.

    Attributes:
        subtopology_id: The subtopology.
        partitions: The partitions, each a task.
    """

    subtopology_id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StreamsTasks:
    """Tasks of a member of a streams group.

    Attributes:
        active: Tasks that it processes.
        standby: Tasks whose state it copies.
        warmup: Tasks whose state it copies to process them later.
    """

    active: tuple[StreamsTask, ...] = ()
    standby: tuple[StreamsTask, ...] = ()
    warmup: tuple[StreamsTask, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsProcess:
    """The process of a member of a streams group.

    Attributes:
        process_id: Its id.
        topology_epoch: The epoch of the topology that it runs.
        tags: Its client tags, for standby tasks on other racks.
        endpoint: Host and port for interactive queries; None if it has none.
        tasks: Its tasks.
        target: Its tasks by the target assignment.
    """

    process_id: str
    topology_epoch: int
    tags: Mapping[str, str]
    endpoint: tuple[str, int] | None
    tasks: StreamsTasks
    target: StreamsTasks


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a topology that is processed by tasks of its own.

    Attributes:
        subtopology_id: Its id.
        source_topics: The topics that it reads.
        repartition_sinks: The repartition topics that it writes.
        repartition_sources: The repartition topics that it reads.
        changelogs: The topics of its state stores.
    """

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sinks: tuple[str, ...]
    repartition_sources: tuple[str, ...]
    changelogs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """The topology of a streams group.

    Attributes:
        epoch: Its epoch.
        subtopologies: Its parts; None where the members have sent none.
    """

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group.

    Attributes:
        member_id: Its id.
        client_id: Its `client.id`.
        host: The address that it connects from.
        instance_id: Its `group.instance.id`; None for a dynamic member.
        rack: Its `client.rack`, where it is known.
        epoch: Its epoch; None in classic groups.
        topics: The topics that it subscribes to by name.
        topic_regex: The pattern that the coordinator matches for it; None if it has none.
        assignment: Its partitions; in a share group those that it shares with others.
        target: Its partitions by the target assignment; None where there is none.
        is_classic: True for a classic member, also in a group of the consumer protocol.
        metadata: The bytes of a classic member's subscription, as it has sent them.
        assignment_data: The bytes of a classic member's assignment. Kafka Connect's are in its
            own encoding, and `assignment` is empty.
        process: The process of a member of a streams group; None in others.
    """

    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    rack: str | None = None
    epoch: int | None = None
    topics: frozenset[str] = frozenset()
    topic_regex: str | None = None
    assignment: frozenset[TopicPartition] = frozenset()
    target: frozenset[TopicPartition] | None = None
    is_classic: bool = False
    metadata: bytes = b""
    assignment_data: bytes = b""
    process: StreamsProcess | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group, its state and its members.

    Attributes:
        group_id: Its name.
        kind: Its protocol.
        state: A `GroupState`, or the word of a newer broker.
        members: Its members.
        coordinator: The broker that coordinates it.
        protocol_type: `consumer` for consumers, `connect` for Kafka Connect; empty where a
            classic group has had no members.
        assignor: The assignor in use; empty while there is none.
        epoch: The group's epoch; None in classic groups.
        target_epoch: The epoch of the target assignment; None in classic groups.
        operations: The operations that this user is authorized to, if they were asked for.
        topology: The topology of a streams group; None in others.
    """

    group_id: str
    kind: GroupKind
    state: str
    members: tuple[GroupMember, ...]
    coordinator: Node | None = None
    protocol_type: str = ""
    assignor: str = ""
    epoch: int | None = None
    target_epoch: int | None = None
    operations: frozenset[AclOperation] | None = None
    topology: Topology | None = None


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """The place of a share group in a partition.

    Attributes:
        start: The first offset that is not yet acknowledged or given up.
        leader_epoch: The leader epoch, where it is known.
        lag: Records that are still to be shared; None from brokers before 4.2.
    """

    start: int
    leader_epoch: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class DeletedGroup:
    """A group that is deleted, with its committed offsets.

    Attributes:
        earlier_attempt: True if an attempt whose answer was lost has deleted it.
    """

    earlier_attempt: bool = False


@dataclass(frozen=True, slots=True)
class MemberToRemove:
    """A member that is to be removed, by its id or by its static name.

    Attributes:
        member_id: Its member id; empty to name a static member by its instance id.
        instance_id: Its `group.instance.id`.
    """

    member_id: str = ""
    instance_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.member_id, str):
            raise TypeError(f"member_id is a str, not {self.member_id!r}")
        if not isinstance(self.instance_id, str | None):
            raise TypeError(f"instance_id is a str, not {self.instance_id!r}")
        if not self.member_id and not self.instance_id:
            raise ValueError(
                "a member is named by its id or by its instance id, such as "
                'MemberToRemove(instance_id="billing-1")'
            )

    def __str__(self) -> str:
        return f"member {self.member_id or self.instance_id}"


@dataclass(frozen=True, slots=True)
class RemovedMember:
    """A member that was removed; one that is alive joins the group again.

    Attributes:
        earlier_attempt: True if an attempt whose answer was lost has removed it.
    """

    earlier_attempt: bool = False


class Everyone(Enum):
    """All members, where members could be named."""

    ALL = "all members"


ALL: Final = Everyone.ALL


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The lag of a group in one partition.

    Attributes:
        member_id: The member that the partition is assigned to; None if there is none, and in
            a share group.
        committed: The committed offset; None if there is none.
        start: The start of the log.
        end: The end of the log; its last stable offset with `read_committed=True`.
        newest_at: The greatest timestamp in the log, in epoch seconds; None if it was not asked
            for, and of an empty log.
    """

    member_id: str | None
    committed: OffsetAndMetadata | None
    start: int
    end: int
    newest_at: float | None = None

    @property
    def lag(self) -> int:
        """Offsets from the committed one to the end; from the start where none is committed."""
        begun = self.start if self.committed is None else max(self.committed.offset, self.start)
        return max(0, self.end - begun)
