"""What a group looks like from outside: the same few facts for both protocols.

Thread: any; the values are immutable.
"""

from dataclasses import dataclass

from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member, as the coordinator sees it.

    Attributes:
        member_id: What the coordinator, or the member itself, chose.
        client_id: The client's `client.id`.
        instance_id: The static member's `group.instance.id`, if it has one.
        host: Where the coordinator sees it come from.
        epoch: The member's epoch; -1 in a classic group, which has none.
        assignment: What it owns, in order. In a classic group, what its leader gave it.
        target: What it is to own; the same as the assignment in a classic group.
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
        protocol_type: What kind of classic group it is: `consumer` for consumers.
        assignor: Who spreads the partitions.
        epoch: The group's epoch; -1 in a classic group.
        members: Sorted by member id.
    """

    group_id: str
    protocol: str
    state: str
    protocol_type: str
    assignor: str
    epoch: int
    members: tuple[GroupMember, ...]
