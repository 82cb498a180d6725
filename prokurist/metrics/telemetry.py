"""Telemetry of a client (KIP-714): readings of the catalogue under Java's names, as OTLP.

Thread: the network thread, once an interval; a reading takes as long as a scrape without
series of single partitions.
Invariants: the client is held weakly, so that one that was not closed is collected.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from weakref import ref

from prokurist.assembly.counted_core import CountedCore
from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.events.counter_types import Histogram
from prokurist.lazy_dataclasses import dataclass
from prokurist.metrics import of_calls, of_consumer, of_network, of_producer, of_share, otlp
from prokurist.metrics.metric import Metric
from prokurist.metrics.otlp import Attributes, Measured
from prokurist.metrics.reading import reading_of
from prokurist.metrics.telemetry_rows import (
    ADMIN,
    CONSUMER,
    PRODUCER,
    SHARE,
    SUMS,
    Measure,
    TelemetryRow,
)
from prokurist.producer.producer_counters import CountedProducer
from prokurist.share.share_counters import CountedShareConsumer
from prokurist.version import VERSION

SCOPE: Final = ("prokurist", VERSION)
HOUR: Final = 3600.0

Pushing: TypeAlias = CountedConsumer | CountedProducer | CountedShareConsumer | CountedCore
"""Clients that push metrics."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Value of a counter, a gauge or a histogram at one moment.

    Attributes:
        number: The value; of a histogram, how many values it has.
        total: The value; of a histogram, their sum.
        counts: How many values lie below each bound, and above all of them.
        bounds: The bounds.
    """

    number: float = 0.0
    total: float = 0.0
    counts: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()

    @classmethod
    def of(cls, value: float | Histogram) -> "Amount":
        """Read one."""
        if not isinstance(value, Histogram):
            return cls(float(value), float(value))
        counts = tuple(value.counts)
        return cls(sum(counts), value.total, counts, value.bounds)

    def plus(self, other: "Amount") -> "Amount":
        """Both together; of histograms, with the same bounds."""
        counts = other.counts
        if self.counts and counts:
            counts = tuple(a + b for a, b in zip(self.counts, counts, strict=True))
        return Amount(
            self.number + other.number,
            self.total + other.total,
            counts or self.counts,
            other.bounds or self.bounds,
        )

    def since(self, before: "Amount") -> "Amount":
        """Return the difference to an earlier amount."""
        counts = self.counts
        if before.counts:
            counts = tuple(a - b for a, b in zip(counts, before.counts, strict=True))
        return Amount(
            max(0.0, self.number - before.number),
            max(0.0, self.total - before.total),
            counts,
            self.bounds,
        )

    @property
    def most(self) -> float | None:
        """The largest value that there may be; exact of a single one."""
        top = max((place for place, many in enumerate(self.counts) if many), default=None)
        if top is None:
            return None
        floors = (0.0, *self.bounds)
        # All others are at least as large as the bounds below them: what is left of the sum
        # is the most that one value can be.
        least = sum(many * floor for many, floor in zip(self.counts, floors, strict=True))
        rest = max(self.total - least, 0.0) + floors[top]
        return min(rest, self.bounds[top]) if top < len(self.bounds) else rest


Amounts = dict[str, dict[tuple[str, ...], Amount]]
"""By our metric's name and its labels' values."""

ZERO: Final = Amount()


@dataclass(frozen=True, slots=True)
class Moment:
    """Amounts read at one time.

    Attributes:
        clock: The client's clock.
        wall: Nanoseconds since the epoch.
        amounts: The amounts.
    """

    clock: float
    wall: int
    amounts: Amounts


class TelemetrySource:
    """The metrics of one client, read for a push.

    Args:
        client: The client.
        time_of_day: Milliseconds since the epoch.
    """

    def __init__(self, client: Pushing, time_of_day: Callable[[], int]) -> None:
        self._client = ref(client)
        self._time_of_day = time_of_day
        own: tuple[Metric[Any], ...] = ()
        if isinstance(client, CountedConsumer):
            self._rows, own = CONSUMER, of_consumer.ROWS
        elif isinstance(client, CountedProducer):
            self._rows, own = PRODUCER, of_producer.ROWS
        elif isinstance(client, CountedShareConsumer):
            self._rows, own = SHARE, of_share.ROWS
        else:
            self._rows = ADMIN
        self._catalogue = {
            each.name.removeprefix("prokurist_"): each
            for each in (*of_calls.ROWS, *of_network.ROWS, *own)
        }
        self._first = Moment(client.now(), self._nanoseconds(), {})
        self._before = self._read = self._first

    def _nanoseconds(self) -> int:
        return self._time_of_day() * 1_000_000

    def collect(self, prefixes: Sequence[str], *, delta: bool) -> list[bytes]:
        """Encode each metric with a name that begins with any of some prefixes.

        Args:
            prefixes: An empty one for all.
            delta: True for sums as increments since the last accepted push.
        """
        client = self._client()
        if client is None:
            return []
        wanted = [
            (row, measure, name)
            for row in self._rows
            for measure in row.measures
            if (name := row.full_name(measure)).startswith(tuple(prefixes))
        ]
        sources = dict.fromkeys(each for row, _, _ in wanted for each in (row.ours, row.per))
        at = reading_of(client, most=0)
        self._read = Moment(
            at.now,
            self._nanoseconds(),
            {name: self._amounts(at, name) for name in sources if name},
        )
        since = self._before if delta else self._first
        found = (
            self._measured(row, measure, name, delta=delta) for row, measure, name in wanted
        )
        return [
            otlp.metric(each, since.wall, self._read.wall, delta=delta)
            for each in found
            if each.points
        ]

    def taken(self) -> None:
        """Begin the next push at the end of the last collected one."""
        self._before = self._read

    def document(self, metrics: Sequence[bytes]) -> bytes:
        """Join the results of `collect` to a push."""
        client = self._client()
        return otlp.metrics_data({} if client is None else labels_of(client), SCOPE, metrics)

    def _amounts(self, at: object, name: str) -> dict[tuple[str, ...], Amount]:
        return {labels: Amount.of(value) for labels, value in self._catalogue[name].read(at)}

    def _measured(
        self, row: TelemetryRow, measure: Measure, name: str, *, delta: bool
    ) -> Measured:
        now = self._gathered(self._read, row, row.ours)
        if measure in SUMS and not delta:
            grown = now
        else:
            before = self._gathered(self._before, row, row.ours)
            grown = {each: amount.since(before.get(each, ZERO)) for each, amount in now.items()}
        points: list[tuple[Attributes, float]] = []
        for attributes, amount in (now if measure is Measure.VALUE else grown).items():
            number = self._number(row, measure, amount)
            if number is not None:
                points.append((attributes, number * row.scale))
        return Measured(name, tuple(points), measure in SUMS)

    def _gathered(
        self, moment: Moment, row: TelemetryRow, ours: str
    ) -> dict[Attributes, Amount]:
        """Sum the amounts of a row by its distinguishing attributes."""
        gathered: dict[Attributes, Amount] = {}
        names = self._catalogue[ours].labels
        for values, amount in moment.amounts.get(ours, {}).items():
            if row.only and not set(row.only) & set(values):
                continue
            attributes = tuple(attributes_of(row.by, dict(zip(names, values, strict=True))))
            gathered[attributes] = gathered.get(attributes, ZERO).plus(amount)
        return gathered

    def _number(self, row: TelemetryRow, measure: Measure, amount: Amount) -> float | None:
        """Compute a measure of an amount; None without a value."""
        seconds = self._read.clock - self._before.clock
        match measure:
            case Measure.VALUE | Measure.TOTAL:
                return amount.number
            case Measure.SUM:
                return amount.total
            case Measure.MAXIMUM:
                return amount.most
            case Measure.AVERAGE:
                return amount.total / amount.number if amount.number else None
            case Measure.QUOTIENT:
                return self._quotient(row, amount)
            case Measure.CYCLE:
                return seconds / amount.number if amount.number else None
        if seconds <= 0:
            return None
        if measure is Measure.RATIO:
            return amount.total / seconds
        return amount.number / seconds * (HOUR if measure is Measure.PER_HOUR else 1.0)

    def _quotient(self, row: TelemetryRow, amount: Amount) -> float | None:
        now = self._gathered(self._read, row, row.per).get((), ZERO)
        by = now.since(self._gathered(self._before, row, row.per).get((), ZERO)).number
        return amount.total / by if by else None

    def __repr__(self) -> str:
        return f"TelemetrySource({self._client()})"


def attributes_of(by: str, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The attributes of a point: none, a topic, or a broker as Java writes it."""
    if by == "node_id":
        yield by, f"node-{labels[by]}"
    elif by:
        yield by, labels[by]


def labels_of(client: Pushing) -> dict[str, str]:
    """Return the resource labels of the client that brokers do not know already (KIP-714)."""
    labels = {"client_rack": client.config.client_rack}
    if isinstance(client, CountedConsumer):
        identity = client.side.member_identity.identity
        labels["group_id"] = client.config.group_id or ""
        labels["group_instance_id"] = client.config.group_instance_id or ""
        labels["group_member_id"] = identity.member_id or ""
    return {name: value for name, value in labels.items() if value}
