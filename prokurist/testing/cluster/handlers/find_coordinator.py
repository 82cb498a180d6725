"""FindCoordinator: the coordinator of a group or a transaction."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
SEVERAL_FROM: Final = 4
LOGS: Final = {GROUP: "__consumer_offsets", TRANSACTION: "__transaction_state"}
"""The logs of coordinators, by the type of their keys."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Look up one key, or from version 4 on several."""
    key_type = field(request, "key_type", GROUP)
    keys = [request.key] if context.version < SEVERAL_FROM else request.coordinator_keys
    found = [coordinator(state, key, key_type, context) for key in keys]
    # Up to version 3 the one coordinator stands in the answer itself.
    return {"coordinators": found, **(found[0] if found else {})}


def coordinator(state: State, key: str, key_type: int, context: Context) -> Values:
    """The coordinator of one key, or why there is none."""
    code = int(context.refusals.whole())
    log = LOGS.get(key_type)
    if log in state.missing_logs:
        # It is being created, and has a leader soon.
        state.missing_logs.discard(log)
        code = code or ErrorCode.coordinator_not_available
    find = state.transaction_coordinator if key_type == TRANSACTION else state.coordinator
    node_id = find(key)
    if code:
        pass
    elif key_type not in (GROUP, TRANSACTION):
        code = ErrorCode.invalid_request
    elif key_type == GROUP and key in state.denied_groups:
        code = ErrorCode.group_authorization_failed
    elif key_type == TRANSACTION and key in state.denied_transactions:
        code = ErrorCode.transactional_id_authorization_failed
    elif node_id is None:
        code = ErrorCode.coordinator_not_available
    else:
        node = state.broker(node_id).node
        return {
            "key": key,
            "error_code": ErrorCode.none,
            "error_message": "" if context.version >= SEVERAL_FROM else "NONE",
            "node_id": node.id,
            "host": node.host,
            "port": node.port,
        }
    return {
        "key": key,
        "error_code": code,
        "error_message": ""
        if context.version >= SEVERAL_FROM and key_type in (GROUP, TRANSACTION, SHARE)
        else f"no coordinator for {key!r}",
        "node_id": -1,
        "host": "",
        "port": -1,
    }
