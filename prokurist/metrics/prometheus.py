"""The catalogue for Prometheus: one collector for all clients and queries of the process.

Thread: whichever scrapes. A scrape reads plain numbers; it takes no lock that a call
holds for more than a few assignments, and waits for nothing.
Invariants: `prometheus_client` is loaded by `register`, and not before; a
client's series are there from its making to its `close`, a watched query's for as long as
it runs.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from prokurist.application.caller_counters import CLOSED
from prokurist.application.open_clients import OPEN
from prokurist.events.counter_types import Histogram
from prokurist.metrics.catalogue import CATALOGUE, OF_QUERIES, every_metric
from prokurist.metrics.metric import Metric, MetricKind, Value, samples
from prokurist.metrics.of_calls import CLOSE_PHASES
from prokurist.metrics.of_spark import LABELS
from prokurist.metrics.queries import QUERIES, OpenQueries
from prokurist.metrics.reading import (
    MOST_PARTITIONS,
    ClientReading,
    ConsumerReading,
    reading_of,
)
from prokurist.metrics.workers import Line, Samples, WorkerFiles, of_process

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client import Metric as Family

LOG: Final = logging.getLogger("prokurist.metrics")

REGISTERED: Final[WeakKeyDictionary[object, "ClientsCollector"]] = WeakKeyDictionary()
"""By registry: one that is registered with twice has one collector all the same."""


def register(
    registry: "CollectorRegistry | None" = None,
    *,
    most_partitions: int = MOST_PARTITIONS,
    directory: "str | os.PathLike[str] | None" = None,
) -> None:
    """Have all clients of this process read by a registry of `prometheus_client`.

    Once for a process is enough: it covers clients that are made later, and those that
    are closed have no series any more. A second time sets `most_partitions`, and a directory
    where there was none. Nothing is served by this: see `start_http_server` of
    `prometheus_client`.

    Args:
        registry: Where; None for the default registry.
        most_partitions: How many partitions of each client have series of their own; 0
            for none. Sums and extremes cover all of them in any case.
        directory: Where several worker processes write their samples for each other, so that
            a scrape of any of them gets all; None for this process alone.

    Raises:
        ImportError: `prometheus_client` is not installed.
        ValueError: The registry holds some of the names already, or shares another directory,
            or the number is negative.
    """
    if most_partitions < 0:
        raise ValueError(f"most_partitions is 0 or more, not {most_partitions}")
    if registry is None:
        registry = default_registry()
    known = REGISTERED.get(registry)
    if known is not None:
        if directory is not None:
            known.share(Path(directory))
        known.most_partitions = most_partitions
        return
    collector = ClientsCollector(most_partitions)
    try:
        registry.register(collector)
    except ValueError as error:
        raise ValueError(
            f"the registry holds names that begin with prokurist_ already ({error}): "
            f"unregister the collector that has them, or pass another registry"
        ) from error
    REGISTERED[registry] = collector
    if directory is not None:
        collector.share(Path(directory))


def default_registry() -> "CollectorRegistry":
    """The default registry of `prometheus_client`.

    Raises:
        ImportError: It is not installed.
    """
    try:
        from prometheus_client import REGISTRY  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "prokurist.metrics.register needs prometheus_client: install "
            "prokurist[prometheus]; without it, consumer.metrics() gives the same numbers"
        ) from error
    return REGISTRY


class ClientsCollector:
    """The collector that a registry asks: the series of all open clients and queries.

    Args:
        most_partitions: See `register`.
        clients: Those that are open, by name.
        queries: Those of Spark's that are watched.
    """

    def __init__(
        self,
        most_partitions: int = MOST_PARTITIONS,
        clients: Callable[[], Iterable[tuple[str, object]]] = OPEN.all,
        queries: OpenQueries = QUERIES,
    ) -> None:
        self.most_partitions: int = most_partitions
        self._clients = clients
        self._queries = queries
        self._warned: set[str] = set()
        self._workers: WorkerFiles | None = None

    def describe(self) -> Iterator["Family"]:
        """The names of all metrics, so that a registry need not collect to learn them."""
        return map(empty, every_metric())

    def collect(self) -> Iterator["Family"]:
        """All samples of this moment."""
        workers = self._workers
        yield from self._of_clients() if workers is None else of_workers(workers)
        yield from self._of_queries()

    def share(self, directory: Path) -> None:
        """Write the clients' samples to a directory, and read there those of other workers.

        Raises:
            ValueError: They are written to another one already.
        """
        if self._workers is not None:
            if self._workers.directory.resolve() == directory.resolve():
                return
            raise ValueError(
                f"directory={directory}: this registry shares {self._workers.directory} "
                "already; register with one directory, or with another registry"
            )
        self._workers = WorkerFiles(directory, self._lines)
        self._workers.begin()

    def _lines(self) -> Samples:
        return {family.name: lines_of(family) for family in self._of_clients()}

    def _of_queries(self) -> Iterator["Family"]:
        readings = self._queries.read(self.most_partitions)
        for metric in OF_QUERIES:
            family = empty(metric)
            for at in readings:
                own = (
                    ((at.query, at.group, *values), value) for values, value in metric.read(at)
                )
                fill(family, metric, (*LABELS, *metric.labels), own)
            yield family

    def _of_clients(self) -> Iterator["Family"]:
        readings = [
            (name, reading_of(client, self.most_partitions)) for name, client in self._clients()
        ]
        for name, at in readings:
            if isinstance(at, ConsumerReading):
                self._tell_of_bounds(name, at)
        for kind, metrics in CATALOGUE:
            those = [(name, at) for name, at in readings if isinstance(at, kind)]
            for metric in metrics:
                yield family_of(metric, those)

    def _tell_of_bounds(self, name: str, at: ConsumerReading) -> None:
        """Warn once for each client whose partitions do not all have series."""
        left_out = at.partitions.count - len(at.partitions.listed)
        if left_out and self.most_partitions and name not in self._warned:
            self._warned.add(name)
            LOG.warning(
                "%s reads %d partitions: %d of them have series of their own, the sums cover "
                "all; pass most_partitions to prokurist.metrics.register for more",
                name,
                at.partitions.count,
                len(at.partitions.listed),
            )

    def __repr__(self) -> str:
        return f"ClientsCollector(most_partitions={self.most_partitions})"


def family_of(metric: Metric[Any], readings: Iterable[tuple[str, ClientReading]]) -> "Family":
    """A metric of some clients, by their names."""
    family = empty(metric)
    if metric is CLOSE_PHASES:
        closed = [((phase,), value) for phase, value in CLOSED.phases.children.items()]
        fill(family, metric, metric.labels, closed)
        return family
    labels = ("client_id", *metric.labels)
    for name, at in readings:
        own = (((name, *values), value) for values, value in metric.read(at))
        fill(family, metric, labels, own)
    return family


def empty(metric: Metric[Any]) -> "Family":
    """A metric family of `prometheus_client` without samples."""
    from prometheus_client import Metric as Family  # noqa: PLC0415 - an extra

    # A counter's family goes by the name without its suffix.
    name = (
        metric.name.removesuffix("_total") if metric.kind is MetricKind.COUNTER else metric.name
    )
    return Family(name, metric.help, metric.kind.value)


def fill(
    family: "Family", metric: Metric[Any], labels: tuple[str, ...], values: Iterable[Value]
) -> None:
    """Add the samples of some values to a family."""
    from prometheus_client.samples import Sample  # noqa: PLC0415 - an extra

    for of_labels, value in values:
        pairs = tuple(zip(labels, of_labels, strict=True))
        if isinstance(value, Histogram):
            family.samples += [
                Sample(name, dict(all_pairs), number)
                for name, all_pairs, number in samples(metric, pairs, value)
            ]
        else:
            # Partitions make thousands of these: by the short way.
            family.samples.append(Sample(metric.name, dict(pairs), float(value)))


def lines_of(family: "Family") -> list[Line]:
    """The samples of a row, as they are written for other processes."""
    return [(each.name, each.labels, each.value) for each in family.samples]


def of_workers(workers: WorkerFiles) -> Iterator["Family"]:
    """The samples of this process, and of those that write to the same directory."""
    from prometheus_client.samples import Sample  # noqa: PLC0415 - see the module

    every = [(os.getpid(), workers.write()), *workers.others()]
    for _, metrics in CATALOGUE:
        for family in map(empty, metrics):
            family.samples = [
                Sample(*line)
                for pid, samples_of in every
                for line in of_process(pid, samples_of.get(family.name, ()))
            ]
            yield family
