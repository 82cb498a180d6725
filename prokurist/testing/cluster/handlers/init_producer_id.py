"""InitProducerId: ids for idempotent producers, and epochs for transactional ones."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.coordination import for_older
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transaction_coordinator import abort
from prokurist.testing.cluster.transactions import NONE, ONGOING, ProducerNumbers
from prokurist.testing.cluster.wire import Values

FENCED_FROM: Final = 4
"""First version with clients that know PRODUCER_FENCED."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Give out an id in epoch 0, or the next epoch of a transactional id.

    An idempotent producer that names the id and the epoch that it has gets another id all
    the same: such a producer raises its epoch by itself (KIP-360), and asks for an id when
    its epoch is 32767.
    """
    name = request.transactional_id
    known = ProducerNumbers(
        field(request, "producer_id", NONE), field(request, "producer_epoch", NONE)
    )
    given = NONE, NONE
    code: int = context.refusals.whole()
    if code:
        pass
    elif name is not None and name in state.denied_transactions:
        code = ErrorCode.transactional_id_authorization_failed
    elif known.count(NONE) == 1 or name == "":
        code = ErrorCode.invalid_request
    elif name is None:
        given = state.next_producer_id(), 0
    else:
        asked = None if NONE in known else known
        code = initialise(state, request, asked, context)
        transaction = state.transactions.find(name, context.now)
        if transaction is not None and not code:
            given = transaction.producer_id, transaction.epoch
    code = for_older(code, context, FENCED_FROM)
    return {"error_code": code, "producer_id": given[0], "producer_epoch": given[1]}


def initialise(
    state: State, request: Any, asked: ProducerNumbers | None, context: Context
) -> ErrorCode:
    """Have a transactional id go on to its next epoch, or abort its open transaction."""
    name, now = request.transactional_id, context.now
    timeout = request.transaction_timeout.total_seconds()
    if not 0 < timeout <= state.transactions.settings.max_timeout:
        return ErrorCode.invalid_transaction_timeout
    if code := state.transaction_refusal(name, context.node, now):
        return code
    transaction = state.transactions.find(name, now)
    if transaction is None:
        transaction = state.transactions.make(name, now, state.next_producer_id)
    code = transaction.initialise(asked, timeout, now)
    if code == ErrorCode.concurrent_transactions and transaction.phase is ONGOING:
        abort(state, transaction, now)
    return code
