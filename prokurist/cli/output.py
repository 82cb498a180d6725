"""Rows as people, pipes and programs want them.

On a terminal a table with colours; in a pipe columns of plain text, without any cut at a width;
with `--json` a JSON object in each line.

Thread: the main one.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from prokurist.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from rich.table import Table

Cell: TypeAlias = "int | str | list[int] | None"
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: Key of its values in a row, and in JSON.
        style: How it looks on a terminal, as Rich names it.
    """

    key: str
    style: str = ""

    @property
    def title(self) -> str:
        """The column's heading."""
        return self.key.replace("_", " ")


def show(columns: Sequence[Column], rows: Sequence[Row], *, as_json: bool) -> None:
    """Write rows to standard output: a table for a terminal, else plain columns or JSON."""
    if as_json:
        write(json.dumps(dict(row)) + "\n" for row in rows)
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - in the extra

        Console().print(table(columns, rows))
    else:
        write(plain(columns, rows))
    sys.stdout.flush()


def write(lines: Iterable[str]) -> None:
    """Write lines to standard output."""
    sys.stdout.writelines(lines)


def table(columns: Sequence[Column], rows: Sequence[Row]) -> "Table":
    """The table that a terminal gets."""
    from rich import box  # noqa: PLC0415 - in the extra
    from rich.table import Table  # noqa: PLC0415 - the same

    made = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        numeric = is_numeric(column, rows)
        made.add_column(
            column.title,
            justify="right" if numeric else "left",
            style=column.style or None,
            no_wrap=numeric,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(text(row[column.key]) for column in columns))
    return made


def plain(columns: Sequence[Column], rows: Sequence[Row]) -> Iterable[str]:
    """The lines that a pipe gets."""
    cells = [
        [column.title.replace(" ", "-") for column in columns],
        *([text(row[column.key]) for column in columns] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [is_numeric(column, rows) for column in columns]
    for line in cells:
        padded = (
            cell.rjust(width) if to_the_right else cell.ljust(width)
            for cell, width, to_the_right in zip(line, widths, right, strict=True)
        )
        yield "  ".join(padded).rstrip() + "\n"


def is_numeric(column: Column, rows: Sequence[Row]) -> bool:
    """True if a column holds numbers, perhaps with gaps."""
    cells = [row[column.key] for row in rows if row[column.key] is not None]
    return bool(cells) and all(isinstance(cell, int) for cell in cells)


def text(cell: Cell) -> str:
    """Format a cell; unknown values are a dash, so that no column is empty."""
    if cell is None or cell == []:
        return "-"
    return ",".join(map(str, cell)) if isinstance(cell, list) else str(cell)
