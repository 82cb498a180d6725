"""ShareGroupDescribe: share groups as an administrator sees them."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.consumer_group_describe import parts_values
from prokurist.testing.cluster.handlers.coordination import refusal
from prokurist.testing.cluster.handlers.describe_groups import LOOPBACK
from prokurist.testing.cluster.share_group import ShareGroup, ShareMember
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe each group that is asked for."""
    return {"groups": [describe(state, each, context) for each in request.group_ids]}


def describe(state: State, name: str, context: Context) -> Values:
    """One group."""
    code = refusal(state, name, context)
    group = None if code else state.share_groups.get(name)
    if group is None:
        other = None if code else state.groups.get(name)
        text = "is not a share group." if other is not None and other.known else "not found."
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
    group.advance(context.now)
    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "group_id": name,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": "simple",
        "members": [member_values(state, group, each) for each in group.members.values()],
    }


def member_values(state: State, group: ShareGroup, member: ShareMember) -> Values:
    """One member."""
    return {
        "member_id": member.member_id,
        "rack_id": None,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": LOOPBACK,
        "subscribed_topic_names": sorted(member.names),
        "assignment": parts_values(state, group.targets.get(member.member_id, ())),
    }
