"""GetTelemetrySubscriptions: the metrics for a client to push."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.telemetry import TelemetryReceiver
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Name the subscription, and give the client an id if it has none."""
    receiver = state.telemetry or TelemetryReceiver(metrics=())
    instance = request.client_instance_id or receiver.new_instance()
    code = context.refusals.whole() or receiver.asked(instance, context.now)
    told = code == ErrorCode.none
    return {
        "error_code": code,
        # What a client has named itself is not repeated.
        "client_instance_id": None if request.client_instance_id or not told else instance,
        "subscription_id": receiver.subscription_id if told else 0,
        "accepted_compression_types": receiver.compressions if told else (),
        "push_interval": receiver.interval if told else 0.0,
        "telemetry_max_bytes": receiver.most_bytes if told else 0,
        "delta_temporality": receiver.delta,
        "requested_metrics": receiver.metrics if told else (),
    }
