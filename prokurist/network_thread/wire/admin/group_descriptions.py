"""DescribeGroups, and the describing requests of the three newer protocols of groups.

Thread: any; frozen values.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from prokurist.assignors.encoding import Elements, MalformedMessage, assigned, subscriber
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.admin.cluster import acl_operations
from prokurist.network_thread.wire.apis import (
    CONSUMER_GROUP_DESCRIBE,
    DESCRIBE_GROUPS,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.types import TopicPartition
from prokurist.types.groups import (
    Group,
    GroupKind,
    GroupMember,
    GroupState,
    StreamsProcess,
    StreamsTask,
    StreamsTasks,
    Subtopology,
    Topology,
)

NOT_FOUND: Final = 69
CONSUMERS: Final = "consumer"
CLASSIC_MEMBER: Final = 0


@dataclass(frozen=True, slots=True)
class DescribeClassicGroups:
    """Asks a coordinator to describe classic groups.

    Nothing is ever left out. The state Dead, in which brokers answer for a group that is not
    there, is read as GROUP_ID_NOT_FOUND.

    Attributes:
        groups: The groups.
        operations: True to ask for this user's authorized operations.
    """

    api: ClassVar[Api] = DESCRIBE_GROUPS

    groups: tuple[str, ...]
    operations: bool = False

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "groups": self.groups,
            "include_authorized_operations": self.operations,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body, ((row["group_id"], classic_group(row)) for row in body["groups"])
        )


def classic_group(row: Body) -> ItemAnswer:
    """Read a classic group."""
    if not row["error_code"] and row["group_state"] == GroupState.DEAD:
        return ItemAnswer(NOT_FOUND)
    if row["error_code"]:
        return item_of(row)
    kind, elements = row["protocol_type"], Elements()
    return ItemAnswer(
        value=Group(
            group_id=row["group_id"],
            kind=GroupKind.CLASSIC,
            state=row["group_state"],
            members=tuple(classic_member(each, kind, elements) for each in row["members"]),
            protocol_type=kind,
            assignor=row["protocol_data"],
            operations=acl_operations(row["authorized_operations"]),
        )
    )


def classic_member(row: Body, protocol_type: str, elements: Elements) -> GroupMember:
    """Read a member of a classic group; only consumers' bytes have a known encoding."""
    topics: frozenset[str] = frozenset()
    partitions: frozenset[TopicPartition] = frozenset()
    rack = None
    if protocol_type == CONSUMERS:
        try:
            if row["member_metadata"]:
                asked = subscriber(row["member_metadata"], row["member_id"], elements=elements)
                topics, rack = frozenset(asked.topics), asked.rack
            partitions = frozenset(assigned(row["member_assignment"]))
        except MalformedMessage:
            pass  # Of another encoding; its bytes are there.
    return GroupMember(
        member_id=row["member_id"],
        client_id=row["client_id"],
        host=row["client_host"],
        instance_id=row.get("group_instance_id"),
        rack=rack,
        topics=topics,
        assignment=partitions,
        is_classic=True,
        metadata=row["member_metadata"],
        assignment_data=row["member_assignment"],
    )


@dataclass(frozen=True, slots=True)
class DescribeNewGroups:
    """Asks a coordinator to describe groups of one of the newer protocols.

    Nothing is ever left out.

    Attributes:
        groups: The groups.
        operations: True to ask for this user's authorized operations.
    """

    api: ClassVar[Api]
    kind: ClassVar[GroupKind]

    groups: tuple[str, ...]
    operations: bool = False

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_ids": self.groups,
            "include_authorized_operations": self.operations,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body,
            (
                (row["group_id"], item_of(row, None if row["error_code"] else self.group(row)))
                for row in body["groups"]
            ),
        )

    def group(self, row: Body) -> Group:
        """Read a group."""
        return Group(
            group_id=row["group_id"],
            kind=self.kind,
            state=row["group_state"],
            members=tuple(map(self.member, row["members"])),
            protocol_type=self.kind.value,
            assignor=row.get("assignor_name", ""),
            epoch=row["group_epoch"],
            target_epoch=row["assignment_epoch"],
            operations=acl_operations(row["authorized_operations"]),
            topology=topology_of(row.get("topology")),
        )

    def member(self, row: Body) -> GroupMember:
        """Read a member."""
        target = row.get("target_assignment")
        return GroupMember(
            member_id=row["member_id"],
            client_id=row["client_id"],
            host=row["client_host"],
            instance_id=row.get("instance_id"),
            rack=row["rack_id"],
            epoch=row["member_epoch"],
            topics=frozenset(row["subscribed_topic_names"]),
            topic_regex=row.get("subscribed_topic_regex") or None,
            assignment=partitions_of(row["assignment"]),
            target=None if target is None else partitions_of(target),
            is_classic=row.get("member_type") == CLASSIC_MEMBER,
        )


