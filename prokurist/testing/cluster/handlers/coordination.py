"""Group look-ups and parking, for the handlers of group APIs."""

from collections.abc import Callable

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context, Result, Wait
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.classic_members import Parked
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def refusal(state: State, name: str, context: Context) -> int:
    """Return the error code with which a broker refuses all requests of a group, or `none`."""
    code = context.refusals.whole()
    if code or name:
        return code or state.group_refusal(name, context.node, context.now)
    return ErrorCode.invalid_group_id


def classic(state: State, name: str, now: float) -> ClassicGroup | None:
    """The classic group of a name; None where it is one of the other protocol."""
    membership = state.group_now(name, now).membership
    return membership if isinstance(membership, ClassicGroup) else None


def until_answered(
    state: State,
    name: str,
    context: Context,
    parked: Parked,
    finish: Callable[[Values], Values],
    refused: Callable[[int], Values],
) -> Result:
    """Keep a request until the group has its answer, or cannot have it any more.

    Args:
        state: The cluster's state.
        name: The group.
        context: The request's circumstances.
        parked: Where the group puts the answer.
        finish: The answer as the request's version has it.
        refused: An answer that says why there is none.
    """

    def again(now: float) -> Result:
        code = context.refusals.whole()
        if not code and state.coordinator(name) != context.node:
            code = ErrorCode.not_coordinator
        if code:
            return refused(code)
        membership = state.group_now(name, now).membership
        if parked.answer is not None:
            return finish(parked.answer)
        return Wait(membership.next_due(), again)

    return again(context.now)
