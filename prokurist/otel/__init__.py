"""OpenTelemetry: spans, trace context in record headers, and metrics of clients.

    import prokurist.otel
    prokurist.otel.instrument()

`instrument` turns it on for all clients that are built from then on, those of `prokurist.aio`
and of `prokurist.compat` too, and `uninstrument` off. It needs `prokurist[otel]`, which is
OpenTelemetry's API; the SDK that the program sets up exports spans and metrics.
"""

try:
    import opentelemetry.trace as _api
except ImportError as _missing:
    raise ImportError(
        "prokurist.otel needs OpenTelemetry's API: pip install 'prokurist[otel]'"
    ) from _missing

from prokurist.otel.instrument import instrument, is_instrumented, uninstrument
from prokurist.otel.processing import process

del _api

__all__ = ["instrument", "is_instrumented", "process", "uninstrument"]
