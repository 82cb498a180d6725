"""The tables of `rebalance.py`, as docs/benchmarks.md has them."""

from collections.abc import Sequence
from typing import Any

from conditions import show

PHASES = (
    "quiet",
    "one joins",
    "one leaves",
    "one is killed",
    "one freezes, one joins",
    "2 → 20",
)


def cell(rows: dict[str, Any], phase: str, what: str, scale: float, digits: int) -> str:
    """A figure as a cell; a dash where there is none."""
    figure = rows.get(phase, {}).get(what)
    return "-" if figure is None else f"{figure * scale:.{digits}f}"


def present(result: dict[str, dict[str, Any]]) -> None:
    """The tables, as docs/benchmarks.md has them."""
    show("\nThe longest `poll(0.2)`, ms; in brackets the longest bare wait meanwhile:\n")
    polls = [(phase, phase, "longest poll") for phase in PHASES]
    polls += [(f"{PHASES[-1]}: who joins", PHASES[-1], "longest poll of who joins")]
    head([title for title, _, _ in polls])
    for name, rows in result.items():
        cells = (
            f"{cell(rows, phase, what, 1000, 0)} "
            f"({cell(rows, phase, 'longest bare wait', 1000, 0)})"
            for _, phase, what in polls
        )
        show(f"| {name} | {' | '.join(cells)} |")
    show("\nThe longest pause of partitions that stayed, ms; in brackets how many stayed:\n")
    head(PHASES)
    for name, rows in result.items():
        cells = (
            f"{cell(rows, each, 'longest pause', 1000, 0)} "
            f"({cell(rows, each, 'staying', 1, 0)})"
            for each in PHASES
        )
        show(f"| {name} | {' | '.join(cells)} |")
    show("\nSeconds until others read what one had, and until all had their shares:\n")
    moments = (
        ("left: read elsewhere", "one leaves", "elsewhere"),
        ("killed: read elsewhere", "one is killed", "elsewhere"),
        ("frozen: read elsewhere", "one freezes, one joins", "elsewhere"),
        ("joined: all settled", "one joins", "settled"),
        ("2 → 20: all settled", "2 → 20", "settled"),
    )
    head([title for title, _, _ in moments])
    for name, rows in result.items():
        cells = (cell(rows, phase, what, 1, 2) for _, phase, what in moments)
        show(f"| {name} | {' | '.join(cells)} |")


def head(columns: Sequence[str]) -> None:
    """The first two lines of a table."""
    show(f"| | {' | '.join(columns)} |")
    show("|---|" + "--:|" * len(columns))
