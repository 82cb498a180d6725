"""PushTelemetry: the metrics of a client."""

from typing import Any

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.telemetry import PushedMetrics, TelemetryReceiver
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Keep them for the test."""
    receiver = state.telemetry or TelemetryReceiver(metrics=())
    code = context.refusals.whole()
    if not code:
        pushed = PushedMetrics(
            request.client_instance_id,
            context.client_id,
            context.node,
            context.now,
            request.terminating,
            int(request.compression_type),
            bytes(request.metrics),
        )
        code = receiver.push(pushed, request.subscription_id)
    return {"error_code": code}
