"""`doctor`, `spark doctor`, `config check`, `completion`: checks of setups and configurations.

Thread: the main one.
Invariants: see `app.py`.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from prokurist.cli.arguments import (
    Json,
    Quiet,
    Topics,
    Work,
    with_options,
)
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.output import write
from prokurist.types import counted


@with_options
def doctor(
    asked: CommandOptions,
    group: Annotated[
        str | None,
        typer.Option("-G", "--group", metavar="GROUP", help="Look for its coordinator, too."),
    ] = None,
    topic: Topics = None,
    *,
    as_json: bool,
) -> Work:
    """Find out what is wrong on the way."""
    from prokurist.cli import doctor as command

    return examining(asked, lambda: command.run(asked, group, topic or ()), as_json=as_json)


@partial(with_options, timeout=120.0)
def spark_doctor(
    asked: CommandOptions,
    master: Annotated[
        str,
        typer.Option("--master", metavar="MASTER", help="Spark's master."),
    ] = "local[2,3]",
    topic: Topics = None,
    *,
    as_json: bool,
) -> Work:
    """Find out what is wrong around Spark."""
    from prokurist.cli import spark_doctor as command

    return examining(asked, lambda: command.run(asked, master, topic or []), as_json=as_json)


def examining(
    asked: CommandOptions, steps: Callable[[], Iterator[Any]], *, as_json: bool
) -> Work:
    """Return the work of a doctor: report each step as it ends; exit with 1 if any fails."""
    from prokurist.cli.reports import reporter
    from prokurist.cli.steps import StepResult

    report = reporter(as_json=as_json)

    def examine() -> int:
        failed = 0
        for step in steps():
            report(step)
            failed += step.verdict is StepResult.FAILED
        asked.say(f"{counted(failed, 'fault')} found" if failed else "no fault found")
        return 1 if failed else 0

    return examine


def config_check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A property file, or a JSON object; - for stdin."),
    ],
    producer: Annotated[
        bool,
        typer.Option("--producer", help="It is of a producer.", show_default=False),
    ] = False,
    translate: Annotated[
        bool,
        typer.Option("--translate", help="Write a property file of ours.", show_default=False),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> Work:
    """Say what each key of a client's configuration means here; no broker is asked."""
    from prokurist.cli import config_checks as command

    asked = CommandOptions(quiet=quiet)
    return partial(
        command.run, asked, file, producer=producer, translate=translate, as_json=as_json
    )


class Shell(Enum):
    """The shells that there are completions for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> Work:
    """Write completions for a shell."""
    # As in `entry.py`.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from prokurist.cli.completion import COMPLETION

    script = get_completion_script(
        prog_name="prokurist", complete_var=COMPLETION, shell=shell.value
    )
    return partial(write, [f"{script}\n"])
