"""Groups as they are listed and described."""

from collections.abc import Iterable
from typing import Any

from prokurist.compat.confluent_kafka.admin.acls import AclOperation, operations_of
from prokurist.compat.confluent_kafka.model import (
    ConsumerGroupState,
    ConsumerGroupType,
    Node,
    read_enum,
)
from prokurist.compat.confluent_kafka.values import BrokerMetadata, TopicPartition


class ConsumerGroupListing:
    """A group of a list.

    Args:
        group_id: Its name.
        is_simple_consumer_group: True if it only keeps offsets.
        state: Its state.
        type: Its protocol.
    """

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        state: ConsumerGroupState | str | int | None = None,
        type: ConsumerGroupType | str | int | None = None,  # noqa: A002 - its name there
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        if state is not None:
            self.state: ConsumerGroupState = read_enum(ConsumerGroupState, state)
        if type is not None:
            self.type: ConsumerGroupType = read_enum(ConsumerGroupType, type)

    def __repr__(self) -> str:
        return f"ConsumerGroupListing({self.group_id!r})"


class ListConsumerGroupsResult:
    """Groups, and the errors of brokers that did not answer.

    Args:
        valid: The groups.
        errors: The errors.
    """

    def __init__(
        self,
        valid: list[ConsumerGroupListing] | None = None,
        errors: list[Exception] | None = None,
    ) -> None:
        self.valid = valid
        self.errors = errors

    def __repr__(self) -> str:
        counts = len(self.valid or ()), len(self.errors or ())
        return f"ListConsumerGroupsResult({counts[0]} groups, {counts[1]} errors)"


class MemberAssignment:
    """The partitions of a member.

    Args:
        topic_partitions: The partitions.
    """

    def __init__(self, topic_partitions: list[TopicPartition] | None) -> None:
        self.topic_partitions: list[TopicPartition] = topic_partitions or []

    def __repr__(self) -> str:
        return f"MemberAssignment({self.topic_partitions})"


class MemberDescription:
    """A member of a group.

    Args:
        member_id: Its id.
        client_id: The id of its client.
        host: Its host.
        assignment: Its partitions.
        group_instance_id: Its name as a static member.
        target_assignment: The partitions that it is to have, of the consumer protocol.
    """

    def __init__(
        self,
        member_id: str,
        client_id: str,
        host: str,
        assignment: MemberAssignment,
        group_instance_id: str | None = None,
        target_assignment: MemberAssignment | None = None,
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.host = host
        self.assignment = assignment
        self.target_assignment = target_assignment
        self.group_instance_id = group_instance_id

    def __repr__(self) -> str:
        return f"MemberDescription({self.member_id!r})"


class ConsumerGroupDescription:
    """A group with its members.

    Args:
        group_id: Its name.
        is_simple_consumer_group: True if it only keeps offsets.
        members: Its members.
        partition_assignor: The name of its assignor.
        state: Its state.
        coordinator: Its coordinator.
        authorized_operations: Operations that this user is authorized to; None unless
            requested.
        type: Its protocol.
    """

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        members: list[MemberDescription],
        partition_assignor: str,
        state: ConsumerGroupState | str | int | None,
        coordinator: Node | None,
        authorized_operations: Iterable[AclOperation | str | int] | None = None,
        type: ConsumerGroupType | str | int | None = ConsumerGroupType.UNKNOWN,  # noqa: A002 - its name there
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        self.members = members
        self.authorized_operations: list[AclOperation] | None = operations_of(
            authorized_operations
        )
        self.partition_assignor = partition_assignor
        if state is not None:
            self.state: ConsumerGroupState = read_enum(ConsumerGroupState, state)
        if type is not None:
            self.type: ConsumerGroupType = read_enum(ConsumerGroupType, type)
        self.coordinator = coordinator

    def __repr__(self) -> str:
        return f"ConsumerGroupDescription({self.group_id!r}, {len(self.members)} members)"


class GroupMember:
    """A member of a group, with its bytes as they are."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.client_id: str | None = None
        self.client_host: str | None = None
        self.metadata: bytes | None = None
        self.assignment: bytes | None = None

    def __repr__(self) -> str:
        return f"GroupMember({self.id!r})"


class GroupMetadata:
    """A group, as `list_groups` has it."""

    def __init__(self) -> None:
        self.broker: BrokerMetadata | None = None
        self.id: str | None = None
        self.error: Any = None
        self.state: str | None = None
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.members: list[GroupMember] = []

    def __str__(self) -> str:
        return str(self.id)

    def __repr__(self) -> str:
        return f"GroupMetadata({self.id})"
