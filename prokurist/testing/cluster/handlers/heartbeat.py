"""Heartbeat: a member of a classic group is alive, and hears of a rebalance."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.coordination import classic, refusal
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Prolong the session, if it is the one of a member in this generation."""
    code = refusal(state, request.group_id, context)
    return {"error_code": code or heard(state, request, context.now)}


def heard(state: State, request: Any, now: float) -> int:
    """Pass the heartbeat to its group; return the error code."""
    group = classic(state, request.group_id, now)
    if group is None:
        return ErrorCode.unknown_member_id
    found = group.find(request.member_id, field(request, "group_instance_id"))
    if isinstance(found, ErrorCode):
        return found
    if request.generation_id != group.generation:
        return ErrorCode.illegal_generation
    return group.heartbeat(found, now)
