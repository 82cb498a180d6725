"""The catalogue: names that Prometheus likes, and an answer to each of Java's."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from docs.generate.java_metrics import JAVA
from docs.generate.metrics import ungrouped
from prokurist.metrics.catalogue import every_metric
from prokurist.metrics.metric import Metric, MetricKind
from prokurist.metrics.of_spark import LABELS

ALL = tuple(every_metric())
NAMES = [metric.name for metric in ALL]


@pytest.mark.parametrize("metric", ALL, ids=NAMES)
def test_names_follow_the_rules(metric: Metric[Any]) -> None:
    """One prefix, base units, `_total` for counters and nothing else; help is a sentence."""
    assert re.fullmatch(r"prokurist_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    assert not re.search(r"_(ms|millis|ns|kb|percent|ratio|rate|avg)\b", metric.name)
    if metric.kind is MetricKind.HISTOGRAM:
        assert metric.name.endswith(("_seconds", "_bytes", "_records"))
    assert metric.help.endswith(".")
    assert not {"client_id", *LABELS}.intersection(metric.labels)


def test_no_name_comes_twice() -> None:
    """Nor does one metric's name hold another's samples."""
    assert len(set(NAMES)) == len(NAMES)
    histograms = [each.name for each in ALL if each.kind is MetricKind.HISTOGRAM]
    made = {
        f"{name}{suffix}" for name in histograms for suffix in ("_sum", "_count", "_bucket")
    }
    assert not made.intersection(NAMES)


def test_every_metric_has_its_place_on_the_page() -> None:
    """None falls through the groups."""
    assert list(ungrouped()) == []


def java_names() -> set[str]:
    """Every metric that Java's running consumers and producers have shown."""
    with Path(__file__).with_name("java-metrics.tsv").open(encoding="utf-8") as rows:
        return {row["name"] for row in csv.DictReader(rows, delimiter="\t")}


def test_each_of_javas_metrics_is_answered() -> None:
    """By one of ours, or by the reason why there is none; and no name is made up."""
    assert set(JAVA) == java_names()
    for name, answer in JAVA.items():
        assert answer.ours or len(answer.note) > 20, name
        assert set(answer.ours) <= set(NAMES), name
