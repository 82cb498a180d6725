"""InitProducerId: numbers for idempotent producers. There are no transactions."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Give out a producer id that was never used, in epoch 0."""
    code = context.refusals.whole()
    if not code and request.transactional_id == "":
        code = ErrorCode.invalid_request
    elif not code and request.transactional_id is not None:
        code = ErrorCode.transactional_id_authorization_failed
    return {
        "error_code": code,
        "producer_id": -1 if code else state.next_producer_id(),
        "producer_epoch": -1 if code else 0,
    }
