"""The tables of `rebalance.py`, as docs/benchmarks.md has them."""

from collections.abc import Iterable, Sequence
from typing import Any

from data_files import Table

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


def tables(result: dict[str, dict[str, Any]]) -> dict[str, Table]:
    """Polls, pauses and moments: a row for each client and protocol."""
    polls = [(phase, phase, "longest poll") for phase in PHASES]
    polls += [(f"{PHASES[-1]}: who joins", PHASES[-1], "longest poll of who joins")]
    moments = (
        ("left: read elsewhere", "one leaves", "elsewhere"),
        ("killed: read elsewhere", "one is killed", "elsewhere"),
        ("frozen: read elsewhere", "one freezes, one joins", "elsewhere"),
        ("joined: all settled", "one joins", "settled"),
        ("2 → 20: all settled", "2 → 20", "settled"),
    )
    longest, pauses, seconds = [], [], []
    for name, rows in result.items():
        longest.append(
            (
                name,
                *(
                    f"{cell(rows, phase, what, 1000, 0)} "
                    f"({cell(rows, phase, 'longest bare wait', 1000, 0)})"
                    for _, phase, what in polls
                ),
            )
        )
        pauses.append(
            (
                name,
                *(
                    f"{cell(rows, each, 'longest pause', 1000, 0)} "
                    f"({cell(rows, each, 'staying', 1, 0)})"
                    for each in PHASES
                ),
            )
        )
        seconds.append((name, *(cell(rows, phase, what, 1, 2) for _, phase, what in moments)))
    return {
        "polls": Table(
            "The longest `poll(0.2)` of any member, milliseconds; in brackets the longest bare "
            "wait meanwhile",
            head(title for title, _, _ in polls),
            longest,
        ),
        "pauses": Table(
            "The longest pause of partitions that stayed, milliseconds; in brackets how many "
            "stayed",
            head(PHASES),
            pauses,
        ),
        "moments": Table(
            "Seconds until others read what one had, and until all had their shares",
            head(title for title, _, _ in moments),
            seconds,
        ),
    }


def head(columns: Iterable[str]) -> Sequence[str]:
    """The head of a table, whose first column has none."""
    return ["", *columns]
