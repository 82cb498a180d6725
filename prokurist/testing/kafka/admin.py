"""Blocking admin requests of the harness: topics, leaders, groups.

Thread: any; each call opens its own connections and closes them, so that a
frozen node or a cut wire leaves nothing behind for the next call.
Invariants: each call ends by its deadline. Nodes are reached directly, never
through the fault proxies.
"""

import socket
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from kio.schema.consumer_group_describe.v0 import request as consumer_describe
from kio.schema.consumer_group_describe.v0 import response as consumer_described
from kio.schema.create_topics.v5 import request as create
from kio.schema.create_topics.v5 import response as created
from kio.schema.delete_topics.v4.request import DeleteTopicsRequest
from kio.schema.delete_topics.v4.response import DeleteTopicsResponse
from kio.schema.describe_groups.v5 import request as classic_describe
from kio.schema.describe_groups.v5 import response as classic_described
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.metadata.v9.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v9.response import MetadataResponse, MetadataResponseTopic
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.groups import GroupDescription, GroupMember, classic_assignment
from prokurist.testing.kafka.errors import AdminFailed
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection
from prokurist.types import TopicPartition

_PAUSE: Final = 0.03
"""Seconds between two looks at something that the cluster still works on."""

_SOON_OVER: Final = frozenset(
    {
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
        # A broker that has just come back counts as missing for a moment.
        ErrorCode.invalid_replication_factor,
        ErrorCode.leader_not_available,
        ErrorCode.request_timed_out,
        ErrorCode.not_controller,
    }
)


