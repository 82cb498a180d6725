"""GetTelemetrySubscriptions and PushTelemetry: a broker's subscription, and the metrics.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import (
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import seconds, throttle


@dataclass(frozen=True, slots=True)
class SubscriptionAnswer:
    """Answer to GetTelemetrySubscriptions: the broker's subscription to metrics.

    Attributes:
        error: 0, or why it says nothing.
        client_instance_id: The id that it has given to this client; None where the client
            has named one itself.
        subscription_id: The id of the subscription; each push has to name it.
        compressions: How a push may be compressed, as numbers, the preferred one first.
        interval: Seconds from one push, or question, to the next.
        most_bytes: The largest push that is taken, compressed.
        delta: True for sums as increments since the last push.
        metrics: Prefixes of the names that are wanted; an empty one for all, and no prefix
            for none.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    client_instance_id: UUID | None
    subscription_id: int
    compressions: tuple[int, ...]
    interval: float
    most_bytes: int
    delta: bool
    metrics: tuple[str, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class GetTelemetrySubscriptions:
    """Asks for the broker's subscription to metrics.

    Attributes:
        client_instance_id: The id that this client has; None to be given one.
    """

    api: ClassVar[Api] = GET_TELEMETRY_SUBSCRIPTIONS

    client_instance_id: UUID | None = None

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"client_instance_id": self.client_instance_id}

    def answer(self, body: Body) -> SubscriptionAnswer:
        """Read an answer of any version."""
        return SubscriptionAnswer(
            error=body["error_code"],
            client_instance_id=body["client_instance_id"],
            subscription_id=body["subscription_id"],
            compressions=tuple(body["accepted_compression_types"]),
            interval=seconds(body["push_interval"]),
            most_bytes=body["telemetry_max_bytes"],
            delta=body["delta_temporality"],
            metrics=tuple(body["requested_metrics"]),
            throttle=throttle(body),
        )


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """Answer to PushTelemetry.

    Attributes:
        error: 0, or why it was not taken.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class PushTelemetry:
    """Take these metrics.

    Attributes:
        client_instance_id: The id that this client was given.
        subscription_id: The subscriptions that they answer.
        terminating: True for the last push of this client.
        compression: How they are compressed, as a number.
        metrics: OpenTelemetry's `MetricsData`, compressed.
    """

    api: ClassVar[Api] = PUSH_TELEMETRY

    client_instance_id: UUID
    subscription_id: int
    terminating: bool
    compression: int
    metrics: bytes

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "client_instance_id": self.client_instance_id,
            "subscription_id": self.subscription_id,
            "terminating": self.terminating,
            "compression_type": self.compression,
            "metrics": self.metrics,
        }

    def answer(self, body: Body) -> PushAnswer:
        """Read an answer of any version."""
        return PushAnswer(body["error_code"], throttle(body))
