"""InitProducerId: ids for idempotent producers. There are no transactions."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

NONE: Final = -1


def handle(state: State, request: Any, context: Context) -> Values:
    """Give out a producer id that was never used, in epoch 0.

    An idempotent producer that names the id and the epoch that it has gets another id all
    the same: such a producer raises its epoch by itself (KIP-360), and asks for an id when
    its epoch is 32767.
    """
    code = context.refusals.whole()
    known = [field(request, name, NONE) for name in ("producer_id", "producer_epoch")]
    if code:
        pass
    elif request.transactional_id == "" or known.count(NONE) == 1:
        code = ErrorCode.invalid_request
    elif request.transactional_id is not None:
        code = ErrorCode.transactional_id_authorization_failed
    return {
        "error_code": code,
        "producer_id": NONE if code else state.next_producer_id(),
        "producer_epoch": NONE if code else 0,
    }
