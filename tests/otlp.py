"""Reads OpenTelemetry's `MetricsData` off its protobuf, for tests of what is pushed."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from prokurist.records.compression import decompress


@dataclass(frozen=True)
class Point:
    """One value of a metric.

    Attributes:
        value: The value.
        attributes: What tells it from the others.
        began: Nanoseconds since the epoch from which a sum is counted; 0 for a gauge.
        at: Nanoseconds since the epoch.
    """

    value: float
    attributes: dict[str, str]
    began: int
    at: int


@dataclass
class Pushed:
    """The metrics of one push.

    Attributes:
        resource: What they are of.
        scope: What has measured them, and its version.
        gauges: By name.
        sums: By name.
        delta: Whether sums are deltas; None where there are none.
    """

    resource: dict[str, str] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    gauges: dict[str, list[Point]] = field(default_factory=dict)
    sums: dict[str, list[Point]] = field(default_factory=dict)
    delta: bool | None = None

    def one(self, name: str, **attributes: str) -> float:
        """The one value of a metric with these attributes."""
        points: list[Point] = [*self.gauges.get(name, []), *self.sums.get(name, [])]
        [point] = [each for each in points if each.attributes == attributes]
        return point.value

    @property
    def names(self) -> set[str]:
        """The names of all metrics."""
        return {*self.gauges, *self.sums}


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message, in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size = 8
        if key & 7 == 0:
            number, at = varint(data, at)
            yield key >> 3, number
            continue
        if key & 7 == 2:
            size, at = varint(data, at)
        else:
            assert key & 7 == 1, f"wire type {key & 7}"
        assert at + size <= len(data), "a field ends behind its message"
        yield key >> 3, data[at : at + size]
        at += size


def parts(data: bytes, number: int) -> list[bytes]:
    """What a message has of a field of bytes."""
    return [
        value for each, value in fields(data) if each == number and isinstance(value, bytes)
    ]


def attributes_of(data: bytes, number: int) -> dict[str, str]:
    """The `KeyValue`s of a message."""
    found: dict[str, str] = {}
    for pair in parts(data, number):
        ([key], [value]) = parts(pair, 1), parts(pair, 2)
        found[key.decode()] = parts(value, 1)[0].decode()
    return found


def point_of(data: bytes) -> Point:
    """A `NumberDataPoint`."""
    plain = {number: value for number, value in fields(data) if isinstance(value, bytes)}
    began, at = (int.from_bytes(plain.get(each, b""), "little") for each in (2, 3))
    (value,) = struct.unpack("<d", plain[4])
    return Point(float(value), attributes_of(data, 7), began, at)


def read(codec: int, data: bytes) -> Pushed:
    """Read a push."""
    plain = bytes(decompress(codec, data, 1 << 24)) if codec else data
    pushed = Pushed()
    [resource_metrics] = parts(plain, 1)
    [resource] = parts(resource_metrics, 1)
    pushed.resource = attributes_of(resource, 1)
    [scoped] = parts(resource_metrics, 2)
    pushed.scope = tuple(each.decode() for _, each in fields(parts(scoped, 1)[0]) if each)  # type: ignore[union-attr]
    for metric in parts(scoped, 2):
        name = parts(metric, 1)[0].decode()
        for gauge in parts(metric, 5):
            pushed.gauges.setdefault(name, []).extend(map(point_of, parts(gauge, 1)))
        for total in parts(metric, 7):
            settings = {number: value for number, value in fields(total) if number > 1}
            assert settings[3] == 1, "a sum that is not monotonic"
            pushed.delta = settings[2] == 1
            pushed.sums.setdefault(name, []).extend(map(point_of, parts(total, 1)))
    return pushed
