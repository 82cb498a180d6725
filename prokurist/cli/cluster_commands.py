"""`brokers`, `offsets`, `lag`: commands about a cluster.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from typing import Annotated

import typer

from prokurist.cli.arguments import (
    Group,
    Topics,
    Work,
    with_options,
)
from prokurist.cli.command_options import CommandOptions


@with_options
def brokers(
    asked: CommandOptions,
    *,
    as_json: bool,
) -> Work:
    """List brokers, and what each holds."""
    from prokurist.cli import cluster_brokers as command

    return partial(command.run, asked, as_json=as_json)


@with_options
def lag(
    asked: CommandOptions,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "-G", "--group", metavar="GROUP", help="This group; several times for several."
        ),
    ] = None,
    topic: Topics = None,
    fail_above: Annotated[
        int | None,
        typer.Option(
            "--fail-above",
            metavar="N",
            min=0,
            help="Exit code 1 if one lags by more in a topic.",
        ),
    ] = None,
    *,
    as_json: bool,
) -> Work:
    """Show how far groups lag; all of them unless named."""
    from prokurist.cli import lag as command

    return partial(
        command.run, asked, group or (), topic or (), fail_above=fail_above, as_json=as_json
    )


@with_options
def offsets(
    asked: CommandOptions,
    group: Group,
    topic: Topics = None,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="Again and again.", show_default=False)
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="How often, with -w.")
    ] = 2.0,
    *,
    as_json: bool,
) -> Work:
    """Show a group's offsets and lag."""
    from prokurist.cli import offsets as command

    return partial(
        command.run, asked, group, topic or (), every=every if watch else None, as_json=as_json
    )
