"""OffsetCommit: positions that a group keeps.

Simple consumers only, so far: generation −1. Whoever claims to be a member in a
generation is told that the group does not know him.
"""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.groups import Committed
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

LONGEST_METADATA: Final = 4096
IDS_FROM: Final = 10


def handle(state: State, request: Any, context: Context) -> Values:
    """Keep what can be kept, and say of each partition whether it was."""
    code = (
        context.refusals.whole()
        or state.group_refusal(request.group_id, context.node, context.now)
        or stranger(state, request, context)
    )
    return {
        "topics": [
            {
                "name": field(asked, "name"),
                "topic_id": field(asked, "topic_id"),
                "partitions": [
                    {
                        "partition_index": each.partition_index,
                        "error_code": code
                        or commit(state, request.group_id, asked, each, context),
                    }
                    for each in asked.partitions
                ],
            }
            for asked in request.topics
        ]
    }


def stranger(state: State, request: Any, context: Context) -> ErrorCode:
    """Whether the request claims a generation: there are no members that could.

    With generation −1 anybody may commit for a group that has no members, whatever
    he calls himself.
    """
    if request.generation_id_or_member_epoch < 0:
        return ErrorCode.none
    group = state.groups.get(request.group_id)
    if group is not None and group.offsets:
        return ErrorCode.unknown_member_id
    # A group that was never heard of; from version 9 on the answer says so.
    return (
        ErrorCode.group_id_not_found if context.version >= 9 else ErrorCode.illegal_generation
    )


def commit(state: State, group_id: str, asked: Any, each: Any, context: Context) -> int:
    """Keep one position; the error code if it cannot be."""
    by_id = context.version >= IDS_FROM
    topic = state.topic_by_id(asked.topic_id) if by_id else state.topics.get(asked.name)
    name = topic.name if topic else field(asked, "name")
    refusal = context.refusals.part(name, each.partition_index)
    if refusal:
        return refusal
    if name in state.denied_topics:
        return ErrorCode.topic_authorization_failed
    if topic is None:
        return ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition
    if topic.partition(each.partition_index) is None:
        return ErrorCode.unknown_topic_or_partition
    metadata = each.committed_metadata or ""
    if len(metadata) > LONGEST_METADATA:
        return ErrorCode.offset_metadata_too_large
    epoch = field(each, "committed_leader_epoch", -1)
    kept = Committed(each.committed_offset, epoch, metadata, context.now)
    state.group(group_id).offsets[TopicPartition(topic.name, each.partition_index)] = kept
    return ErrorCode.none
