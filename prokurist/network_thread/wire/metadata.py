"""Metadata and FindCoordinator: topics, leaders, coordinators, brokers.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import FIND_COORDINATOR, METADATA, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.rights import NOT_TOLD, Operations, operations
from prokurist.network_thread.wire.translation import known, node, said, the_only, throttle
from prokurist.types import Node


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The leader and the replicas of one partition, by node ids.

    Attributes:
        partition: Its number.
        error: 0, or an error code.
        leader_id: The broker that leads it; None while there is none.
        leader_epoch: How often its leader has changed; None from brokers before 2.1.
        replicas: The brokers that keep a copy, the preferred leader first.
        in_sync_replicas: Those that are caught up.
        offline_replicas: Those that are down; empty from brokers before 1.0.
    """

    partition: int
    error: int
    leader_id: int | None
    leader_epoch: int | None = None
    replicas: tuple[int, ...] = ()
    in_sync_replicas: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """The metadata of one topic.

    Attributes:
        error: 0, or why the rest is not there.
        name: Its name; None for an id that the cluster does not know.
        topic_id: Its id; None below version 10, and for a name that the cluster
            does not know.
        internal: True for one of Kafka's internal topics.
        partitions: Its partitions, in the broker's order.
        operations: This user's authorized operations, if requested; else None.
    """

    error: int
    name: str | None
    topic_id: UUID | None = None
    internal: bool = False
    partitions: tuple[PartitionMetadata, ...] = ()
    operations: Operations | None = None


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """The cluster's metadata, as one broker knows them.

    Attributes:
        error: 0, or a code for the answer as a whole (REBOOTSTRAP_REQUIRED, from version 13
            on).
        brokers: The brokers that are alive.
        cluster_id: The cluster's id; None below version 2.
        controller_id: The broker to send administrative requests to.
        topics: The topics asked for.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    brokers: tuple[Node, ...]
    cluster_id: str | None
    controller_id: int | None
    topics: tuple[TopicMetadata, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class Metadata:
    """Asks for brokers, topics and leaders.

    Topics are asked for by name, by id, or all of them; naming none asks for
    the brokers only. Nothing is ever left out: each version carries the question
    or refuses it.

    Attributes:
        names: The topics; None for all, where no ids are given.
        topic_ids: The topics by id, instead.
        allow_auto_topic_creation: True if the request may create topics.
        with_operations: True to ask for this user's authorized operations on each topic.
    """

    api: ClassVar[Api] = METADATA

    names: tuple[str, ...] | None = None
    topic_ids: tuple[UUID, ...] = ()
    allow_auto_topic_creation: bool = False
    with_operations: bool = False

    def __post_init__(self) -> None:
        if self.names is not None and self.topic_ids:
            raise ValueError("topics are asked for by name or by id, not both at once")

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.topic_ids:
            # Versions 10 and 11 have the field, and brokers ignore it there.
            yield Limit("asking by topic id", oldest=12)
        if self.names == ():
            yield Limit("asking for no topic (in version 0 it asks for all)", oldest=1)
        if self.names is not None and not self.allow_auto_topic_creation:
            yield Limit("asking without creating topics", oldest=4)
        if self.with_operations:
            yield Limit("asking what is allowed", oldest=8)

    def body(self) -> Body:
        """The fields of every version at once."""
        topics: tuple[Body, ...] | None = None
        if self.topic_ids:
            topics = tuple({"name": None, "topic_id": topic} for topic in self.topic_ids)
        elif self.names is not None:
            topics = tuple({"name": name, "topic_id": None} for name in self.names)
        return {
            "topics": topics,
            "allow_auto_topic_creation": self.allow_auto_topic_creation,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": self.with_operations,
        }

    def answer(self, body: Body) -> MetadataAnswer:
        """Read an answer of any version."""
        return MetadataAnswer(
            error=body.get("error_code", 0),
            brokers=tuple(
                node(row["node_id"], row["host"], row["port"], row.get("rack"))
                for row in body["brokers"]
            ),
            cluster_id=body.get("cluster_id"),
            controller_id=known(body.get("controller_id", -1)),
            topics=tuple(topic_metadata(row) for row in body["topics"]),
            throttle=throttle(body),
        )


def topic_metadata(row: Body) -> TopicMetadata:
    """Read one topic of a Metadata answer."""
    return TopicMetadata(
        error=row["error_code"],
        name=row["name"],
        topic_id=row.get("topic_id"),
        internal=row.get("is_internal", False),
        partitions=tuple(
            PartitionMetadata(
                partition=partition["partition_index"],
                error=partition["error_code"],
                leader_id=known(partition["leader_id"]),
                leader_epoch=known(partition.get("leader_epoch", -1)),
                replicas=partition["replica_nodes"],
                in_sync_replicas=partition["isr_nodes"],
                offline_replicas=partition.get("offline_replicas", ()),
            )
            for partition in row["partitions"]
        ),
        operations=operations(row.get("topic_authorized_operations", NOT_TOLD)),
    )


class CoordinatorOf(IntEnum):
    """The key types of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2

    @property
    def oldest(self) -> int:
        """The first version of FindCoordinator that knows it."""
        return (0, 1, 6)[self]


@dataclass(frozen=True, slots=True)
class FindCoordinatorAnswer:
    """The coordinator.

    Attributes:
        error: 0, or why it is not known.
        node: The broker; None with an error.
        message: The broker's own words about the error, where it sent some.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    node: Node | None
    message: str | None = None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """Asks for the coordinator of a group or a transactional id.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = FIND_COORDINATOR

    key: str
    kind: CoordinatorOf = CoordinatorOf.GROUP

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        yield from limits_of(self.kind)

    def body(self) -> Body:
        """The fields of every version at once: from 4 on, keys come in batches."""
        return {"key": self.key, "key_type": self.kind.value, "coordinator_keys": (self.key,)}

    def answer(self, body: Body) -> FindCoordinatorAnswer:
        """Read an answer of any version."""
        row = the_only(body["coordinators"], "coordinators") if "coordinators" in body else body
        return coordinator(row, body)


@dataclass(frozen=True, slots=True)
class FindCoordinators:
    """Asks for the coordinators of several keys in one request.

    Nothing is ever left out: before version 4 a request has one key.
    """

    api: ClassVar[Api] = FIND_COORDINATOR

    keys: tuple[str, ...]
    kind: CoordinatorOf = CoordinatorOf.GROUP

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        yield Limit("looking for several coordinators at once", oldest=4)
        yield from limits_of(self.kind)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"key": "", "key_type": self.kind.value, "coordinator_keys": self.keys}

    def answer(self, body: Body) -> dict[str, FindCoordinatorAnswer]:
        """Read an answer of any version, by key."""
        return {row["key"]: coordinator(row, body) for row in body["coordinators"]}


def limits_of(kind: CoordinatorOf) -> Iterator[Limit]:
    """The versions that know a kind of coordinator."""
    if kind.oldest:
        yield Limit(f"looking for a {kind.name.lower()}'s coordinator", oldest=kind.oldest)


def coordinator(row: Body, body: Body) -> FindCoordinatorAnswer:
    """Read one row of an answer."""
    error = row["error_code"]
    return FindCoordinatorAnswer(
        error=error,
        node=None if error else node(row["node_id"], row["host"], row["port"]),
        message=said(row.get("error_message")),
        throttle=throttle(body),
    )
