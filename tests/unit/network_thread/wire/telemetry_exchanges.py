"""GetTelemetrySubscriptions and PushTelemetry, asked and answered once."""

from prokurist.network_thread.wire.telemetry import (
    GetTelemetrySubscriptions,
    PushAnswer,
    PushTelemetry,
    SubscriptionAnswer,
)
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange

METRICS = bytes(range(100))
PREFIXES = ("org.apache.kafka.consumer.", "")

EXCHANGES = (
    Exchange(
        "get_telemetry_subscriptions",
        range(1),
        lambda _: GetTelemetrySubscriptions(ID),
        {"client_instance_id": ID},
        {
            **THROTTLED,
            "error_code": 0,
            "client_instance_id": ID,
            "subscription_id": 77,
            "accepted_compression_types": (4, 3),
            "push_interval": 300_000,
            "telemetry_max_bytes": 1 << 20,
            "delta_temporality": True,
            "requested_metrics": PREFIXES,
        },
        lambda _: SubscriptionAnswer(
            0, ID, 77, (4, 3), 300.0, 1 << 20, delta=True, metrics=PREFIXES, throttle=0.25
        ),
    ),
    Exchange(
        "push_telemetry",
        range(1),
        lambda _: PushTelemetry(ID, 77, terminating=True, compression=4, metrics=METRICS),
        {
            "client_instance_id": ID,
            "subscription_id": 77,
            "terminating": True,
            "compression_type": 4,
            "metrics": METRICS,
        },
        {**THROTTLED, "error_code": 0},
        lambda _: PushAnswer(0, 0.25),
    ),
)
