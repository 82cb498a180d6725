"""ListGroups: the groups that a broker coordinates."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.groups import Group
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """List those in the states, and of the types, that are asked for."""
    code = context.refusals.whole()
    mine = [
        state.group_now(name, context.now)
        for name in sorted(state.groups)
        if state.coordinator(name) == context.node and name not in state.denied_groups
    ]
    rows = [] if code else [row(each) for each in mine if each.known]
    rows += [] if code else shared(state, context)
    states = {each.lower() for each in field(request, "states_filter", ())}
    types = {each.lower() for each in field(request, "types_filter", ())}
    return {
        "error_code": code or ErrorCode.none,
        "groups": [
            each
            for each in rows
            if (not states or each["group_state"].lower() in states)
            and (not types or each["group_type"] in types)
        ],
    }


def shared(state: State, context: Context) -> list[Values]:
    """The share groups."""
    found: list[Values] = []
    for name, group in sorted(state.share_groups.items()):
        if state.coordinator(name) == context.node and name not in state.denied_groups:
            group.advance(context.now)
            found.append(
                {
                    "group_id": name,
                    "protocol_type": "share",
                    "group_state": group.state,
                    "group_type": "share",
                }
            )
    return found


def row(group: Group) -> Values:
    """One group."""
    membership = group.membership
    return {
        "group_id": group.name,
        "protocol_type": membership.protocol_type,
        "group_state": membership.state,
        "group_type": membership.kind,
    }