class DescribeConsumerGroups(DescribeNewGroups):
    """Asks a coordinator to describe groups of the consumer protocol.

    Nothing is ever left out.
    """

    __slots__ = ()
    api: ClassVar[Api] = CONSUMER_GROUP_DESCRIBE
    kind: ClassVar[GroupKind] = GroupKind.CONSUMER


class DescribeShareGroups(DescribeNewGroups):
    """Asks a coordinator to describe share groups.

    Nothing is ever left out.
    """

    __slots__ = ()
    api: ClassVar[Api] = SHARE_GROUP_DESCRIBE
    kind: ClassVar[GroupKind] = GroupKind.SHARE


class DescribeStreamsGroups(DescribeNewGroups):
    """Asks a coordinator to describe groups of Kafka Streams.

    Nothing is ever left out.
    """

    __slots__ = ()
    api: ClassVar[Api] = STREAMS_GROUP_DESCRIBE
    kind: ClassVar[GroupKind] = GroupKind.STREAMS

    def member(self, row: Body) -> GroupMember:
        """Read a member, whose process has the tasks."""
        endpoint = row["user_endpoint"]
        return GroupMember(
            member_id=row["member_id"],
            client_id=row["client_id"],
            host=row["client_host"],
            instance_id=row["instance_id"],
            rack=row["rack_id"],
            epoch=row["member_epoch"],
            is_classic=row["is_classic"],
            process=StreamsProcess(
                process_id=row["process_id"],
                topology_epoch=row["topology_epoch"],
                tags={each["key"]: each["value"] for each in row["client_tags"]},
                endpoint=None if endpoint is None else (endpoint["host"], endpoint["port"]),
                tasks=tasks_of(row["assignment"]),
                target=tasks_of(row["target_assignment"]),
            ),
        )


REQUEST_BY_KIND: Final[Mapping[str, type[DescribeClassicGroups | DescribeNewGroups]]] = {
    GroupKind.CLASSIC: DescribeClassicGroups,
    GroupKind.CONSUMER: DescribeConsumerGroups,
    GroupKind.SHARE: DescribeShareGroups,
    GroupKind.STREAMS: DescribeStreamsGroups,
}
"""The request for each kind of group."""


def partitions_of(assignment: Body) -> frozenset[TopicPartition]:
    """Read an assignment."""
    return frozenset(
        TopicPartition(topic["topic_name"], partition)
        for topic in assignment["topic_partitions"]
        for partition in topic["partitions"]
    )


def tasks_of(row: Body) -> StreamsTasks:
    """Read the tasks of a member."""

    def read(tasks: Iterable[Body]) -> tuple[StreamsTask, ...]:
        return tuple(
            StreamsTask(each["subtopology_id"], tuple(each["partitions"])) for each in tasks
        )

    return StreamsTasks(
        read(row["active_tasks"]), read(row["standby_tasks"]), read(row["warmup_tasks"])
    )


def topology_of(row: Body | None) -> Topology | None:
    """Read the topology of a streams group."""
    if row is None:
        return None
    parts = row["subtopologies"]
    return Topology(
        row["epoch"],
        None
        if parts is None
        else tuple(
            Subtopology(
                subtopology_id=each["subtopology_id"],
                source_topics=tuple(each["source_topics"]),
                repartition_sinks=tuple(each["repartition_sink_topics"]),
                repartition_sources=tuple(
                    topic["name"] for topic in each["repartition_source_topics"]
                ),
                changelogs=tuple(topic["name"] for topic in each["state_changelog_topics"]),
            )
            for each in parts
        ),
    )
