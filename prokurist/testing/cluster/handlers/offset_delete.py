"""OffsetDelete: committed offsets of a group, of topics that no member reads."""

import struct
from collections.abc import Iterable
from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.groups import Group
from prokurist.testing.cluster.handlers.coordination import refusal
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

CONSUMERS = "consumer"


def handle(state: State, request: Any, context: Context) -> Values:
    """Delete offsets, and answer for each partition."""
    code = refusal(state, request.group_id, context)
    group = None if code else state.group_now(request.group_id, context.now)
    code = code or (group_refusal(group) if group else ErrorCode.none)
    if code or group is None:
        return {"error_code": code, "topics": []}
    subscribed = subscribed_topics(group)
    return {
        "error_code": ErrorCode.none,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": each.partition_index,
                        "error_code": delete(
                            state, group, topic.name, each.partition_index, subscribed, context
                        ),
                    }
                    for each in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }


def group_refusal(group: Group) -> ErrorCode:
    """Return the error code with which a group refuses the whole request."""
    if not group.known:
        return ErrorCode.group_id_not_found
    classic = group.membership
    if isinstance(classic, ClassicGroup) and not classic.empty:
        return (
            ErrorCode.none if classic.protocol_type == CONSUMERS else ErrorCode.non_empty_group
        )
    return ErrorCode.none


def delete(
    state: State,
    group: Group,
    name: str,
    partition: int,
    subscribed: set[str],
    context: Context,
) -> int:
    """Delete one offset; the error code if it may not be."""
    code = context.refusals.part(name, partition)
    if code:
        return code
    if name in state.denied_topics:
        return ErrorCode.topic_authorization_failed
    if name in subscribed:
        return ErrorCode.group_subscribed_to_topic
    topic = state.topics.get(name)
    if topic is None or topic.partition(partition) is None:
        return ErrorCode.unknown_topic_or_partition
    group.offsets.pop(TopicPartition(name, partition), None)
    return ErrorCode.none


def subscribed_topics(group: Group) -> set[str]:
    """The topics that members read."""
    membership = group.membership
    if not isinstance(membership, ClassicGroup):
        return {name for each in membership.members.values() for name in each.names}
    protocol = membership.protocol
    if protocol is None:
        return set()
    each_metadata = (each.metadata(protocol) for each in membership.members.values())
    return {name for metadata in each_metadata for name in topics_in(metadata)}


def topics_in(metadata: bytes) -> Iterable[str]:
    """The topics in a consumer's subscription; none where it cannot be read."""
    try:
        _, count = struct.unpack_from(">hi", metadata)
        at, names = 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, at)
            names.append(metadata[at + 2 : at + 2 + size].decode())
            at += 2 + size
    except (struct.error, UnicodeDecodeError):
        return ()
    return names
