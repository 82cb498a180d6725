"""DeleteGroups: groups without members, with committed offsets or states of records."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Delete each that can be."""
    return {
        "results": [
            {"group_id": each, "error_code": delete(state, each, context)}
            for each in dict.fromkeys(request.groups_names)
        ]
    }


def delete(state: State, name: str, context: Context) -> int:
    """Forget one group; its coordinator stays where it is."""
    code = context.refusals.whole() or state.group_refusal(name, context.node, context.now)
    if code:
        return code
    shared = state.share_groups.get(name)
    if shared is not None:
        shared.advance(context.now)
        if shared.members:
            return ErrorCode.non_empty_group
        del state.share_groups[name]
        return ErrorCode.none
    group = state.group_now(name, context.now)
    if not group.known:
        return ErrorCode.group_id_not_found
    if not group.membership.empty:
        return ErrorCode.non_empty_group
    group.forget_offsets()
    group.unstable.clear()
    group.made = False
    group.membership = ClassicGroup(state.group_settings)
    return ErrorCode.none
