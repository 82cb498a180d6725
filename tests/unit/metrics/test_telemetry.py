"""What is pushed to brokers: the names against Java's, and what is made of our counters."""

import csv
from pathlib import Path

import pytest

from docs.generate.java_metrics import JAVA
from prokurist.events.counter_types import Histogram
from prokurist.metrics import otlp
from prokurist.metrics.catalogue import (
    OF_CLIENTS,
    OF_CONSUMERS,
    OF_PRODUCERS,
    OF_SHARE_CONSUMERS,
)
from prokurist.metrics.otlp import Measured
from prokurist.metrics.telemetry import ZERO, Amount
from prokurist.metrics.telemetry_rows import (
    CONSUMER,
    ENDINGS,
    PREFIX,
    PRODUCER,
    SHARE,
    Measure,
    TelemetryRow,
)
from tests.otlp import read

FACTS = Path(__file__).with_name("java-metrics.tsv")
ROWS = [
    pytest.param(client, row, id=f"{row.group} {row.name} {number}")
    for client, rows in (("consumer", CONSUMER), ("producer", PRODUCER))
    for number, row in enumerate(rows)
]
REQUIRED = {
    "consumer": [
        "connection.creation.rate",
        "connection.creation.total",
        "node.request.latency.avg",
        "node.request.latency.max",
        "poll.idle.ratio.avg",
        "coordinator.commit.latency.avg",
        "coordinator.commit.latency.max",
        "coordinator.assigned.partitions",
        "coordinator.rebalance.latency.avg",
        "coordinator.rebalance.latency.max",
        "coordinator.rebalance.latency.total",
        "fetch.manager.fetch.latency.avg",
        "fetch.manager.fetch.latency.max",
    ],
    "producer": [
        "connection.creation.rate",
        "connection.creation.total",
        "node.request.latency.avg",
        "node.request.latency.max",
        "produce.throttle.time.avg",
        "record.queue.time.avg",
        "record.queue.time.max",
    ],
}
"""What KIP-714 wants, without `produce.throttle.time.max`, which is not counted."""


def facts() -> set[tuple[str, str, str, str]]:
    """Java's metrics: client, group, name, and the tags beside the client's id."""
    found = set()
    with FACTS.open(newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            tags = ",".join(sorted(set(row["tags"].split(",")) - {"client-id"}))
            for client in ("consumer", "producer"):
                if client in row["client"]:
                    found.add((client, row["group"], row["name"], tags))
    return found


@pytest.mark.parametrize(("client", "row"), ROWS)
def test_java_has_each_of_them(client: str, row: TelemetryRow) -> None:
    """In that group, by that name, with those tags."""
    for measure in row.measures:
        name = row.name + ENDINGS.get(measure, "")
        assert (client, row.group, name, row.by.replace("_", "-")) in facts()


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.group} {row.name}") for row in SHARE]
)
def test_java_has_each_of_a_share_consumer(row: TelemetryRow) -> None:
    """In that group, by that name; what is of the network is as a consumer's."""
    with FACTS.with_name("java-share-metrics.tsv").open(newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        known = {(each["group"], each["name"]) for each in rows}
    known |= {(group, name) for client, group, name, _ in facts() if client == "consumer"}
    names = [each.name for each in OF_CLIENTS] + [each.name for each in OF_SHARE_CONSUMERS]
    ours = {each.removeprefix("prokurist_") for each in names}
    for measure in row.measures:
        assert (row.group, row.name + ENDINGS.get(measure, "")) in known
    assert row.ours in ours
    assert not row.per or row.per in ours


@pytest.mark.parametrize(("client", "row"), ROWS)
def test_each_is_made_of_what_stands_in_its_place(client: str, row: TelemetryRow) -> None:
    """By the table that docs/metrics.md has of Java's names."""
    own = OF_CONSUMERS if client == "consumer" else OF_PRODUCERS
    labels = {each.name: each.labels for each in (*OF_CLIENTS, *own)}
    assert row.by in ("", *labels[f"prokurist_{row.ours}"])
    assert not row.per or f"prokurist_{row.per}" in labels
    for measure in row.measures:
        answer = JAVA[row.name + ENDINGS.get(measure, "")].ours
        # The quotient of a time and of its turns is told there as that of two sums.
        assert f"prokurist_{row.ours}" in answer or measure is Measure.CYCLE


@pytest.mark.parametrize(("client", "rows"), [("consumer", CONSUMER), ("producer", PRODUCER)])
def test_what_is_required_is_there_and_first(
    client: str, rows: tuple[TelemetryRow, ...]
) -> None:
    """KIP-714's lists; no name comes twice with the same attributes."""
    names = [(row.full_name(each), row.by) for row in rows for each in row.measures]
    assert len(set(names)) == len(names)
    first = [name.removeprefix(f"{PREFIX}{client}.") for name, _ in names]
    assert set(REQUIRED[client]) <= set(first[: len(REQUIRED[client])])


def histogram(*values: float) -> Histogram:
    """One that has seen some values."""
    made = Histogram((1.0, 10.0))
    for each in values:
        made.observe(each)
    return made


@pytest.mark.parametrize(
    ("values", "most"),
    [
        ((), None),
        ((0.4,), 0.4),
        ((7.0,), 7.0),
        ((500.0,), 500.0),
        ((0.5, 0.5, 7.0), 8.0),  # Two values that may have been 0.
        ((2.0, 3.0), 4.0),  # The other may have been 1.
        ((9.0, 9.0, 9.0), 10.0),  # No more than the bound.
        ((20.0, 30.0), 40.0),
    ],
)
def test_a_maximum_is_never_too_small(values: tuple[float, ...], most: float | None) -> None:
    """And is exact of one value."""
    found = Amount.of(histogram(*values)).most
    assert found == (None if most is None else pytest.approx(most))
    assert found is None or found >= max(values)


def test_what_was_added_since() -> None:
    """Of histograms bucket by bucket; nothing is negative."""
    before, now = Amount.of(histogram(0.5, 20.0)), Amount.of(histogram(0.5, 20.0, 5.0))
    added = now.since(before)
    assert (added.number, added.total, added.counts, added.most) == (1, 5.0, (0, 1, 0), 5.0)
    assert now.since(ZERO) == now
    assert Amount.of(3).since(Amount.of(5)) == Amount(0.0, 0.0)
    assert before.plus(added) == now
    assert ZERO.plus(now) == now


def test_what_is_written_is_read() -> None:
    """Names and attributes beyond a length of one byte and beyond ASCII; both temporalities."""
    name, value = "n" * 300, "größe"
    pairs = (("topic", value),)
    gauge = otlp.metric(Measured(name, ((pairs, -1.5), ((), 2.0))), 1, 1 << 60, delta=True)
    for delta in (True, False):
        total = otlp.metric(Measured("sum", (((), 7.0),), is_sum=True), 5, 9, delta=delta)
        told = read(0, otlp.metrics_data({"group_id": "g"}, ("p", "1"), [gauge, total]))
        assert (told.resource, told.scope) == ({"group_id": "g"}, ("p", "1"))
        assert told.one(name, topic=value) == -1.5
        assert told.gauges[name][1].at == 1 << 60
        [point] = told.sums["sum"]
        assert (point.value, point.began, point.at, told.delta) == (7.0, 5, 9, delta)
