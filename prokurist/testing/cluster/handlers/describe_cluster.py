"""DescribeCluster: the brokers, as administrators ask for them."""

from typing import Any

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.metadata import CLUSTER_OPERATIONS, NOT_ASKED_FOR
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe the brokers."""
    code = context.refusals.whole()
    asked = request.include_cluster_authorized_operations
    return {
        "error_code": code,
        "error_message": None,
        "endpoint_type": 1,
        "cluster_id": state.cluster_id,
        "controller_id": state.controller(),
        "cluster_authorized_operations": CLUSTER_OPERATIONS if asked else NOT_ASKED_FOR,
        "brokers": [
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
