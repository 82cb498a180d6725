"""The tables of `produce.py`, as docs/benchmarks.md has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from data_files import Table
from turns import Figures, Rounds, Spread, Turn, best, cell, kept, thousands, times, values

OURS = "prokurist"
OUR_WAYS = ("flush", "handles", "callbacks")
LARGE = 1000
"""Bytes from which on values are large: there ours is asked not to be slower."""


def written(size: int, rounds: Rounds, said: str) -> dict[str, Table]:
    """The tables of one size of values."""
    ours = [Turn(OURS, "", way) for way in OUR_WAYS]
    rows = []
    for turn in best(rounds):
        figures = rounds[turn]
        ratios = [
            "" if turn.client == OURS else cell(times(rounds[each], figures))
            for each in ours
            if each in rounds
        ]
        rows.append((turn.title, turn.way, *written_cells(figures), *ratios))
    columns = (
        "client",
        "keeps",
        "thousand records/s",
        "CPU s per million",
        *(f"ours, {turn.way}, is so many times as fast" for turn in ours if turn in rounds),
    )
    every = [
        (turn.title, turn.way, *written_cells(figures))
        for turn, figures in rounds.items()
        if sum(each.client == turn.client and each.way == turn.way for each in rounds) > 1
    ]
    return {
        f"{size} B": Table(said, columns, rows, kept(rounds)),
        f"{size} B, every setting": Table(said, columns[:4], every),
        f"{size} B, aims": aims(size, rounds, said),
    }


def written_cells(figures: Sequence[Figures | None]) -> tuple[str, str]:
    """Rate and processor time of a turn's rounds."""
    if not any(figures):
        return "failed", "–"
    return thousands(Spread.of(values(figures, "rate"))), cell(
        Spread.of(values(figures, "cpu"))
    )


def aims(size: int, rounds: Rounds, said: str) -> Table:
    """What was asked for beside the best confluent-kafka, and what came of it."""
    chosen = {(turn.client, turn.way): turn for turn in best(rounds)}
    pairs = (
        ("handles, times confluent-kafka's callbacks", "handles", "callbacks", 1.5),
        ("callbacks, times confluent-kafka's callbacks", "callbacks", "callbacks", 2.0),
        ("flush, times confluent-kafka's flush", "flush", "flush", 1.5),
        ("handles, times confluent-kafka's flush", "handles", "flush", None),
    )
    rows = []
    for what, way, its, goal in pairs:
        ours, other = Turn(OURS, "", way), chosen.get(("confluent-kafka", its))
        if ours not in rounds or other is None:
            continue
        bound = 1.0 if size >= LARGE and goal else goal
        asked = "–" if bound is None else f"at least {bound:g}"
        rows.append((what, asked, cell(times(rounds[ours], rounds[other]))))
    return Table(said, ("", "asked", "found"), rows)


def late_calls(figures: Mapping[str, Mapping[str, Any]], calls: int) -> Table:
    """The table of the frozen broker."""
    rows = []
    for client, row in figures.items():
        waits = [
            f"{row[which][each]:.1f}"
            for which in ("send", "bare")
            for each in ("p50", "p99.9", "max")
        ]
        rows.append(
            (
                *(client, *waits, late(row, "flush"), late(row, "close")),
                *(f"{row['still']:.3f}", f"{row['filled']:.0f}", f"{row['growth']:.1f}"),
            )
        )
    columns = (
        *("client", "send p50", "p99.9", "max", "sleep p50", "p99.9", "max"),
        *("flush(2)", "close(2)", "cores", "MiB when full", "MiB grown then"),
    )
    said = f"Milliseconds behind the deadline of {calls} calls of `send`, values of 1 KiB"
    return Table(said, columns, rows)


def late(row: Mapping[str, Any], call: str) -> str:
    """How late a call has ended, in milliseconds."""
    if call not in row:
        return "no timeout"
    return "> 30 s" if row[call] is None else f"{1000 * row[call]:.1f}"
