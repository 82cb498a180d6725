"""What benchmarks have found, as data files of `results/`, from which `pages.py` writes pages.

A file has the clients that took part, with their versions, their settings and why these were
chosen, and tables. Each table says when, where and how it was measured, and has the figures
that its cells were made from where they are kept. A run replaces the tables that it has
measured and leaves the others, which keep their own date and commit.
"""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


@dataclass(frozen=True)
class Client:
    """A client that took part.

    Attributes:
        name: What tables call it, with its setting where it has several.
        version: Its version.
        settings: What it was configured with.
        why: Why that is its best, or what it is there for.
    """

    name: str
    version: str
    settings: str
    why: str


@dataclass(frozen=True)
class Table:
    """A table as pages have it, and the figures that it was made from.

    Attributes:
        how: What was measured, and what the cells are: a sentence.
        columns: Its head; the first column is that of names.
        rows: Its cells.
        figures: What the cells were made from.
    """

    how: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Any = field(default=None, repr=False)


class Conditions:
    """When and where something is measured: made before it, and asked when it is over."""

    def __init__(self) -> None:
        self.load = os.getloadavg()[0]

    def told(self) -> dict[str, str]:
        """All of them, as a table keeps them."""
        return {
            "machine": machine(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": commit(),
            "load": f"{self.load:.1f} before, {os.getloadavg()[0]:.1f} after",
        }


def machine() -> str:
    """What this runs on, in words that tell nothing of where it stands."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    many = NUMBERS[cores] if cores < len(NUMBERS) else str(cores)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"{many} core{'s' * (cores != 1)}, {memory:.0f} GiB, {platform.system()}, {python}, "
        "client and broker on the same machine"
    )


def commit() -> str:
    """The commit that is measured, and whether the package has changed since."""
    git = "git", "-C", str(HERE)
    try:
        name = subprocess.check_output((*git, "rev-parse", "--short=7", "HEAD"), text=True)
        changed = subprocess.check_output(
            (*git, "status", "--porcelain", "--", "../prokurist"), text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.strip() + (" and changes" if changed else "")


def release(package: str) -> str:
    """The version of a package; a dash where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "–"


def load(benchmark: str) -> dict[str, Any]:
    """What is kept of a benchmark; nothing where it never ran."""
    path = RESULTS / f"{benchmark}.json"
    if not path.exists():
        return {"clients": [], "tables": {}}
    kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return kept


def keep(
    benchmark: str,
    tables: Mapping[str, Table],
    clients: Sequence[Client],
    conditions: Mapping[str, str],
) -> None:
    """Keep what was found, in place of what was kept of the same tables."""
    kept = load(benchmark)
    kept["clients"] = [asdict(each) for each in clients]
    for name, table in tables.items():
        measured = {**conditions, "clients": releases(told_of(table, clients))}
        kept["tables"][name] = {"measured": measured, **asdict(table)}
    RESULTS.mkdir(exist_ok=True)
    told = json.dumps(kept, indent=1, ensure_ascii=False)
    (RESULTS / f"{benchmark}.json").write_text(told + "\n", "utf-8")


def told_of(table: Table, clients: Sequence[Client]) -> Sequence[Client]:
    """Those clients that a table names, which may be fewer than have a setting; else all."""
    names = " ".join([*table.columns, *(row[0] for row in table.rows)])
    return [each for each in clients if each.name.split(", ")[0] in names] or clients


def releases(clients: Sequence[Client]) -> str:
    """Each client and its version, once."""
    told = {each.name.split(", ")[0]: each.version for each in clients}
    return ", ".join(f"{name} {version}" for name, version in told.items() if version != "–")


def show(name: str, table: Table) -> None:
    """Print a table, as a page has it."""
    print(f"\n{name}\n\n" + "\n".join(lines(table.columns, table.rows)), flush=True)


def lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown: names and words to the left, figures to the right."""
    sides = ["---"] + [
        "--:" if are_figures([row[nth] for row in rows]) else "---"
        for nth in range(1, len(columns))
    ]
    return [
        "".join(f"| {cell} " if cell else "| " for cell in row) + "|"
        for row in (columns, sides, *rows)
    ]


def are_figures(cells: Sequence[str]) -> bool:
    """Whether most of some cells have a figure, of those that have anything."""
    told = [each for each in cells if each]
    return sum(each.lstrip("><-– (")[:1].isdigit() for each in told) * 2 >= len(told)
