"""EndTxn: commit or abort the transaction of a producer."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.coordination import for_older, transaction_refusal
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transaction_coordinator import begin_markers
from prokurist.testing.cluster.transactions import NONE, ProducerNumbers
from prokurist.testing.cluster.wire import Values

FENCED_FROM: Final = 2
"""First version with clients that know PRODUCER_FENCED."""
EPOCHS_GROW_FROM: Final = 5
"""First version with the producer's next epoch in the answer (KIP-890)."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Prepare the end, answer, and have the markers written."""
    following = ProducerNumbers(NONE, NONE)
    code = transaction_refusal(state, request.transactional_id, context)
    if not code:
        code, following = end(state, request, context)
    return {
        "error_code": for_older(code, context, FENCED_FROM),
        "producer_id": following.producer_id,
        "producer_epoch": following.epoch,
    }


def end(state: State, request: Any, context: Context) -> tuple[ErrorCode, ProducerNumbers]:
    """End the transaction; return the error code, and the producer's next numbers."""
    transaction = state.transactions.find(request.transactional_id, context.now)
    if transaction is None:
        return ErrorCode.invalid_producer_id_mapping, ProducerNumbers(NONE, NONE)
    code = transaction.end(
        ProducerNumbers(request.producer_id, request.producer_epoch),
        context.now,
        committed=request.committed,
        epochs_grow=context.version >= EPOCHS_GROW_FROM,
    )
    if code:
        return code, ProducerNumbers(NONE, NONE)
    following = transaction.following()
    if code is None:
        begin_markers(state, transaction, context.now)
    return ErrorCode.none, following
