"""Counters of one client as a mapping, without Prometheus.

Thread: any.
"""

from prokurist.metrics.catalogue import CATALOGUE
from prokurist.metrics.metric import samples
from prokurist.metrics.reading import CountedClient, reading_of


def as_mapping(client: CountedClient) -> dict[str, float]:
    """Every sample by its name and labels, written as in the exposition."""
    at = reading_of(client)
    return {
        key(name, labels): number
        for kind, metrics in CATALOGUE
        if isinstance(at, kind)
        for metric in metrics
        for values, value in metric.read(at)
        for name, labels, number in samples(
            metric, tuple(zip(metric.labels, values, strict=True)), value
        )
    }


def key(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    """One sample's name, as Prometheus writes it."""
    if not labels:
        return name
    pairs = ",".join(f'{label}="{escaped(value)}"' for label, value in labels)
    return f"{name}{{{pairs}}}"


def escaped(value: str) -> str:
    """A label's value between its quotes."""
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
