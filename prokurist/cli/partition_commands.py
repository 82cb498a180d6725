"""`configs`, `records`, `elect`, `log-dirs`: commands about configurations and partitions.

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
    Partitions,
    Topics,
    Work,
    Yes,
    numbers_of,
    with_options,
)
from prokurist.cli.command_options import CommandOptions, properties_of

Resource: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="RESOURCE",
        help="topic:NAME, broker:ID, group:NAME, client-metrics:NAME; brokers for all.",
    ),
]


@with_options
def configs_show(
    asked: CommandOptions,
    resources: Annotated[
        list[str],
        typer.Argument(
            metavar="RESOURCE…",
            help="topic:NAME, broker:ID, group:NAME, client-metrics:NAME; brokers for all.",
        ),
    ],
    key: Annotated[
        list[str] | None,
        typer.Option("-k", "--key", metavar="KEY", help="This key; several times for several."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Defaults, too.", show_default=False)
    ] = False,
    *,
    as_json: bool,
) -> Work:
    """Show the keys that a resource itself has."""
    from prokurist.cli import config_changes as command

    return partial(
        command.show_keys, asked, resources, key or (), everything=everything, as_json=as_json
    )


@with_options
def configs_set(
    asked: CommandOptions,
    resource: Resource,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE…",
            help="KEY+=ELEMENT and KEY-=ELEMENT for lists.",
            show_default=False,
        ),
    ] = None,
    secrets: Annotated[
        Path | None,
        typer.Option("--from-file", metavar="FILE", help="More, a line each; for secrets."),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Set keys; all other keys stay as they are."""
    from prokurist.cli import config_changes as command
    from prokurist.cli.errors import Misused

    wanted = command.changes_of(changes or ())
    if secrets is not None:
        wanted.update(command.secrets_of(properties_of(secrets)))
    if not wanted:
        raise Misused("give a change, such as retention.ms=86400000")
    return partial(
        command.change, asked, resource, wanted, yes=yes, dry_run=dry_run, as_json=as_json
    )


@with_options
def configs_unset(
    asked: CommandOptions,
    resource: Resource,
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="Keys.")],
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Reset keys: the default counts again."""
    from prokurist.admin import Delete
    from prokurist.cli import config_changes as command

    return partial(
        command.change,
        asked,
        resource,
        {key: Delete() for key in keys},
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def records_delete(
    asked: CommandOptions,
    topic: NeededTopics,
    before: Annotated[
        str,
        typer.Option("--before", metavar="OFFSET", help="The first to keep; end for none."),
    ],
    partition: Partitions = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Delete the records before an offset, for good."""
    from prokurist.cli import partition_changes as command

    return partial(
        command.delete_records,
        asked,
        topic,
        numbers_of(partition or ()),
        before,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def elect(
    asked: CommandOptions,
    topic: Topics = None,
    partition: Partitions = None,
    unclean: Annotated[
        bool,
        typer.Option(
            "--unclean", help="Also replicas out of sync: loses records.", show_default=False
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Elect preferred leaders, of all topics unless named."""
    from prokurist.cli import partition_changes as command

    return partial(
        command.elect,
        asked,
        topic or (),
        numbers_of(partition or ()),
        unclean=unclean,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def log_dirs(
    asked: CommandOptions,
    broker: Annotated[
        list[int] | None,
        typer.Option("--broker", metavar="ID", help="This broker; several times for several."),
    ] = None,
    *,
    as_json: bool,
) -> Work:
    """Show the disks of brokers."""
    from prokurist.cli import partition_changes as command

    return partial(command.log_dirs, asked, broker or (), as_json=as_json)
