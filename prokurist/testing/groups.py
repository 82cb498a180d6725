"""Descriptions of groups, alike for both protocols.

Thread: any; the values are immutable.
"""

import struct

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member, as the coordinator sees it.

    Attributes:
        member_id: The id chosen by the coordinator, or by the member itself.
        client_id: The client's `client.id`.
        instance_id: The static member's `group.instance.id`, if it has one.
        host: Where the coordinator sees it come from.
        epoch: The member's epoch; -1 in a classic group, which has none.
        assignment: Its owned partitions, in order. In a classic group, its assignment by the
            leader.
        target: Its target assignment; the same as the assignment in a classic group.
    """

    member_id: str
    client_id: str
    instance_id: str | None
    host: str
    epoch: int
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group, of whichever protocol.

    Attributes:
        group_id: Its name.
        protocol: `consumer` for KIP-848, `classic` for the older one.
        state: The coordinator's word: `Empty`, `Stable`, `Reconciling`, `Dead`, ...
            A group that does not exist is a classic one in state `Dead`.
        protocol_type: The protocol type of a classic group: `consumer` for consumers.
        assignor: Who spreads the partitions.
        epoch: The group's epoch. Of a classic group it is the generation, visible in the
            cluster model alone; else -1.
        members: Sorted by member id.
    """

    group_id: str
    protocol: str
    state: str
    protocol_type: str
    assignor: str
    epoch: int
    members: tuple[GroupMember, ...]


def classic_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode the assignment of a classic leader; each version has the same fields."""
    # Here, because importing a message costs, and few who describe groups need it.
    from kio.schema.consumer_protocol_assignment.v0.data import (  # noqa: PLC0415
        ConsumerProtocolAssignment,
    )
    from kio.serial import entity_reader  # noqa: PLC0415

    if len(data) < 2:
        # A member that has not synced yet.
        return ()
    (version,) = struct.unpack_from(">h", data)
    if version < 0:
        return ()
    assignment, _ = entity_reader(ConsumerProtocolAssignment)(data, 2)
    return tuple(
        sorted(
            TopicPartition(topic.topic, int(partition))
            for topic in assignment.assigned_partitions
            for partition in topic.partitions
        )
    )
