"""The pages' tables are those of the benchmarks' data files, and no other is typed."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KEPT = {
    "clients": [
        {"name": "another", "version": "1.2", "settings": "`linger=5`", "why": "it says so"},
    ],
    "tables": {
        "100 B": {
            "measured": {
                "machine": "two cores, 24 GiB",
                "date": "2026-11-25",
                "commit": "abc1234",
                "load": "0.1 before, 2.0 after",
                "kafka": "4.3.1",
                "clients": "another 1.2",
            },
            "how": "3 rounds",
            "columns": ["client", "records/s", "note"],
            "rows": [["ours", "1 000 (900–1 100)", "quick"], ["another", "> 45", ""]],
            "figures": None,
        }
    },
}


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks' own modules are found as their programs find them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def pages() -> Iterator[Any]:
    """The writer of pages; what it imports is forgotten behind the test."""
    known = set(sys.modules)
    yield import_module("pages")
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_pages_agree_with_the_data_files(pages: Any) -> None:
    """Each page is what would be written."""
    for page in pages.PAGES:
        text = page.read_text("utf-8")
        assert pages.written(text) == text, f"make bench-docs ONLY= writes {page.name}"


def test_every_table_that_is_kept_is_shown(pages: Any) -> None:
    """No data file has a table that no page shows."""
    shown = {each for page in pages.PAGES for each in pages.shown(page.read_text("utf-8"))}
    kept = {
        (path.stem, name)
        for path in BENCHMARKS.glob("results/*.json")
        for name in json.loads(path.read_text("utf-8"))["tables"]
    }
    assert kept <= shown, "what is kept is shown"
    assert shown


def test_no_table_of_figures_is_typed(pages: Any) -> None:
    """What stands outside of the marks has no table."""
    text = (BENCHMARKS.parent / "docs" / "benchmarks.md").read_text("utf-8")
    outside = pages.MARKED.sub("", text)
    assert not [line for line in outside.splitlines() if line.startswith("|")]


def test_a_table_says_how_and_where_it_was_measured(pages: Any) -> None:
    """Machine, commit, date, load and versions stand above it."""
    page = "Before.\n\n<!-- table: some, 100 B -->\nold\n<!-- end of table -->\n\nAfter.\n"
    assert pages.written(page, lambda _benchmark: KEPT) == (
        "Before.\n\n<!-- table: some, 100 B -->\n\n"
        "3 rounds. Measured 2026-11-25 at commit abc1234: two cores, 24 GiB, Apache Kafka "
        "4.3.1; load 0.1 before, 2.0 after. another 1.2.\n\n"
        "| client | records/s | note |\n"
        "| --- | --: | --- |\n"
        "| ours | 1 000 (900–1 100) | quick |\n"
        "| another | > 45 | |\n"
        "\n<!-- end of table -->\n\nAfter.\n"
    )


def test_settings_stand_with_their_reason(pages: Any) -> None:
    """And writing a page twice changes nothing."""
    page = "<!-- clients: some -->\n<!-- end of clients -->\n"
    after = pages.written(page, lambda _benchmark: KEPT)
    assert "| another | 1.2 | `linger=5` | it says so |\n" in after
    assert pages.written(after, lambda _benchmark: KEPT) == after


def test_what_was_never_measured_says_so(pages: Any) -> None:
    """A page may have a place for what is to come."""
    page = "<!-- table: some, 1 KiB -->\n<!-- end of table -->\n"
    assert "Not measured yet.\n" in pages.written(page, lambda _benchmark: KEPT)


def test_a_run_replaces_its_own_tables_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pages: Any
) -> None:
    """The others keep their date, commit and versions."""
    data_files = import_module("data_files")
    monkeypatch.setattr(data_files, "RESULTS", tmp_path)
    (tmp_path / "some.json").write_text(json.dumps(KEPT), "utf-8")
    table = data_files.Table("2 rounds", ["client"], [["ours"], ["another, tuned"]])
    clients = [
        data_files.Client("another, tuned", "1.3", "-", "-"),
        data_files.Client("left out", "7", "-", "-"),
    ]
    data_files.keep("some", {"1 KiB": table}, clients, {"commit": "def5678"})
    kept = data_files.load("some")
    assert kept["tables"]["100 B"] == KEPT["tables"]["100 B"]  # type: ignore[index]
    assert kept["tables"]["1 KiB"]["measured"] == {
        "commit": "def5678",
        "clients": "another 1.3",
    }
    assert pages.table(kept["tables"]["100 B"]) == pages.table(KEPT["tables"]["100 B"])  # type: ignore[index]


def test_ratios_are_those_of_turns_of_one_round(pages: Any) -> None:
    """A round in which one of both has failed has none."""
    assert pages
    turns = import_module("turns")
    ours = [{"rate": 10.0}, {"rate": 8.0}, None]
    its = [{"rate": 5.0}, {"rate": 1.0}, {"rate": 3.0}]
    assert turns.cell(turns.times(ours, its)) == "5.00 (2.00–8.00)"
    assert turns.cell(turns.times([None], its[:1])) == "–"


def test_the_best_setting_is_that_with_the_highest_median(pages: Any) -> None:
    """And not that with the fastest turn."""
    assert pages
    turns = import_module("turns")
    once, tuned = (turns.Turn("another", each, "poll") for each in ("", "tuned"))
    rounds = {
        once: [{"rate": 1.0}, {"rate": 9.0}, {"rate": 2.0}],
        tuned: [{"rate": 3.0}, {"rate": 3.0}, None],
    }
    assert turns.best(rounds) == [tuned]
