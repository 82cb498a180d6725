"""Tools of all parts of the instrumentation: tracer, meters, names and propagator.

Thread: any.
"""

from typing import Any, Final

from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import Span, Status, StatusCode, Tracer

from prokurist.application.instruments import WatchedClient
from prokurist.otel.names import Names, Value

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Bounds of histograms in seconds, as the conventions advise."""

LONGEST_KEY: Final = 128
"""Characters of a record's key that a span shows."""


class Tools:
    """Tracer, meters, names and propagator of one `instrument`.

    Args:
        tracer: Makes spans.
        meter: Makes the instruments of metrics.
        propagator: Writes and reads the trace context.
        names: Names of attributes.
        keys: True to show records' keys.

    Attributes:
        is_on: False once `uninstrument` was called: open clients are watched no longer.
    """

    def __init__(
        self,
        tracer: Tracer,
        meter: Meter,
        propagator: TextMapPropagator,
        names: Names,
        *,
        keys: bool,
    ) -> None:
        self.is_on: bool = True
        self.tracer: Final = tracer
        self.propagator: Final = propagator
        self.names: Final = names
        self._keys = keys
        self.sent: Final[Counter] = meter.create_counter(
            "messaging.client.sent.messages",
            unit="{message}",
            description="Number of messages that producers attempted to send.",
        )
        self.consumed: Final[Counter] = meter.create_counter(
            "messaging.client.consumed.messages",
            unit="{message}",
            description="Number of messages that polls have returned.",
        )
        self.duration: Final[Histogram] = meter.create_histogram(
            "messaging.client.operation.duration",
            unit="s",
            description="Duration of sends, polls with records, and commits.",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )
        self.process_duration: Final[Histogram] = meter.create_histogram(
            "messaging.process.duration",
            unit="s",
            description="Duration of the processing of messages.",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )

    def key_of(self, key: Any) -> str | None:
        """A record's key as a span shows it; None where it has no form as text."""
        if not self._keys or key is None:
            return None
        if isinstance(key, str | int) and not isinstance(key, bool):
            return str(key)[:LONGEST_KEY]
        try:
            return bytes(key).decode()[:LONGEST_KEY]
        except (TypeError, ValueError):
            return None

    def fail(self, span: Span, error: BaseException) -> dict[str, Value]:
        """Mark a span as failed; returns the attributes that say so."""
        kind = type(error)
        name = kind.__qualname__
        if kind.__module__ != "builtins":
            name = f"{kind.__module__}.{name}"
        said = self.names.of(error=name)
        if span.is_recording():
            span.set_attributes(said)
            span.set_status(Status(StatusCode.ERROR, str(error)[:1000]))
        return said

    def __repr__(self) -> str:
        return f"Tools({self.names}{'' if self.is_on else ', off'})"


def client_values(client: WatchedClient) -> dict[str, Value | None]:
    """Attributes of a client that do not change."""
    first = client.config.bootstrap_servers[0]
    return {
        "client": client.client_id,
        "group": client.group,
        "server": first.host,
        "port": first.port,
    }
