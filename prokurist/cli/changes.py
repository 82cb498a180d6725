"""Changes of the cluster on the command line: confirmed, made, and reported item by item.

Thread: the main one.
Invariants: what loses something is asked for by `--yes`, or by the typed number. Without a
terminal nothing is asked. A dry run changes nothing. Each item has its line; the exit code is 1
if any has failed.
"""

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any

from prokurist.admin.results import Results
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.errors import KafkaException
from prokurist.types import counted

ITEMS = (Column("item", "bold"), Column("result"))
DRY = "a dry run, nothing was changed"


def confirmed(
    asked: CommandOptions, deed: str, number: int, noun: str, *, yes: bool
) -> CommandOptions:
    """Have a change confirmed; return the options with all the time again.

    Args:
        asked: Options of the command.
        deed: The verb, such as `delete`.
        number: How many items it concerns.
        noun: The noun, in the singular.
        yes: True where `--yes` is given.

    Raises:
        Failed: Something else was typed, or nothing in time.
        Misused: There is no terminal to ask on, and no `--yes`.
    """
    what = f"{deed} {counted(number, noun)}"
    if yes:
        return asked
    if not sys.stdin.isatty():
        raise Misused(f"to {what} without a terminal, give --yes; --dry-run shows them")
    sys.stderr.write(f"type {number} to {what}: ")
    sys.stderr.flush()
    typed = SimpleQueue[str]()
    # Not to be interrupted: it ends with the process.
    threading.Thread(target=lambda: typed.put(sys.stdin.readline()), daemon=True).start()
    try:
        answer = typed.get(timeout=asked.left())
    except Empty:
        sys.stderr.write("\n")
        raise Failed(f"no answer within {asked.timeout:g} s: nothing was changed") from None
    if answer.strip() != str(number):
        raise Failed("something else was typed: nothing was changed")
    return replace(asked)


def reported(
    asked: CommandOptions,
    results: Results[Any, Any] | Mapping[Any, KafkaException | None],
    done: str,
    *,
    as_json: bool,
    dry_run: bool = False,
    described: Callable[[Any], str] | None = None,
    words: Mapping[Any, str] = MappingProxyType({}),
) -> int:
    """Show the outcome of each item.

    Args:
        asked: Options of the command.
        results: The outcomes.
        done: The participle, such as `created`.
        as_json: See `output.show`.
        dry_run: True if nothing was changed.
        described: Says more of an item's value; None to say nothing.
        words: Other words than `done`, by item.

    Returns:
        The exit code.
    """
    errors = (
        results.errors
        if isinstance(results, Results)
        else {item: error for item, error in results.items() if error is not None}
    )
    values = results.succeeded if isinstance(results, Results) else {}
    rows: list[Row] = []
    for item in results:
        error = errors.get(item)
        if as_json:
            rows.append(
                {
                    "item": str(item),
                    "ok": error is None,
                    "error": None if error is None else f"{type(error).__name__}: {error}",
                    "may_have_happened": error is not None and error.may_have_happened,
                }
            )
            continue
        result = words.get(item, f"would be {done}" if dry_run else done)
        if described is not None and item in values and (more := described(values[item])):
            result = f"{result}, {more}"
        rows.append({"item": str(item), "result": result if error is None else failure(error)})
    show(ITEMS, rows, as_json=as_json)
    if dry_run:
        asked.say(DRY)
    return 1 if errors else 0


def failure(error: KafkaException) -> str:
    """An error in one line."""
    happened = "; it may have happened" if error.may_have_happened else ""
    return f"failed: {' '.join(str(error).split())}{happened}"


def error_of(change: Callable[[], object]) -> KafkaException | None:
    """Make a change of one item; return its error."""
    try:
        change()
    except KafkaException as error:
        return error
    return None
