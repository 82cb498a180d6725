"""Controls of brokers' telemetry receiver, and the metrics that it got.

Thread: any for a served cluster; the driver's for a model.
"""

from collections.abc import Sequence

from prokurist.testing.cluster.apis import named
from prokurist.testing.cluster.steering import Steering
from prokurist.testing.cluster.telemetry import PushedMetrics, TelemetryReceiver


class TelemetryControls(Steering):
    """Brokers with a telemetry receiver (KIP-714); without one they offer no such API."""

    __slots__ = ()

    def receive_telemetry(
        self,
        metrics: Sequence[str] = ("",),
        *,
        interval: float = 300.0,
        most_bytes: int = 1 << 20,
        compressions: Sequence[int] = (4, 3, 1, 2),
        delta: bool = True,
    ) -> None:
        """Enable the telemetry receiver of all brokers, or change its subscription.

        Args:
            metrics: Prefixes of the names that are wanted; an empty one for all, and none
                where nothing is subscribed to.
            interval: Seconds from one push of a client to the next.
            most_bytes: The largest push that is taken.
            compressions: Compressions that are taken, as numbers, the preferred one first.
            delta: True for sums as increments.
        """
        with self._change() as (cluster, _):
            receiver = cluster.state.telemetry
            if receiver is None:
                receiver = cluster.state.telemetry = TelemetryReceiver()
            receiver.subscribe(metrics, interval)
            receiver.most_bytes = most_bytes
            receiver.compressions = tuple(compressions)
            receiver.delta = delta
            for name in ("GetTelemetrySubscriptions", "PushTelemetry"):
                api = named(name)
                cluster.offered[api.key] = (api.oldest, api.newest)

    def telemetry(self) -> list[PushedMetrics]:
        """Return the metrics pushed by clients, in order of arrival."""
        with self._change() as (cluster, _):
            receiver = cluster.state.telemetry
            return [] if receiver is None else list(receiver.pushed)
