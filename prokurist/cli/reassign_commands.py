"""`reassign` with its subcommands.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from prokurist.cli.arguments import (
    DryRun,
    NeededTopics,
    Work,
    Yes,
    broker_ids_of,
    with_options,
)
from prokurist.cli.command_options import CommandOptions

Undo: TypeAlias = Annotated[
    bool, typer.Option("--undo", help="The way back.", show_default=False)
]


@with_options
def reassign(asked: CommandOptions, *, as_json: bool) -> Work:
    """List moves of partitions; plan, start, verify, cancel them."""
    from prokurist.cli import reassignments as command

    return partial(command.list_moves, asked, as_json=as_json)


@with_options
def plan(
    asked: CommandOptions,
    topic: NeededTopics,
    broker: Annotated[
        list[str],
        typer.Option("--broker", metavar="ID,…", help="The brokers to be used."),
    ],
    ignore_racks: Annotated[
        bool,
        typer.Option("--ignore-racks", help="Spread over racks or not.", show_default=False),
    ] = False,
    *,
    as_json: bool,
) -> Work:
    """Plan to spread topics over brokers, with few copies; nothing is changed."""
    from prokurist.cli import reassignments as command

    brokers = broker_ids_of(broker)
    return partial(
        command.plan, asked, topic, brokers, rack_aware=not ignore_racks, as_json=as_json
    )


@with_options
def start(
    asked: CommandOptions,
    moves: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC:PARTITION=ID,ID…",
            help="The preferred leader first.",
            show_default=False,
        ),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="What `reassign plan -J` has written."),
    ] = None,
    undo: Undo = False,
    throttle: Annotated[
        int | None,
        typer.Option(
            "--throttle", metavar="BYTES", min=1, help="Of each broker, in a second; of a plan."
        ),
    ] = None,
    allow_rf_change: Annotated[
        bool,
        typer.Option(
            "--allow-rf-change", help="Another number of replicas.", show_default=False
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Move partitions to brokers; the copying goes on by itself."""
    from prokurist.cli import reassignments as command

    return partial(
        command.start_moves,
        asked,
        moves or (),
        plan_file,
        undo=undo,
        throttle=throttle,
        allow_rf_change=allow_rf_change,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def verify(
    asked: CommandOptions,
    plan_file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `reassign plan -J` has written.")
    ],
    undo: Undo = False,
    *,
    as_json: bool,
) -> Work:
    """Show how far a plan is; remove its throttle once nothing is copied."""
    from prokurist.cli import reassignments as command

    return partial(command.verify, asked, plan_file, undo=undo, as_json=as_json)


@with_options
def cancel(
    asked: CommandOptions,
    partitions: Annotated[
        list[str], typer.Argument(metavar="TOPIC:PARTITION…", help="Partitions.")
    ],
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """End moves that are under way: the old replicas stay."""
    from prokurist.cli import reassignments as command

    return partial(command.cancel_moves, asked, partitions, dry_run=dry_run, as_json=as_json)