class Admin:
    """A blocking admin client over the nodes that are up."""

    def __init__(self, nodes: Callable[[], Sequence[Address]], clock: Clock) -> None:
        """Make one; nothing is connected yet.

        Args:
            nodes: The direct addresses of the nodes that can answer now.
            clock: Clock of the deadlines.
        """
        self._nodes = nodes
        self._clock = clock

    def __repr__(self) -> str:
        return f"Admin(nodes={[str(address) for address in self._nodes()]})"

    def connect(self, address: Address, deadline: Deadline) -> BrokerConnection:
        """A connection of the harness's own to one node."""
        return BrokerConnection(address, deadline, self._clock)

    def reach(self, address: Address, deadline: Deadline) -> None:
        """See whether an address accepts connections, with any protocol.

        Raises:
            AdminFailed: It does not.
        """
        seconds = max(deadline.remaining(self._clock.now()), 0.001)
        try:
            socket.create_connection(address, seconds).close()
        except OSError as error:
            raise AdminFailed(f"{address} cannot be reached: {error}") from error

    def brokers(self, address: Address, deadline: Deadline) -> dict[int, Address]:
        """The brokers that the node at this address sees, by id."""
        seen = self._metadata(address, (), deadline)
        return {int(b.node_id): Address(b.host, int(b.port)) for b in seen.brokers}

    def leaders(self, topic: str, address: Address, deadline: Deadline) -> list[int]:
        """The leader of each partition as one node sees them; -1 for none.

        Returns:
            By partition; empty if this node does not know the topic.
        """
        found = self._metadata(address, (topic,), deadline).topics
        return _leaders_of(found[0]) if found else []

    def create_topic(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        deadline: Deadline,
    ) -> None:
        """Create a topic and wait until every node that is up knows its leaders.

        Raises:
            AdminFailed: The broker refused, or not all of them know by the deadline.
        """
        request = create.CreateTopicsRequest(
            topics=(
                create.CreatableTopic(
                    name=TopicName(topic),
                    num_partitions=i32(partitions),
                    replication_factor=i16(replication_factor),
                    assignments=(),
                    configs=tuple(
                        create.CreatableTopicConfig(name=name, value=value)
                        for name, value in configs.items()
                    ),
                ),
            ),
            timeout=self._broker_timeout(deadline),
        )

        def ask() -> tuple[ErrorCode, str]:
            with self._any_node(deadline) as node:
                answer = node.exchange(request, created.CreateTopicsResponse, deadline)
            return answer.topics[0].error_code, answer.topics[0].error_message or ""

        self._until_settled(f"create topic {topic}", ask, deadline)
        self._until_known(
            f"topic {topic}",
            lambda address: (
                len(leaders := self.leaders(topic, address, deadline)) == partitions
                and min(leaders) >= 0
            ),
            deadline,
        )

    def delete_topic(self, topic: str, deadline: Deadline) -> None:
        """Delete a topic and wait until no node that is up knows it.

        Raises:
            AdminFailed: The broker refused, or some still know it at the deadline.
        """
        request = DeleteTopicsRequest(
            topic_names=(TopicName(topic),), timeout=self._broker_timeout(deadline)
        )

        def ask() -> tuple[ErrorCode, str]:
            with self._any_node(deadline) as node:
                answer = node.exchange(request, DeleteTopicsResponse, deadline)
            return answer.responses[0].error_code, ""

        self._until_settled(f"delete topic {topic}", ask, deadline)
        self._until_known(
            f"the end of topic {topic}",
            lambda address: not self.leaders(topic, address, deadline),
            deadline,
        )

    def coordinator(self, group_id: str, deadline: Deadline) -> tuple[int, Address]:
        """The node that coordinates a group, and its direct address."""
        request = FindCoordinatorRequest(key=group_id, key_type=i8(0))
        found: list[tuple[int, Address]] = []

        def ask() -> tuple[ErrorCode, str]:
            with self._any_node(deadline) as node:
                answer = node.exchange(request, FindCoordinatorResponse, deadline)
            found.append((int(answer.node_id), Address(answer.host, int(answer.port))))
            return answer.error_code, answer.error_message or ""

        self._until_settled(f"find the coordinator of {group_id}", ask, deadline)
        return found[-1]

    def describe_group(self, group_id: str, deadline: Deadline) -> GroupDescription:
        """A group of either protocol; one that does not exist is in state `Dead`.

        Raises:
            AdminFailed: Its coordinator refused, or did not answer by the deadline.
        """
        described: list[GroupDescription] = []

        def ask() -> tuple[ErrorCode, str]:
            _, address = self.coordinator(group_id, deadline)
            with self.connect(address, deadline) as node:
                code, text, group = _as_consumer_group(node, group_id, deadline)
                if group is None and code in _NOT_OF_THIS_PROTOCOL:
                    code, text, group = _as_classic_group(node, group_id, deadline)
            described.extend([group] if group is not None else [])
            return code, text

        self._until_settled(f"describe group {group_id}", ask, deadline)
        return described[-1]

    def _metadata(
        self, address: Address, topics: Sequence[str], deadline: Deadline
    ) -> MetadataResponse:
        request = MetadataRequest(
            topics=tuple(MetadataRequestTopic(name=TopicName(name)) for name in topics),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        with self.connect(address, deadline) as node:
            return node.exchange(request, MetadataResponse, deadline)

    def _any_node(self, deadline: Deadline) -> BrokerConnection:
        """A connection to the first node that takes one."""
        nodes = self._nodes()
        if not nodes:
            raise AdminFailed("no node is up", way_out="thaw or restart one first")
        for address in nodes[:-1]:
            try:
                return self.connect(address, deadline)
            except AdminFailed:
                continue
        return self.connect(nodes[-1], deadline)

    def _broker_timeout(self, deadline: Deadline) -> i32Timedelta:
        seconds = min(deadline.remaining(self._clock.now()), 60.0)
        return i32Timedelta.parse(timedelta(milliseconds=int(seconds * 1000)))

    def _until_settled(
        self, what: str, ask: Callable[[], tuple[ErrorCode, str]], deadline: Deadline
    ) -> None:
        """Ask until the broker says yes, or an error that time does not heal."""
        while True:
            code, text = ask()
            if code is ErrorCode.none:
                return
            if code not in _SOON_OVER or deadline.expired(self._clock.now() + _PAUSE):
                name = code.name.upper()
                raise AdminFailed(f"could not {what}: {name} {text}", code=name)
            self._clock.sleep(_PAUSE)

    def _until_known(
        self, what: str, knows: Callable[[Address], bool], deadline: Deadline
    ) -> None:
        """Wait until each node that is up knows."""
        for address in self._nodes():
            while not knows(address):
                if deadline.expired(self._clock.now() + _PAUSE):
                    raise AdminFailed(f"{address} did not know {what} by the deadline")
                self._clock.sleep(_PAUSE)


_NOT_OF_THIS_PROTOCOL: Final = frozenset(
    {ErrorCode.group_id_not_found, ErrorCode.unsupported_version}
)

Described = tuple[ErrorCode, str, GroupDescription | None]


def _leaders_of(topic: MetadataResponseTopic) -> list[int]:
    by_index = sorted(topic.partitions, key=lambda partition: int(partition.partition_index))
    return [int(partition.leader_id) for partition in by_index]


def _as_consumer_group(node: BrokerConnection, group_id: str, deadline: Deadline) -> Described:
    """The group as KIP-848 sees it; none if this broker or this group is not of it."""
    request = consumer_describe.ConsumerGroupDescribeRequest(
        group_ids=(GroupId(group_id),), include_authorized_operations=False
    )
    if not node.understands(consumer_describe.ConsumerGroupDescribeRequest):
        return ErrorCode.unsupported_version, "", None
    answer = node.exchange(request, consumer_described.ConsumerGroupDescribeResponse, deadline)
    group = answer.groups[0]
    if group.error_code is not ErrorCode.none:
        return group.error_code, group.error_message or "", None
    members = (
        GroupMember(
            member_id=member.member_id,
            client_id=member.client_id,
            instance_id=member.instance_id,
            host=member.client_host,
            epoch=int(member.member_epoch),
            assignment=_owned(member.assignment),
            target=_owned(member.target_assignment),
        )
        for member in group.members
    )
    return (
        ErrorCode.none,
        "",
        GroupDescription(
            group_id=group_id,
            protocol="consumer",
            state=group.group_state,
            protocol_type="consumer",
            assignor=group.assignor_name,
            epoch=int(group.group_epoch),
            members=tuple(sorted(members, key=lambda member: member.member_id)),
        ),
    )


def _as_classic_group(node: BrokerConnection, group_id: str, deadline: Deadline) -> Described:
    """The group as the classic protocol sees it; that one always has an answer."""
    request = classic_describe.DescribeGroupsRequest(
        groups=(GroupId(group_id),), include_authorized_operations=False
    )
    answer = node.exchange(request, classic_described.DescribeGroupsResponse, deadline)
    group = answer.groups[0]
    if group.error_code is not ErrorCode.none:
        return group.error_code, "", None
    members = []
    for member in group.members:
        owned = classic_assignment(member.member_assignment)
        members.append(
            GroupMember(
                member_id=member.member_id,
                client_id=member.client_id,
                instance_id=member.group_instance_id,
                host=member.client_host,
                epoch=-1,
                assignment=owned,
                target=owned,
            )
        )
    return (
        ErrorCode.none,
        "",
        GroupDescription(
            group_id=group_id,
            protocol="classic",
            state=group.group_state,
            protocol_type=group.protocol_type,
            assignor=group.protocol_data,
            epoch=-1,
            members=tuple(sorted(members, key=lambda member: member.member_id)),
        ),
    )


def _owned(assignment: consumer_described.Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(topic.topic_name, int(partition))
            for topic in assignment.topic_partitions
            for partition in topic.partitions
        )
    )
