"""Writes the tables of the pages from the data files of `results/`; no figure is typed by hand.

A page says where a table stands, or the clients that took part in a benchmark, by two comments:

    <!-- table: consume, 100 B -->
    <!-- end of table -->

    <!-- clients: consume -->
    <!-- end of clients -->

What is between them is replaced. With --check nothing is written, and the pages that do not
agree with the data files are named.

    python benchmarks/pages.py [--check]
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from data_files import HERE, lines, load

ROOT = HERE.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md", HERE / "README.md")
MARKED = re.compile(
    r"<!-- (?P<kind>table|clients): (?P<benchmark>\w+)(?:, (?P<name>[^>]+?))? -->\n"
    r"(?:.*?\n)??<!-- end of (?P=kind) -->\n",
    re.DOTALL,
)

Load = Callable[[str], Mapping[str, Any]]


def main() -> None:
    """Write the pages, or name those that differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    differing = []
    for page in PAGES:
        before = page.read_text("utf-8")
        after = written(before)
        if after != before:
            differing.append(str(page.relative_to(ROOT)))
            if not asked.check:
                page.write_text(after, "utf-8")
    if asked.check and differing:
        sys.exit(f"make bench-docs ONLY= writes them from benchmarks/results: {differing}")


def written(page: str, load: Load = load) -> str:
    """A page with its tables as the data files have them."""

    def replaced(found: re.Match[str]) -> str:
        kept = load(found["benchmark"])
        if found["kind"] == "table":
            text = table(kept["tables"].get(found["name"]))
            named = f"{found['benchmark']}, {found['name']}"
        else:
            text, named = clients(kept["clients"]), found["benchmark"]
        kind = found["kind"]
        return f"<!-- {kind}: {named} -->\n\n{text}\n\n<!-- end of {kind} -->\n"

    return MARKED.sub(replaced, page)


def shown(page: str) -> Iterator[tuple[str, str]]:
    """The tables that a page shows: benchmark and name of each."""
    for found in MARKED.finditer(page):
        if found["kind"] == "table":
            yield found["benchmark"], found["name"]


def table(kept: Mapping[str, Any] | None) -> str:
    """A table, and above it where and how it was measured."""
    if kept is None:
        return "Not measured yet."
    return "\n".join(
        [conditions(kept["measured"], kept["how"]), "", *lines(kept["columns"], kept["rows"])]
    )


def conditions(measured: Mapping[str, str], how: str) -> str:
    """How something was measured, when, where, and at which commit."""
    kafka = f", Apache Kafka {measured['kafka']}" if "kafka" in measured else ""
    releases = f" {measured['clients']}." if measured["clients"] else ""
    return (
        f"{how}. Measured {measured['date']} at commit {measured['commit']}: "
        f"{measured['machine']}{kafka}; load {measured['load']}.{releases}"
    )


def clients(kept: Sequence[Mapping[str, str]]) -> str:
    """Who took part, with which settings, and why these."""
    rows = [[each[key] for key in ("name", "version", "settings", "why")] for each in kept]
    return "\n".join(lines(("client", "version", "settings", "why these"), rows))


if __name__ == "__main__":
    main()
