"""The doctor's report, line by line as steps end.

On a terminal with colours, folded to its width; in a pipe one line for a step and one for
its advice; with `--json` an object in each line.

Thread: the main one.
"""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prokurist.cli.output import write
from prokurist.cli.steps import Step, StepResult

if TYPE_CHECKING:
    from rich.table import Table

MARKS: Final = {
    StepResult.OK: ("✓", "green"),
    StepResult.WARNING: ("!", "yellow"),
    StepResult.FAILED: ("✗", "bold red"),
    StepResult.SKIPPED: ("–", "dim"),
}


def reporter(*, as_json: bool) -> Callable[[Step], None]:
    """Return the function that writes each step: as JSON, as a table or as text."""
    if as_json:
        return in_json
    if not sys.stdout.isatty():
        return in_plain_text
    from rich.console import Console  # noqa: PLC0415 - in the extra

    console = Console()
    return lambda step: console.print(row(step))


def in_json(step: Step) -> None:
    """Write a step as one JSON object on a line."""
    line = {
        "step": step.name,
        "verdict": step.verdict.value,
        "seconds": step.seconds,
        "finding": step.finding,
        "advice": step.advice,
    }
    write([json.dumps(line) + "\n"])
    sys.stdout.flush()


def in_plain_text(step: Step) -> None:
    """Write a step as one line, and a second one for its advice."""
    finding = " ".join(step.finding.split())
    parts = f"{step.verdict.value:8}{step.name:12}{lasted(step):>9}  {finding}"
    write([f"{parts}\n", *([f"{'':31}→ {step.advice}\n"] if step.advice else [])])
    sys.stdout.flush()


def row(step: Step) -> "Table":
    """A step as a row for a terminal."""
    from rich.table import Table  # noqa: PLC0415 - in the extra
    from rich.text import Text  # noqa: PLC0415 - the same

    mark, style = MARKS[step.verdict]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=1)
    grid.add_column(width=11)
    grid.add_column(width=8, justify="right")
    grid.add_column(overflow="fold")
    quiet = "dim" if step.verdict is StepResult.SKIPPED else ""
    grid.add_row(
        Text(mark, style),
        Text(step.name, quiet or "bold"),
        Text(lasted(step), "dim"),
        Text(step.finding, quiet),
    )
    if step.advice:
        grid.add_row("", "", Text("→", style), Text(step.advice, "italic"))
    return grid


def lasted(step: Step) -> str:
    """Format a step's duration, rounded for a reader."""
    if step.seconds is None:
        return ""
    if step.seconds < 1:
        return f"{step.seconds * 1000:.1f} ms"
    return f"{step.seconds:.2f} s"
