"""Turns the instrumentation of clients on and off.

Thread: any; one at a time.
"""

from contextlib import AbstractContextManager
from typing import Any

from opentelemetry import metrics, propagate, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import TracerProvider

from prokurist.application.instruments import INSTALLED, WatchedClient
from prokurist.otel.current import CURRENT
from prokurist.otel.names import Names
from prokurist.otel.processing import process
from prokurist.otel.reading import ReadSpans
from prokurist.otel.sending import SendSpans
from prokurist.otel.tools import Tools
from prokurist.version import VERSION


class Instruments:
    """Makes the instruments of clients.

    Args:
        tools: Tracer, meters, names and propagator.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools = tools

    def of_producer(self, client: WatchedClient) -> SendSpans:
        """See `application.instruments.Instrument`."""
        return SendSpans(self.tools, client)

    def of_consumer(self, client: WatchedClient) -> ReadSpans:
        """See `application.instruments.Instrument`."""
        return ReadSpans(self.tools, client)

    def process(self, record: Any, group: str | None) -> AbstractContextManager[object]:
        """See `application.instruments.Instrument`."""
        return process(record, group)

    def __repr__(self) -> str:
        return f"Instruments({self.tools})"


def instrument(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    propagator: TextMapPropagator | None = None,
    record_keys: bool = True,
) -> None:
    """Have all clients that are built from now on make spans and metrics.

    The names of attributes go by `OTEL_SEMCONV_STABILITY_OPT_IN`, which is read here.

    Args:
        tracer_provider: Makes the tracer; None for the global one.
        meter_provider: Makes the meter; None for the global one.
        propagator: Writes and reads the context in headers; None for the global one.
        record_keys: False to keep records' keys out of spans.

    Raises:
        RuntimeError: It is on already.
    """
    if INSTALLED.current is not None:
        raise RuntimeError(
            "prokurist is instrumented already: call prokurist.otel.uninstrument() before "
            "instrument() with other arguments"
        )
    names = Names()
    tools = Tools(
        trace.get_tracer("prokurist", VERSION, tracer_provider, names.schema),
        metrics.get_meter("prokurist", VERSION, meter_provider, names.schema),
        propagator or propagate.get_global_textmap(),
        names,
        keys=record_keys,
    )
    CURRENT.tools, INSTALLED.current = tools, Instruments(tools)


def uninstrument() -> None:
    """Turn it off, for open clients too; nothing happens where it is off."""
    tools, CURRENT.tools = CURRENT.tools, None
    INSTALLED.current = None
    if tools is not None:
        tools.is_on = False


def is_instrumented() -> bool:
    """Return True between `instrument` and `uninstrument`."""
    return INSTALLED.current is not None
