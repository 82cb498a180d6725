"""ConsumerGroupDescribe: groups of the consumer protocol as an administrator sees them."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.consumer_group import ConsumerGroup
from prokurist.testing.cluster.consumer_members import ConsumerMember
from prokurist.testing.cluster.handlers.coordination import refusal
from prokurist.testing.cluster.handlers.describe_groups import LOOPBACK
from prokurist.testing.cluster.server_assignors import Part
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

CONSUMER: Final = 1
"""The kind of member: not a classic one in a group that is being upgraded."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe each group that is asked for."""
    return {"groups": [describe(state, each, context) for each in request.group_ids]}


def describe(state: State, name: str, context: Context) -> Values:
    """One group."""
    code = refusal(state, name, context)
    kept = None if code else state.group_now(name, context.now)
    group = kept.membership if kept else None
    if not isinstance(group, ConsumerGroup):
        is_other = name in state.share_groups or (kept is not None and kept.known)
        text = "is not a consumer group." if is_other else "not found."
        return {
            "error_code": code or ErrorCode.group_id_not_found,
            "error_message": None if code else f"Group {name} {text}",
            "group_id": name,
            "group_state": "",
            "group_epoch": 0,
            "assignment_epoch": 0,
            "assignor_name": "",
            "members": [],
        }
    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "group_id": name,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [member_values(state, group, each) for each in group.members.values()],
    }


def member_values(state: State, group: ConsumerGroup, member: ConsumerMember) -> Values:
    """One member; partitions still to be given up are its own yet."""
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": None,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": LOOPBACK,
        "subscribed_topic_names": sorted(member.names),
        "subscribed_topic_regex": member.regex,
        "assignment": parts_values(state, {*member.assigned, *member.revoking}),
        "target_assignment": parts_values(state, group.targets.get(member.member_id, ())),
        "member_type": CONSUMER,
    }


def parts_values(state: State, parts: Iterable[Part]) -> Values:
    """Partitions by topic; those of a topic that is gone are left out."""
    topics: dict[UUID, list[int]] = {}
    for part in sorted(parts):
        topics.setdefault(part.topic_id, []).append(part.partition)
    rows = [(state.topic_by_id(each), parts) for each, parts in topics.items()]
    return {
        "topic_partitions": [
            {"topic_id": topic.id, "topic_name": topic.name, "partitions": indexes}
            for topic, indexes in rows
            if topic is not None
        ]
    }
