"""SyncGroup: a classic member's assignment, from its leader."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context, Result
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.classic_members import ClassicMember, Parked, refused_sync
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.coordination import classic, refusal, until_answered
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

PROTOCOL_FROM: Final = 5


def handle(state: State, request: Any, context: Context) -> Result:
    """Answer when the leader has sent the assignment."""

    def finish(answer: Values) -> Values:
        return answer

    named = context.version < PROTOCOL_FROM or (
        request.protocol_type is not None and request.protocol_name is not None
    )
    # A broker misses the protocol before it looks whether it coordinates the group.
    code = (
        refusal(state, request.group_id, context)
        if named
        else ErrorCode.inconsistent_group_protocol
    )
    group = None if code else classic(state, request.group_id, context.now)
    if group is None:
        return refused_sync(code or ErrorCode.unknown_member_id)
    member = speaker(group, request)
    if isinstance(member, ErrorCode):
        return refused_sync(member)
    assignments = {each.member_id: bytes(each.assignment) for each in request.assignments}
    came = group.sync(member, assignments, context.now)
    state.changed(context.now)
    if isinstance(came, Parked):
        return until_answered(state, request.group_id, context, came, finish, refused_sync)
    return came


def speaker(group: ClassicGroup, request: Any) -> ClassicMember | ErrorCode:
    """Return the member if its generation and protocol are the group's; else the error code."""
    found = group.find(request.member_id, field(request, "group_instance_id"))
    if isinstance(found, ErrorCode):
        return found
    if request.generation_id != group.generation:
        return ErrorCode.illegal_generation
    theirs = (field(request, "protocol_type"), field(request, "protocol_name"))
    ours = (group.protocol_type, group.protocol)
    # In the midst of a rebalance no protocol is elected yet.
    if any(their not in (None, our) for their, our in zip(theirs, ours, strict=True)):
        return ErrorCode.inconsistent_group_protocol
    return found
