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
from tests.documents import PAGES

OPS = Path(__file__).parents[3] / "docs" / "ops"
RUNBOOK = OPS.parent / "howto" / "alerts.md"
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
ROOMS = sorted({name.split("_")[1] for name in LABELS})
METRIC_NAME = re.compile(rf"\bprokurist_(?:{'|'.join(ROOMS)})_\w+\b")


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
        for annotation in dashboard["annotations"]["list"]:
            yield annotation["expr"]


def test_pages_name_what_the_catalogue_has() -> None:
    """In prose and in programs: a name that is not there is a KeyError in a service."""
    named = {
        (page.name, series_of(name))
        for page in PAGES
        for name in METRIC_NAME.findall(page.read_text("utf-8"))
    }
    assert {name for _, name in named} & LABELS.keys()
    assert [each for each in sorted(named) if each[1] not in LABELS] == []


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
    """No single scrape makes one fire, and each has a section that says what to do."""
    rules = (OPS / "prokurist.rules.yml").read_text("utf-8")
    alerts = re.split(r"- alert: ", rules)[1:]
    assert len(alerts) == len(re.findall(r"^ +for: \d+[sm]$", rules, re.MULTILINE))
    for alert in alerts:
        assert re.search(r"severity: (warning|critical)", alert)
        assert "summary: " in alert
        assert "description: " in alert
    sections = set(re.findall(r"^### (\w+)$", RUNBOOK.read_text("utf-8"), re.MULTILINE))
    names = {alert.split()[0] for alert in alerts}
    assert sections == names
    for name in names:
        assert f'runbook: "howto/alerts.html#{name.lower()}"' in rules
    tested = (OPS / "prokurist.test.yml").read_text("utf-8")
    assert all(f'alertname="{alert.split()[0]}"' in tested for alert in alerts)


@pytest.mark.parametrize(
    "path", sorted(OPS.glob("dashboard*.json")), ids=lambda each: each.stem
)
def test_a_dashboard_is_consistent(path: Path) -> None:
    """Panels have numbers of their own and do not overlap; variables have their names."""
    dashboard = json.loads(path.read_text("utf-8"))
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for place in (panel["gridPos"],)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    for variable in dashboard["templating"]["list"][1:]:
        assert variable["query"]["refId"] == variable["name"]


def test_a_group_is_chosen_by_its_clients() -> None:
    """All clients are those of the chosen groups, for which a pattern of all would not do."""
    dashboard = json.loads((OPS / "dashboard.json").read_text("utf-8"))
    variables = {each["name"]: each for each in dashboard["templating"]["list"]}
    assert 'group_id=~"$group"' in variables["client_id"]["definition"]
    assert "allValue" not in variables["client_id"]
    assert [panel["type"] for panel in dashboard["panels"][1:7]] == ["stat"] * 6


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
