"""Clients with OpenTelemetry on, and the spans and metrics of the SDK."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext

import prokurist.otel


class Told:
    """Spans and metrics that were told.

    Attributes:
        provider: The provider of tracers, for spans of a test's own.
        meters: The provider of meters.
    """

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader])

    def spans(self, name: str) -> list[ReadableSpan]:
        """Ended spans of a name, in the order of their ends."""
        return [each for each in self._exporter.get_finished_spans() if each.name == name]

    def span(self, name: str) -> ReadableSpan:
        """The one span of a name."""
        (found,) = self.spans(name)
        return found

    def points(self, metric: str) -> list[Any]:
        """The data points of a metric."""
        data = self._reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == metric
            for point in each.data.data_points
        ]

    def count(self, metric: str, attributes: Mapping[str, str] | None = None) -> int:
        """The sum of a counter, or the number of a histogram's values, by attributes."""
        total = 0
        for point in self.points(metric):
            said = point.attributes
            if all(said.get(key) == value for key, value in (attributes or {}).items()):
                total += point.value if hasattr(point, "value") else point.count
        return total


@contextmanager
def instrumented(
    *, record_keys: bool = True, propagator: TextMapPropagator | None = None
) -> Iterator[Told]:
    """Have clients that are built meanwhile tell their spans and metrics."""
    told = Told()
    prokurist.otel.instrument(
        tracer_provider=told.provider,
        meter_provider=told.meters,
        propagator=propagator,
        record_keys=record_keys,
    )
    try:
        yield told
    finally:
        prokurist.otel.uninstrument()
        told.provider.shutdown()
        told.meters.shutdown()


def of(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span."""
    return dict(span.attributes or {})


def context_of(span: ReadableSpan) -> SpanContext:
    """The context of a span."""
    context = span.get_span_context()
    assert context is not None
    return context


def traceparent(span: ReadableSpan) -> bytes:
    """The header that bears the context of a span."""
    context = context_of(span)
    return b"00-%032x-%016x-%02x" % (context.trace_id, context.span_id, context.trace_flags)
