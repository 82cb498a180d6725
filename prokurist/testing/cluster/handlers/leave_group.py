"""LeaveGroup: members go, and need not be waited for."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.coordination import refusal
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

SEVERAL_FROM: Final = 3


def handle(state: State, request: Any, context: Context) -> Values:
    """Let one member go, or from version 3 on several."""
    code = refusal(state, request.group_id, context)
    several = context.version >= SEVERAL_FROM
    if code:
        return {"error_code": code, "members": []}
    gone = [
        {
            "member_id": each.member_id,
            "group_instance_id": field(each, "group_instance_id"),
            "error_code": leave(state, request.group_id, each, context.now),
        }
        for each in (request.members if several else [request])
    ]
    state.changed(context.now)
    # Up to version 2 the one member's code is the answer's own.
    alone = ErrorCode.none if several else gone[0]["error_code"]
    return {"error_code": alone, "members": gone}


def leave(state: State, name: str, asked: Any, now: float) -> int:
    """One member; also one of the consumer protocol, whom an administrator may remove."""
    membership = state.group_now(name, now).membership
    instance_id = field(asked, "group_instance_id")
    if isinstance(membership, ClassicGroup):
        return membership.leave(asked.member_id, instance_id, now)
    holder = membership.static(instance_id)
    member = membership.members.get(asked.member_id) if asked.member_id else holder
    if member is None:
        return ErrorCode.unknown_member_id
    membership.remove(member)
    return ErrorCode.none
