"""The dashboard and the alerts: they name what there is, and Prometheus takes them."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prokurist.metrics.catalogue import OF_QUERIES, every_metric
from prokurist.metrics.metric import MetricKind
from prokurist.metrics.of_spark import LABELS as QUERY_LABELS

OPS = Path(__file__).parents[3] / "docs" / "ops"
NO_PROMTOOL = "promtool is not installed (Debian: apt-get install prometheus)"

LABELS = {
    each.name: {
        *(QUERY_LABELS if each in OF_QUERIES else ("client_id",)),
        "job",
        "instance",
        *each.labels,
    }
    | ({"le"} if each.kind is MetricKind.HISTOGRAM else set())
    for each in every_metric()
}


def series_of(name: str) -> str:
    """The metric that a name in an expression belongs to."""
    if name in LABELS:
        return name
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and base in LABELS:
            return base
    return name


def expressions() -> Iterator[str]:
    """Every expression of the rules and of the dashboards."""
    rules = (OPS / "prokurist.rules.yml").read_text("utf-8")
    yield from re.findall(r"expr: (?:\|\n)?(.*?)\n +for:", rules, re.DOTALL)
    for path in OPS.glob("dashboard*.json"):
        dashboard = json.loads(path.read_text("utf-8"))
        for panel in dashboard["panels"]:
            yield from (target["expr"] for target in panel.get("targets", ()))
        for variable in dashboard["templating"]["list"][1:]:
            yield variable["definition"]


@pytest.mark.parametrize("expression", tuple(expressions()))
def test_expressions_name_what_the_catalogue_has(expression: str) -> None:
    """Metrics, and the labels that they are selected by."""
    named = re.findall(r"(prokurist_\w+)(?:\{(.*?)\})?", expression)
    assert named
    for name, selector in named:
        assert series_of(name) in LABELS, name
        by = set(re.findall(r"(\w+)(?:=~|=)", selector))
        assert by <= LABELS[series_of(name)], f"{name} is not labelled by {by}"


def test_a_histogram_is_named_by_its_samples_and_nothing_else_is() -> None:
    """There is no series `…_seconds` of a histogram, nor a `…_sum` of a gauge."""
    histograms = {each.name for each in every_metric() if each.kind is MetricKind.HISTOGRAM}
    for expression in expressions():
        for name in re.findall(r"prokurist_\w+", expression):
            assert (series_of(name) in histograms) == (series_of(name) != name), name


def test_every_alert_says_what_it_means_and_waits_a_little() -> None:
    """Nobody is called because of a single scrape."""
    rules = (OPS / "prokurist.rules.yml").read_text("utf-8")
    alerts = re.split(r"- alert: ", rules)[1:]
    assert len(alerts) == len(re.findall(r"^ +for: \d+[sm]$", rules, re.MULTILINE))
    for alert in alerts:
        assert re.search(r"severity: (warning|critical)", alert)
        assert "summary: " in alert
        assert "description: " in alert
    tested = (OPS / "prokurist.test.yml").read_text("utf-8")
    assert all(f'alertname="{alert.split()[0]}"' in tested for alert in alerts)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "words", ["check rules prokurist.rules.yml", "test rules prokurist.test.yml"]
)
def test_promtool_takes_them(words: str) -> None:
    """Each alert fires on the series that it is for, and the quiet ones keep quiet."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip(NO_PROMTOOL)
    run = subprocess.run(
        [promtool, *words.split()], cwd=OPS, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
