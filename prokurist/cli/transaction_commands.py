"""`transactions` with its subcommands.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from typing import Annotated, TypeAlias

import typer

from prokurist.cli.arguments import (
    DryRun,
    Topics,
    Work,
    Yes,
    with_options,
)
from prokurist.cli.command_options import CommandOptions

Ids: TypeAlias = Annotated[list[str], typer.Argument(metavar="ID…", help="Transactional ids.")]
Older: TypeAlias = Annotated[
    float,
    typer.Option("--older", metavar="SECONDS", min=0, help="Since the last record, at least."),
]


@with_options
def transactions(
    asked: CommandOptions,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Ongoing, Empty, CompleteCommit, …"),
    ] = None,
    running_for: Annotated[
        float | None,
        typer.Option("--running-for", metavar="SECONDS", min=0, help="Open for so long."),
    ] = None,
    *,
    as_json: bool,
) -> Work:
    """List transactions; find hanging ones, abort, fence."""
    from prokurist.cli import transaction_changes as command

    return partial(command.list_all, asked, state or (), running_for, as_json=as_json)


@with_options
def describe(asked: CommandOptions, ids: Ids, *, as_json: bool) -> Work:
    """Show transactional ids and their partitions."""
    from prokurist.cli import transaction_changes as command

    return partial(command.describe, asked, ids, as_json=as_json)


@with_options
def hanging(
    asked: CommandOptions,
    topic: Topics = None,
    broker: Annotated[
        int | None, typer.Option("--broker", metavar="ID", help="All topics of this broker.")
    ] = None,
    older: Older = 900.0,
    *,
    as_json: bool,
) -> Work:
    """Show open transactions that no coordinator will end."""
    from prokurist.cli import transaction_changes as command
    from prokurist.cli.errors import Misused

    if not topic and broker is None:
        raise Misused("name topics with -t, or a broker with --broker")
    return partial(command.hanging, asked, topic or (), broker, older, as_json=as_json)


@with_options
def abort(
    asked: CommandOptions,
    topic: Annotated[str, typer.Option("-t", "--topic", metavar="TOPIC", help="The topic.")],
    partition: Annotated[
        int, typer.Option("-p", "--partition", metavar="N", min=0, help="Its partition.")
    ],
    producer_id: Annotated[
        int, typer.Option("--producer-id", metavar="ID", help="The producer.")
    ],
    start: Annotated[
        int, typer.Option("--start", metavar="OFFSET", help="Where the transaction begins.")
    ],
    older: Older = 900.0,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Abort a hanging transaction; one that lives is refused."""
    from prokurist.cli import transaction_changes as command

    return partial(
        command.abort,
        asked,
        topic,
        partition,
        producer_id,
        start,
        older,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def fence(
    asked: CommandOptions,
    ids: Ids,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Fence producers, and abort their open transactions."""
    from prokurist.cli import transaction_changes as command

    return partial(command.fence, asked, ids, yes=yes, dry_run=dry_run, as_json=as_json)
