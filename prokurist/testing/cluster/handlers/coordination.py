"""Look-ups of groups and transactions, and parking, for the handlers of their APIs."""

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


def transaction_refusal(state: State, name: str, context: Context) -> int:
    """Return the error code with which a broker refuses requests of a transactional id."""
    code = context.refusals.whole()
    if code:
        return code
    if name in state.denied_transactions:
        return ErrorCode.transactional_id_authorization_failed
    if not name:
        return ErrorCode.invalid_request
    return state.transaction_refusal(name, context.node, context.now)


def for_older(code: int, context: Context, fenced_from: int) -> int:
    """Return an error code as a client of the request's version knows it.

    Args:
        code: The error code.
        context: The request's circumstances.
        fenced_from: The version from which on the API has PRODUCER_FENCED.
    """
    if code == ErrorCode.producer_fenced and context.version < fenced_from:
        return ErrorCode.invalid_producer_epoch
    return code


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
