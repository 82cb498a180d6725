"""AddOffsetsToTxn: the offsets of a group for the transaction of a producer."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.coordination import for_older, transaction_refusal
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transaction_coordinator import add
from prokurist.testing.cluster.transactions import ProducerNumbers
from prokurist.testing.cluster.wire import Values

FENCED_FROM: Final = 2
"""First version with clients that know PRODUCER_FENCED."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Add the partition of `__consumer_offsets` that holds the group."""
    code = transaction_refusal(state, request.transactional_id, context)
    if not code and request.group_id in state.denied_groups:
        code = ErrorCode.group_authorization_failed
    if not code:
        numbers = ProducerNumbers(request.producer_id, request.producer_epoch)
        partitions = [state.offsets_partition_of(request.group_id)]
        code = add(state, request.transactional_id, numbers, partitions, context.now)
    return {"error_code": for_older(code, context, FENCED_FROM)}
