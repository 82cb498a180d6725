"""OpenTelemetry's `MetricsData` as protobuf, as far as PushTelemetry needs it.

Thread: any; pure functions. This covers only the messages in use: gauges and monotonic sums of
doubles, with attributes that are strings. Tests compare it with `opentelemetry-proto`.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final

from prokurist.lazy_dataclasses import dataclass

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
DELTA: Final = 1
CUMULATIVE: Final = 2
"""Values of `AggregationTemporality`."""

TIME: Final = struct.Struct("<Q")
DOUBLE: Final = struct.Struct("<d")

Attributes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric at one moment.

    Attributes:
        name: Its full name.
        points: Its values, each with the attributes that tell it from the others.
        is_sum: True for monotonic sums; else they are gauges.
    """

    name: str
    points: tuple[tuple[Attributes, float], ...]
    is_sum: bool = False


def varint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def key(field: int, wire_type: int) -> bytes:
    """Encode a field's tag: its number and wire type."""
    return varint(field << 3 | wire_type)


def nested(field: int, data: bytes) -> bytes:
    """A field of bytes, of a string, or of another message."""
    return key(field, LENGTH) + varint(len(data)) + data


def attributes(field: int, pairs: Iterable[tuple[str, str]]) -> bytes:
    """Repeated `KeyValue`s of strings."""
    return b"".join(
        nested(field, nested(1, name.encode()) + nested(2, nested(1, value.encode())))
        for name, value in pairs
    )


def metric(measured: Measured, began: int, now: int, *, delta: bool) -> bytes:
    """A `Metric`.

    Args:
        measured: The metric with its points.
        began: Since when sums are counted, in nanoseconds since the epoch.
        now: When it was read, in the same.
        delta: True for sums as increments since `began`, not totals.
    """
    head = key(3, FIXED64) + TIME.pack(now)
    if measured.is_sum:
        head = key(2, FIXED64) + TIME.pack(began) + head
    points = b"".join(
        nested(1, head + key(4, FIXED64) + DOUBLE.pack(value) + attributes(7, pairs))
        for pairs, value in measured.points
    )
    name = nested(1, measured.name.encode())
    if not measured.is_sum:
        return name + nested(5, points)
    temporality = DELTA if delta else CUMULATIVE
    return name + nested(
        7, points + key(2, VARINT) + varint(temporality) + key(3, VARINT) + b"\1"
    )


def metrics_data(
    resource: Mapping[str, str], scope: tuple[str, str], metrics: Iterable[bytes]
) -> bytes:
    """A `MetricsData` of one resource.

    Args:
        resource: Attributes of the resource.
        scope: Name and version of the instrumentation scope.
        metrics: `Metric`s, encoded.
    """
    name, version = scope
    measured_by = nested(1, nested(1, name.encode()) + nested(2, version.encode()))
    scoped = measured_by + b"".join(nested(2, each) for each in metrics)
    whole = nested(1, attributes(1, resource.items())) + nested(2, scoped)
    return nested(1, whole)
