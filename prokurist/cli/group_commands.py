"""`groups` with its subcommands: commands about groups.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from typing import Annotated, TypeAlias

import typer

from prokurist.cli.arguments import (
    DryRun,
    NeededTopics,
    Partitions,
    Work,
    Yes,
    numbers_of,
    with_options,
)
from prokurist.cli.command_options import CommandOptions

OptionalNames: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="GROUP…", help="Groups.", show_default=False)
]
Matching: TypeAlias = Annotated[
    str | None,
    typer.Option("--matching", metavar="REGEX", help="All that it fits as a whole."),
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="GROUP", help="The group.")]


@with_options
def groups(
    asked: CommandOptions,
    *,
    as_json: bool,
) -> Work:
    """List groups; describe, reset, delete them."""
    from prokurist.cli import groups as command

    return partial(command.run, asked, as_json=as_json)


@with_options
def describe(
    asked: CommandOptions,
    names: Annotated[list[str], typer.Argument(metavar="GROUP…", help="Groups.")],
    *,
    as_json: bool,
) -> Work:
    """Show the members of groups, and their partitions."""
    from prokurist.cli import group_changes as command

    return partial(command.describe, asked, names, as_json=as_json)


@with_options
def delete(
    asked: CommandOptions,
    names: OptionalNames = None,
    matching: Matching = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Delete groups, with their committed offsets."""
    from prokurist.cli import group_changes as command

    return partial(
        command.delete,
        asked,
        names or (),
        matching=matching,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def delete_offsets(
    asked: CommandOptions,
    name: Name,
    topic: NeededTopics,
    partition: Partitions = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Delete committed offsets of a group."""
    from prokurist.cli import group_changes as command

    return partial(
        command.delete_offsets,
        asked,
        name,
        topic,
        numbers_of(partition or ()),
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def remove_members(
    asked: CommandOptions,
    name: Name,
    member: Annotated[
        list[str] | None, typer.Option("--member", metavar="ID", help="This member.")
    ] = None,
    instance: Annotated[
        list[str] | None,
        typer.Option("--instance", metavar="ID", help="This static member."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="All that there are.", show_default=False)
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Remove members from a group; one that is alive joins again."""
    from prokurist.cli import group_changes as command

    return partial(
        command.remove_members,
        asked,
        name,
        member or (),
        instance or (),
        everyone=everyone,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )
