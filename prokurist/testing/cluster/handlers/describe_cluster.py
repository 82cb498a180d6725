"""DescribeCluster: the brokers, as administrators ask for them."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.metadata import CLUSTER_OPERATIONS, NOT_ASKED_FOR
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

BROKERS: Final = 1
TEXTS: Final[dict[int, str]] = {
    ErrorCode.mismatched_endpoint_type: "The request was sent to an endpoint of type BROKER, "
    "but we wanted an endpoint of type CONTROLLER"
}


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe the brokers."""
    code = context.refusals.whole() or endpoint_refusal(request)
    asked = request.include_cluster_authorized_operations
    return {
        "error_code": code,
        "error_message": TEXTS.get(code, f"Unsupported endpoint type {asked_type(request)}")
        if code
        else None,
        "endpoint_type": BROKERS,
        "cluster_id": state.cluster_id,
        "controller_id": -1 if code else state.controller(),
        "cluster_authorized_operations": CLUSTER_OPERATIONS
        if asked and not code
        else NOT_ASKED_FOR,
        "brokers": []
        if code
        else [
            {
                "broker_id": broker.node.id,
                "host": broker.node.host,
                "port": broker.node.port,
                "rack": broker.node.rack,
                "is_fenced": False,
            }
            for broker in state.registered()
        ],
    }


def asked_type(request: Any) -> int:
    """The requested type of endpoints."""
    return int(field(request, "endpoint_type", BROKERS))


def endpoint_refusal(request: Any) -> ErrorCode:
    """Return the error code for the requested type of endpoints."""
    match asked_type(request):
        case 1:
            return ErrorCode.none
        case 2:
            return ErrorCode.mismatched_endpoint_type
        case _:
            return ErrorCode.unsupported_endpoint_type
