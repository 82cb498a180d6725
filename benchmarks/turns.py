"""Clients by turns: each turn in a fresh process, round by round, best settings, and ratios.

The machine is shared and drifts, so that all clients have their turn within a round, every
other round in the opposite order, and a ratio is one of two turns of the same round. Of a
client with several settings that one is told which was the fastest, by the median of its turns.

Thread: the main one.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

MINUTES = 7.0
"""For all rounds of a table."""

Figures = Mapping[str, float]
"""What a turn came to: `rate`, and what else it has measured."""


class Turn(NamedTuple):
    """One client in one setting, used in one way."""

    client: str
    setting: str
    way: str

    @property
    def title(self) -> str:
        """What a table calls it."""
        return f"{self.client}, {self.setting}" if self.setting else self.client


Run = Callable[[Sequence[Turn]], Sequence[Figures | None]]
"""Runs the turns that share a process, and has the figures of each."""

Rounds = Mapping[Turn, Sequence[Figures | None]]
"""The figures of each round; None where a turn has failed."""


class Spread(NamedTuple):
    """A median, and from where to where."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """That of some values, of which there is one at least."""
        return cls(statistics.median(values), min(values), max(values))

    def told(self, digits: int) -> str:
        """As a cell."""
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"


def by_turns(
    processes: Sequence[Sequence[Turn]], rounds: int, minutes: float, run: Run
) -> Rounds:
    """Let all of them have their turns, and tell each one's figures as they come.

    On a machine so slow that a further round would not end within the minutes, there is none.
    """
    began = time.monotonic()
    found: dict[Turn, list[Figures | None]] = {
        turn: [] for process in processes for turn in process
    }
    for nth in range(rounds):
        if nth and (time.monotonic() - began) * (nth + 1) / nth > 60 * minutes:
            break
        for process in list(processes)[:: -1 if nth % 2 else 1]:
            for turn, figures in zip(process, run(process), strict=True):
                print(*turn, figures, sep=" | ", file=sys.stderr, flush=True)
                found[turn].append(figures)
    return found


def figures_of(
    command: Sequence[str],
    lines: int,
    within: float,
    environment: Mapping[str, str] | None = None,
) -> Sequence[Figures | None]:
    """Run a program, and read its last lines as figures; None for each where it has failed."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=within,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        return [None] * lines
    except subprocess.CalledProcessError as failed:
        print(failed.stderr[-500:], file=sys.stderr, flush=True)
        return [None] * lines
    return [json.loads(line) for line in done.stdout.splitlines()[-lines:]]


def many(rounds: Rounds) -> int:
    """How many rounds there were."""
    return len(next(iter(rounds.values())))


def values(of: Sequence[Figures | None], key: str) -> list[float]:
    """One figure of all rounds that have not failed."""
    return [each[key] for each in of if each]


def median(of: Sequence[Figures | None], key: str) -> float:
    """The median of the rounds; 0 where all have failed."""
    return statistics.median(values(of, key) or [0.0])


def times(one: Sequence[Figures | None], other: Sequence[Figures | None]) -> Spread | None:
    """How many times as fast one was as the other, by the turns of one round."""
    pairs = zip(one, other, strict=True)
    found = [mine["rate"] / its["rate"] for mine, its in pairs if mine and its]
    return Spread.of(found) if found else None


def thousands(spread: Spread) -> str:
    """A spread of rates as a cell, in thousands."""
    told = [f"{each / 1000:,.0f}".replace(",", " ") for each in spread]
    return f"{told[0]} ({told[1]}–{told[2]})"


def cell(spread: Spread | None, digits: int = 2) -> str:
    """A spread as a cell; a dash where there is none."""
    return "–" if spread is None else spread.told(digits)


def best(rounds: Rounds) -> list[Turn]:
    """Of each client's settings that which was the fastest, for each way."""
    chosen: dict[tuple[str, str], Turn] = {}
    for turn, figures in rounds.items():
        key = turn.client, turn.way
        if key not in chosen or median(figures, "rate") > median(rounds[chosen[key]], "rate"):
            chosen[key] = turn
    return list(chosen.values())


def kept(rounds: Rounds) -> dict[str, Sequence[Figures | None]]:
    """All figures, for a data file."""
    return {
        " | ".join(turn): [
            each and {key: round(value, 3) for key, value in each.items()} for each in of
        ]
        for turn, of in rounds.items()
    }
