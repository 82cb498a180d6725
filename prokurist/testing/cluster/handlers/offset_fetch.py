"""OffsetFetch: committed offsets of a group, for some partitions or for all."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.groups import Committed
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

NOTHING: Final = Committed(-1, -1, "", 0.0)
GROUPS_FROM: Final = 8
MEMBERS_FROM: Final = 9
IDS_FROM: Final = 10


def handle(state: State, request: Any, context: Context) -> Values:
    """Answer for one group, or from version 8 on for several."""
    stable = field(request, "require_stable", default=False)
    if context.version >= GROUPS_FROM:
        groups = [fetch(state, each, context, stable=stable) for each in request.groups]
        return {"groups": groups}
    return fetch(state, request, context, stable=stable)


def fetch(state: State, asked: Any, context: Context, *, stable: bool) -> Values:
    """Answer for one group.

    Args:
        state: The cluster's state.
        asked: The part of the request that is about the group.
        context: The request's circumstances.
        stable: True to refuse offsets that an open transaction may change.
    """
    code = (
        context.refusals.whole()
        or state.group_refusal(asked.group_id, context.node, context.now)
        or member_refusal(state, asked, context)
    )
    unstable = state.group(asked.group_id).unsettled() if stable else set()
    if asked.topics is None:
        topics = [] if code else everything(state, asked.group_id, context, unstable)
    elif code and context.version >= 2:
        # From version 2 on the group has a code of its own, and nothing else comes.
        topics = []
    else:
        topics = [
            one_topic(state, asked.group_id, each, code, context, unstable)
            for each in asked.topics
        ]
        # As in Kafka what is refused is not answered in the place in which it was asked.
        topics.sort(key=lambda each: any(row["error_code"] for row in each["partitions"]))
    return {"group_id": asked.group_id, "error_code": code, "topics": topics}


def member_refusal(state: State, asked: Any, context: Context) -> int:
    """Check the member's epoch, except for classic groups and older versions."""
    membership = state.group_now(asked.group_id, context.now).membership
    if context.version < MEMBERS_FROM or isinstance(membership, ClassicGroup):
        return ErrorCode.none
    return membership.fetch_refusal(asked.member_id, asked.member_epoch)


def everything(
    state: State, group_id: str, context: Context, unstable: AbstractSet[TopicPartition]
) -> list[Values]:
    """All that the group has committed, but for topics that are denied."""
    names: dict[str, list[int]] = {}
    for tp in sorted(state.group(group_id).offsets):
        if tp.topic not in state.denied_topics:
            names.setdefault(tp.topic, []).append(tp.partition)
    return [
        {
            "name": name,
            "topic_id": state.topics[name].id,
            "partitions": committed(state, group_id, name, partitions, context, unstable),
        }
        for name, partitions in names.items()
    ]


def one_topic(
    state: State,
    group_id: str,
    asked: Any,
    code: int,
    context: Context,
    unstable: AbstractSet[TopicPartition],
) -> Values:
    """One topic that was asked for."""
    by_id = context.version >= IDS_FROM
    topic = state.topic_by_id(asked.topic_id) if by_id else state.topics.get(asked.name)
    name: str | None = topic.name if topic else field(asked, "name")
    if not code and by_id and topic is None:
        code = ErrorCode.unknown_topic_id
    if not code and name in state.denied_topics:
        code = ErrorCode.topic_authorization_failed
    partitions = (
        [kept_values(each, NOTHING, code) for each in asked.partition_indexes]
        if code or name is None
        else committed(state, group_id, name, asked.partition_indexes, context, unstable)
    )
    return {"name": name, "topic_id": field(asked, "topic_id"), "partitions": partitions}


def committed(
    state: State,
    group_id: str,
    name: str,
    partitions: Iterable[int],
    context: Context,
    unstable: AbstractSet[TopicPartition],
) -> list[Values]:
    """Return the committed offsets of a topic's partitions; a missing topic has none."""
    offsets = state.group(group_id).offsets
    answers: list[Values] = []
    for index in partitions:
        code = context.refusals.part(name, index)
        if not code and TopicPartition(name, index) in unstable:
            code = ErrorCode.unstable_offset_commit
        kept = NOTHING if code else offsets.get(TopicPartition(name, index), NOTHING)
        answers.append(kept_values(index, kept, code))
    return answers


def kept_values(index: int, kept: Committed, code: int) -> Values:
    """One partition's part of the answer."""
    return {
        "partition_index": index,
        "committed_offset": kept.offset,
        "committed_leader_epoch": kept.leader_epoch,
        "metadata": kept.metadata,
        "error_code": code,
    }
