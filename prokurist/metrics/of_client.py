"""Rows of every client about what it is.

Thread: any.
"""

import platform
from collections.abc import Iterator
from functools import cache

from prokurist.metrics.metric import Metric, Value, gauge
from prokurist.metrics.reading import ClientReading
from prokurist.version import VERSION


def started(at: ClientReading) -> Iterator[Value]:
    """When the client was built, in seconds since 1970."""
    if at.client.started is not None:
        yield (), at.client.started / 1000


def info(_at: ClientReading) -> Iterator[Value]:
    """The version of the package, and of what runs it."""
    yield versions(), 1.0


@cache
def versions() -> tuple[str, str]:
    """The versions of the package and of Python, read once."""
    return VERSION, platform.python_version()


ROWS: tuple[Metric[ClientReading], ...] = (
    gauge(
        "prokurist_client_start_time_seconds",
        "When the client was built, in seconds since 1970.",
        started,
    ),
    gauge(
        "prokurist_client_info",
        "1, with what the client is made of.",
        info,
        "version",
        "python",
    ),
)
