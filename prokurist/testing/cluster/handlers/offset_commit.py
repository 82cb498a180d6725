"""OffsetCommit: stores offsets of a group, from its members or from a client that is none.

With generation −1 any client may commit for a group that has no members, regardless of its
member id. Topics are looked at before the group: what is not there is refused as
such, even where the group would refuse everything.
"""

from collections.abc import Iterable
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.groups import Committed
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.server_assignors import Part
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Topic
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

LONGEST_METADATA: Final = 4096
IDS_FROM: Final = 10


def handle(state: State, request: Any, context: Context) -> Values:
    """Store the accepted offsets, and answer for each partition."""
    whole = context.refusals.whole()
    if not whole and request.group_id in state.denied_groups:
        whole = ErrorCode.group_authorization_failed
    found = [(asked, find(state, asked, context)) for asked in request.topics]
    group = whole or group_refusal(state, request, found, context)
    topics = [
        {
            "name": field(asked, "name"),
            "topic_id": field(asked, "topic_id"),
            "partitions": refused_first(
                {
                    "partition_index": each.partition_index,
                    "error_code": whole
                    or topic_refusal(state, topic, asked, each, context)
                    or group
                    or commit(state, request.group_id, topic, each, context),
                }
                for each in asked.partitions
            ),
        }
        for asked, topic in found
        if asked.partitions
    ]
    # As in Kafka what is refused is not answered in the place in which it was asked.
    return {"topics": sorted(topics, key=lambda each: not refused(each["partitions"]))}


def refused_first(partitions: Iterable[Values]) -> list[Values]:
    """The rows of a topic, those that are refused before the others."""
    return sorted(partitions, key=lambda each: not each["error_code"])


def refused(partitions: list[Values]) -> bool:
    """True if any partition is refused."""
    return any(each["error_code"] for each in partitions)


def find(state: State, asked: Any, context: Context) -> Topic | None:
    """The topic that is asked for, by name or by id."""
    by_id = context.version >= IDS_FROM
    return state.topic_by_id(asked.topic_id) if by_id else state.topics.get(asked.name)


def group_refusal(
    state: State, request: Any, found: list[tuple[Any, Topic | None]], context: Context
) -> int:
    """Return the error code with which the group refuses all offsets; `none` if it accepts."""
    name = request.group_id
    code = state.group_refusal(name, context.node, context.now)
    if code:
        return code
    group = state.group_now(name, context.now)
    epoch = request.generation_id_or_member_epoch
    if epoch >= 0 and not group.known:
        # From version 9 on the answer says that the group does not exist.
        return (
            ErrorCode.group_id_not_found
            if context.version >= 9
            else ErrorCode.illegal_generation
        )
    member = request.member_id
    if isinstance(group.membership, ClassicGroup):
        instance = field(request, "group_instance_id")
        return group.membership.commit_refusal(member, instance, epoch, context.now)
    parts = [
        Part(topic.id, each.partition_index)
        for asked, topic in found
        if topic
        for each in asked.partitions
    ]
    return group.membership.commit_refusal(member, epoch, parts, context.version)


def topic_refusal(
    state: State, topic: Topic | None, asked: Any, each: Any, context: Context
) -> int:
    """Return the error code for a partition by itself, which is checked before the group."""
    name = topic.name if topic else field(asked, "name")
    code = context.refusals.part(name, each.partition_index)
    if code:
        return code
    if name in state.denied_topics:
        return ErrorCode.topic_authorization_failed
    if topic is None:
        by_id = context.version >= IDS_FROM
        return ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition
    if topic.partition(each.partition_index) is None:
        return ErrorCode.unknown_topic_or_partition
    return ErrorCode.none


def commit(state: State, name: str, topic: Topic | None, each: Any, context: Context) -> int:
    """Keep one position; the error code if it cannot be."""
    if topic is None:
        raise AssertionError("a topic that is not there has been refused")
    kept = position(state, each, context)
    if kept is None:
        return ErrorCode.offset_metadata_too_large
    state.group(name).offsets[TopicPartition(topic.name, each.partition_index)] = kept
    return ErrorCode.none


def position(state: State, each: Any, context: Context) -> Committed | None:
    """The position in a part of a request; None if its metadata is too long to be kept."""
    metadata = each.committed_metadata or ""
    if len(metadata) > LONGEST_METADATA:
        return None
    epoch = field(each, "committed_leader_epoch", -1)
    number = state.next_commit_number()
    return Committed(each.committed_offset, epoch, metadata, context.now, number)
