"""A group as a test sees it: the same description that the real Kafka's harness gives.

Thread: the one that drives the model.
"""

from collections.abc import Iterable

from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.consumer_group import ConsumerGroup
from prokurist.testing.cluster.handlers.describe_groups import LOOPBACK
from prokurist.testing.cluster.server_assignors import Part
from prokurist.testing.cluster.state import State
from prokurist.testing.groups import GroupDescription, GroupMember, classic_assignment
from prokurist.types import TopicPartition


def view(state: State, name: str) -> GroupDescription:
    """A group of either protocol; one that does not exist is a dead classic one."""
    group = state.groups.get(name)
    membership = group.membership if group and group.known else None
    if membership is None:
        return GroupDescription(name, "classic", "Dead", "", "", -1, ())
    if isinstance(membership, ClassicGroup):
        assignor, epoch = membership.protocol or "", membership.generation
        members = classic_members(membership)
    else:
        assignor, epoch = membership.assignor, membership.epoch
        members = consumer_members(state, membership)
    return GroupDescription(
        group_id=name,
        protocol=membership.kind,
        state=membership.state,
        protocol_type=membership.protocol_type,
        assignor=assignor,
        epoch=epoch,
        members=tuple(sorted(members, key=lambda each: each.member_id)),
    )


def classic_members(group: ClassicGroup) -> Iterable[GroupMember]:
    """The members of a classic group."""
    for each in group.members.values():
        owned = classic_assignment(each.assignment)
        yield GroupMember(
            member_id=each.member_id,
            client_id=each.asked.client_id,
            instance_id=each.instance_id,
            host=LOOPBACK,
            epoch=-1,
            assignment=owned,
            target=owned,
        )


def consumer_members(state: State, group: ConsumerGroup) -> Iterable[GroupMember]:
    """The members of a group of the consumer protocol."""
    for each in group.members.values():
        yield GroupMember(
            member_id=each.member_id,
            client_id=each.client_id,
            instance_id=each.instance_id,
            host=LOOPBACK,
            epoch=each.epoch,
            assignment=named(state, {*each.assigned, *each.revoking}),
            target=named(state, group.targets.get(each.member_id, ())),
        )


def named(state: State, parts: Iterable[Part]) -> tuple[TopicPartition, ...]:
    """Partitions by the names of their topics, in order."""
    topics = {topic.id: topic.name for topic in state.topics.values()}
    return tuple(
        sorted(
            TopicPartition(topics[part.topic_id], part.partition)
            for part in parts
            if part.topic_id in topics
        )
    )
