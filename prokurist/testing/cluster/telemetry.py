"""Brokers' telemetry receiver: clients, subscription and pushed metrics (KIP-714).

Thread: the one that drives the model.
"""

import math
import uuid
from collections.abc import Sequence
from dataclasses import field
from typing import Final, NamedTuple
from zlib import crc32

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass

FORGIVEN: Final = frozenset(
    {ErrorCode.unknown_subscription_id, ErrorCode.unsupported_compression_type}
)
"""After these a client asks again at once, and is not throttled for it."""


class PushedMetrics(NamedTuple):
    """One push that was taken.

    Attributes:
        client_instance_id: The client instance id.
        client_id: Its `client.id`.
        node: The broker that it came to.
        at: When it came.
        terminating: True if it is the client's last.
        compression: How it is compressed, as a number.
        data: OpenTelemetry's `MetricsData`, compressed.
    """

    client_instance_id: uuid.UUID
    client_id: str
    node: int
    at: float
    terminating: bool
    compression: int
    data: bytes


@dataclass(slots=True)
class ClientInstance:
    """Receiver's state of one client instance.

    Attributes:
        asked_at: When it last asked for the subscription.
        pushed_at: When it last pushed.
        refused: The error code of its last push; `none` if it was taken.
        ended: True if it has pushed for the last time.
    """

    asked_at: float = -math.inf
    pushed_at: float = -math.inf
    refused: ErrorCode = ErrorCode.none
    ended: bool = False

    def is_early(self, now: float, interval: float) -> bool:
        """True if the last request came less than an interval ago."""
        return now - max(self.asked_at, self.pushed_at) < interval


@dataclass(slots=True)
class TelemetryReceiver:
    """A receiver of metrics, and the one subscription that is configured.

    Attributes:
        metrics: Prefixes of the names that are wanted; an empty one for all.
        interval: Seconds from one push of a client to the next.
        most_bytes: The largest push that is taken.
        compressions: Compressions that are taken, as numbers, the preferred one first.
        delta: True for sums as increments.
        pushed: All pushes, in order.
        instances: The clients, by their instance ids.
    """

    metrics: tuple[str, ...] = ("",)
    interval: float = 300.0
    most_bytes: int = 1 << 20
    compressions: tuple[int, ...] = (4, 3, 1, 2)
    delta: bool = True
    pushed: list[PushedMetrics] = field(default_factory=list)
    instances: dict[uuid.UUID, ClientInstance] = field(default_factory=dict)

    @property
    def subscription_id(self) -> int:
        """Id of the subscription, which changes with it."""
        told = (self.metrics, self.interval, self.delta, self.compressions)
        return crc32(repr(told).encode()) & 0x7FFF_FFFF

    def subscribe(self, metrics: Sequence[str], interval: float) -> None:
        """Change the subscription."""
        self.metrics, self.interval = tuple(metrics), interval

    def new_instance(self) -> uuid.UUID:
        """An instance id that was never given out, the same in each run."""
        return uuid.UUID(int=(0x714 << 112) + len(self.instances) + 1)

    def asked(self, instance_id: uuid.UUID, now: float) -> ErrorCode:
        """Note a GetTelemetrySubscriptions request; return its error code."""
        instance = self.instances.setdefault(instance_id, ClientInstance())
        early = instance.is_early(now, self.interval) and instance.refused not in FORGIVEN
        instance.asked_at = now
        instance.refused = ErrorCode.none
        return ErrorCode.throttling_quota_exceeded if early else ErrorCode.none

    def push(self, pushed: PushedMetrics, subscription_id: int) -> ErrorCode:
        """A client pushes: why that is not taken."""
        instance = self.instances.setdefault(pushed.client_instance_id, ClientInstance())
        instance.refused = self._judge(instance, pushed, subscription_id)
        instance.pushed_at = pushed.at
        if instance.refused is ErrorCode.none:
            instance.ended = pushed.terminating
            self.pushed.append(pushed)
        return instance.refused

    def _judge(
        self, instance: ClientInstance, pushed: PushedMetrics, subscription_id: int
    ) -> ErrorCode:
        if instance.ended:
            return ErrorCode.invalid_request
        # The first push after a question comes when it likes: it is jittered.
        first = instance.asked_at > instance.pushed_at
        if not (first or pushed.terminating) and instance.is_early(pushed.at, self.interval):
            return ErrorCode.throttling_quota_exceeded
        if subscription_id != self.subscription_id:
            return ErrorCode.unknown_subscription_id
        if pushed.compression and pushed.compression not in self.compressions:
            return ErrorCode.unsupported_compression_type
        if len(pushed.data) > self.most_bytes:
            return ErrorCode.telemetry_too_large
        return ErrorCode.none
