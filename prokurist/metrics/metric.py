"""A metric: its name, its meaning, and its reading.

Thread: any; everything here is immutable.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from prokurist.events.counter_types import Histogram
from prokurist.lazy_dataclasses import dataclass

Read_contra = TypeVar("Read_contra", contravariant=True)
"""Source of a row's values: one client or one query, at one moment."""

Labels: TypeAlias = tuple[str, ...]
"""The values of a metric's labels, in the order of their names."""

Value: TypeAlias = tuple[Labels, float | Histogram]
"""A metric's value for one combination of its labels."""

Sample: TypeAlias = tuple[str, tuple[tuple[str, str], ...], float]
"""One line of the exposition: a name, labels and a number."""


class MetricKind(Enum):
    """The Prometheus type of a metric."""

    COUNTER = "counter"
    """It only grows; its rate tells."""
    GAUGE = "gauge"
    """A value of this moment."""
    HISTOGRAM = "histogram"
    """Counts of values by upper bound."""


@dataclass(frozen=True, slots=True)
class Metric(Generic[Read_contra]):
    """A row of the catalogue.

    Attributes:
        name: As it is exposed; a counter's ends in `_total`, and a unit stands in it.
        help: Its meaning, in a sentence.
        read: Its values for one client, or for one query of Spark's.
        labels: The names of its labels, beside those of the client or query.
    """

    name: str
    kind: MetricKind
    help: str
    read: Callable[[Read_contra], Iterable[Value]]
    labels: tuple[str, ...] = ()


def counter(
    name: str,
    text: str,
    read: Callable[[Read_contra], Iterable[Value]],
    *labels: str,
) -> Metric[Read_contra]:
    """Make a row of a counter."""
    return Metric(name, MetricKind.COUNTER, text, read, labels)


def gauge(
    name: str,
    text: str,
    read: Callable[[Read_contra], Iterable[Value]],
    *labels: str,
) -> Metric[Read_contra]:
    """Make a row of a gauge."""
    return Metric(name, MetricKind.GAUGE, text, read, labels)


def histogram(
    name: str,
    text: str,
    read: Callable[[Read_contra], Iterable[Value]],
    *labels: str,
) -> Metric[Read_contra]:
    """Make a row of a histogram."""
    return Metric(name, MetricKind.HISTOGRAM, text, read, labels)


def one(value: float | Histogram | None) -> Iterator[Value]:
    """The value of a metric without labels; None is no value."""
    if value is not None:
        yield (), value


def samples(
    metric: Metric[Read_contra], labels: tuple[tuple[str, str], ...], value: float | Histogram
) -> Iterator[Sample]:
    """The samples of a value, with the suffixes of their names."""
    if not isinstance(value, Histogram):
        yield metric.name, labels, float(value)
        return
    below, counts = 0, tuple(value.counts)
    for bound, count in zip((*value.bounds, float("inf")), counts, strict=True):
        below += count
        yield f"{metric.name}_bucket", (*labels, ("le", bound_of(bound))), float(below)
    yield f"{metric.name}_sum", labels, value.total
    yield f"{metric.name}_count", labels, float(below)


def bound_of(bound: float) -> str:
    """An upper bound as Prometheus writes it."""
    return "+Inf" if bound == float("inf") else repr(bound)
