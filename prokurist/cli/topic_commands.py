"""`topics` with its subcommands: commands about topics.

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
    pairs_of,
    with_options,
)
from prokurist.cli.command_options import CommandOptions

Names: TypeAlias = Annotated[list[str], typer.Argument(metavar="TOPIC…", help="Topics.")]


@with_options
def topics(
    asked: CommandOptions,
    topic: Topics = None,
    *,
    as_json: bool,
) -> Work:
    """List topics; create, alter, delete them."""
    from prokurist.cli import topics as command

    return partial(command.run, asked, topic or (), as_json=as_json)


@with_options
def create(
    asked: CommandOptions,
    names: Names,
    partitions: Annotated[
        int | None,
        typer.Option("-n", "--partitions", metavar="N", min=1, help="How many partitions."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "-r", "--replication-factor", metavar="N", min=1, help="Copies of each partition."
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("-c", "--config", metavar="KEY=VALUE", help="A key of its configuration."),
    ] = None,
    if_not_exists: Annotated[
        bool,
        typer.Option(
            "--if-not-exists",
            help="One that fits and exists is no failure.",
            show_default=False,
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Until all live brokers know it.", show_default=False),
    ] = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Create topics."""
    from prokurist.cli import topic_changes as command

    return partial(
        command.create,
        asked,
        names,
        partitions=partitions,
        replication_factor=replication_factor,
        configs=pairs_of(config or (), "-c"),
        if_not_exists=if_not_exists,
        wait=wait,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def alter(
    asked: CommandOptions,
    names: Names,
    partitions: Annotated[
        int,
        typer.Option("-n", "--partitions", metavar="N", min=1, help="How many in all."),
    ],
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Give topics more partitions; keys go to other partitions then."""
    from prokurist.cli import topic_changes as command

    return partial(
        command.alter, asked, names, partitions=partitions, dry_run=dry_run, as_json=as_json
    )


@with_options
def delete(
    asked: CommandOptions,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC…", help="Topics.", show_default=False)
    ] = None,
    matching: Annotated[
        str | None,
        typer.Option("--matching", metavar="REGEX", help="All that it fits as a whole."),
    ] = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Kafka's own, too.", show_default=False)
    ] = False,
    if_exists: Annotated[
        bool,
        typer.Option(
            "--if-exists", help="One that is missing is no failure.", show_default=False
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Delete topics, with their records."""
    from prokurist.cli import topic_changes as command

    return partial(
        command.delete,
        asked,
        names or (),
        matching=matching,
        internal=internal,
        if_exists=if_exists,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def describe(asked: CommandOptions, names: Names, *, as_json: bool) -> Work:
    """Describe topics, partition by partition."""
    from prokurist.cli import topic_changes as command

    return partial(command.describe, asked, names, as_json=as_json)
