"""ListTransactions: the transactional ids that a broker coordinates."""

import re
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transactions import Transaction, TransactionPhase
from prokurist.testing.cluster.wire import Values

NO_DURATION: Final = -1


def handle(state: State, request: Any, context: Context) -> Values:
    """List those that all filters of the request let through."""
    phases = {each.value for each in TransactionPhase}
    code: int = context.refusals.whole()
    names = compiled(field(request, "transactional_id_pattern") or ".*")
    if names is None:
        code = code or ErrorCode.invalid_regular_expression
    mine = (
        each
        for each in state.transactions.entries(context.now)
        if state.transaction_coordinator(each.name) == context.node
        and each.name not in state.denied_transactions
        and passes(each, request, context)
    )
    return {
        "error_code": code,
        "unknown_state_filters": []
        if code
        else [each for each in request.state_filters if each not in phases],
        "transaction_states": [
            {
                "transactional_id": each.name,
                "producer_id": each.producer_id,
                "transaction_state": each.phase.value,
            }
            for each in mine
            if names is not None and names.fullmatch(each.name)
        ],
    }


def compiled(pattern: str) -> "re.Pattern[str] | None":
    """A pattern of transactional ids; None if it is none."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def passes(each: Transaction, request: Any, context: Context) -> bool:
    """True if a transactional id passes the filters by state, producer and duration."""
    if request.state_filters and each.phase.value not in request.state_filters:
        return False
    if request.producer_id_filters and each.producer_id not in request.producer_id_filters:
        return False
    least = field(request, "duration_filter", NO_DURATION)
    begun = each.started_at
    # One that was never begun counts from the beginning of time.
    return least < 0 or begun is None or (context.now - begun) * 1000 > least
