"""DescribeGroups: classic groups as an administrator sees them."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup, Phase
from prokurist.testing.cluster.classic_members import ClassicMember
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

MISSES_FROM: Final = 6
OPERATIONS: Final = 0b1101_0100_1000
NOT_ASKED_FOR: Final = -(1 << 31)
LOOPBACK: Final = "/127.0.0.1"


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe each group that is asked for."""
    rows = [describe(state, each, context) for each in request.groups]
    if field(request, "include_authorized_operations", default=False):
        for row in rows:
            row["authorized_operations"] = NOT_ASKED_FOR if row["error_code"] else OPERATIONS
    return {"groups": rows}


def describe(state: State, name: str, context: Context) -> dict[str, Any]:
    """One group; one that is not there is dead, and from version 6 on an error."""
    code = context.refusals.whole() or state.group_refusal(name, context.node, context.now)
    if code:
        return {**values_of(name, ""), "error_code": code}
    group = state.group_now(name, context.now)
    classic = group.membership if group.known else None
    if not isinstance(classic, ClassicGroup):
        dead = values_of(name, "Dead")
        if context.version < MISSES_FROM:
            return dead
        return {
            **dead,
            "error_code": ErrorCode.group_id_not_found,
            "error_message": f"Group {name} is not a classic group."
            if group.known or name in state.share_groups
            else f"Group {name} not found.",
        }
    elected = classic.protocol if classic.phase is Phase.STABLE else None
    return {
        **values_of(name, classic.state),
        "protocol_type": classic.protocol_type,
        "protocol_data": elected or "",
        "members": [member_values(each, elected) for each in classic.members.values()],
    }


def values_of(name: str, state: str) -> dict[str, Any]:
    """A group without members."""
    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "group_id": name,
        "group_state": state,
        "protocol_type": "",
        "protocol_data": "",
        "members": [],
    }


def member_values(member: ClassicMember, elected: str | None) -> Values:
    """Describe one member; its metadata needs an elected protocol."""
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.asked.client_id,
        "client_host": LOOPBACK,
        "member_metadata": member.metadata(elected) if elected else b"",
        "member_assignment": member.assignment,
    }
