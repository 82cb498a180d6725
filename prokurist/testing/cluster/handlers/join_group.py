"""JoinGroup: let me into the next generation of a classic group."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context, Result
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.classic_joins import join
from prokurist.testing.cluster.classic_members import Joining, Parked, refused_join
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.coordination import refusal, until_answered
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

ID_NEEDED_FROM: Final = 4
NULL_NAME_FROM: Final = 7
SKIPS_FROM: Final = 9


def handle(state: State, request: Any, context: Context) -> Result:
    """Answer when the rebalance is complete, and at once if there is none."""

    def finish(answer: Values) -> Values:
        # An older client reads no null there.
        null = answer["protocol_name"] is None and context.version < NULL_NAME_FROM
        return {**answer, "protocol_name": ""} if null else answer

    def refused(code: int) -> Values:
        return finish(refused_join(code, request.member_id))

    code = refusal(state, request.group_id, context) or session_refusal(state, request)
    if code:
        return refused(code)
    group = classic_for(state, request, context.now)
    if isinstance(group, ErrorCode):
        return refused(group)
    came = join(group, asked_for(request, context), state.next_member_name(), context.now)
    state.changed(context.now)
    if isinstance(came, Parked):
        return until_answered(state, request.group_id, context, came, finish, refused)
    return finish(came)


def session_refusal(state: State, request: Any) -> int:
    """Return the error code for the session timeout; `none` if it is within the limits."""
    settings = state.group_settings
    session = request.session_timeout.total_seconds()
    if settings.min_session_timeout <= session <= settings.max_session_timeout:
        return ErrorCode.none
    return ErrorCode.invalid_session_timeout


def classic_for(state: State, request: Any, now: float) -> ClassicGroup | ErrorCode:
    """The group to join: an empty one of the other protocol becomes a classic one.

    While that one has members a real broker may take a classic one in beside them
    (an upgrade that is under way); the model never does.
    """
    group = state.group_now(request.group_id, now)
    if not isinstance(group.membership, ClassicGroup):
        if not group.membership.empty:
            return ErrorCode.inconsistent_group_protocol
        group.membership = ClassicGroup(state.group_settings)
    return group.membership


def asked_for(request: Any, context: Context) -> Joining:
    """Read the request, with defaults for fields that its version lacks."""
    session = request.session_timeout
    return Joining(
        member_id=request.member_id,
        instance_id=field(request, "group_instance_id"),
        client_id=context.client_id,
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, bytes(each.metadata)) for each in request.protocols),
        session_timeout=session.total_seconds(),
        rebalance_timeout=field(request, "rebalance_timeout", session).total_seconds(),
        needs_id=context.version >= ID_NEEDED_FROM,
        may_skip=context.version >= SKIPS_FROM,
    )
