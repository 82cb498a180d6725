"""Rows of every client about itself.

Thread: any.
"""

import platform
from collections.abc import Iterator
from functools import cache

from prokurist.metrics.metric import Metric, Value, gauge
from prokurist.metrics.reading import ClientReading, ConsumerReading, ShareReading
from prokurist.records.implementation import CHOICE
from prokurist.version import VERSION


def started(at: ClientReading) -> Iterator[Value]:
    """When the client was built, in seconds since 1970."""
    if at.client.started is not None:
        yield (), at.client.started / 1000


def info(at: ClientReading) -> Iterator[Value]:
    """Yield the client's versions, implementation, group and rack; no group for a producer."""
    group = protocol = ""
    if isinstance(at, ConsumerReading) and at.client.config.group_id is not None:
        group, protocol = at.client.config.group_id, at.client.config.group_protocol
    if isinstance(at, ShareReading):
        group, protocol = at.client.config.group_id, "share"
    rack = at.client.config.client_rack
    yield (*versions(), implementation(), group, protocol, rack), 1.0


@cache
def implementation() -> str:
    """`native`, or `pure` where records are read and written by Python."""
    return "native" if CHOICE.name == "native" else "pure"


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
        "1, with what the client is made of and its group: joined by client_id, it tells any "
        "other series by group.",
        info,
        "version",
        "python",
        "implementation",
        "group_id",
        "protocol",
        "rack",
    ),
)
