"""`features` and `quorum` with their subcommands.

Thread: the main one.
Invariants: see `app.py`.
"""

from enum import Enum
from functools import partial
from typing import Annotated, TypeAlias

import typer

from prokurist.cli.arguments import DryRun, Work, Yes, pairs_of, with_options
from prokurist.cli.command_options import CommandOptions

Voter: TypeAlias = Annotated[int, typer.Argument(metavar="ID", min=0, help="The controller.")]
Directory: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="DIRECTORY", help="The id of its metadata directory."),
]


@with_options
def features(
    asked: CommandOptions,
    *,
    as_json: bool,
) -> Work:
    """Show levels of features; change them."""
    from prokurist.cli import quorum_changes as command

    return partial(command.features, asked, as_json=as_json)


class Downgrade(Enum):
    """Kinds of downgrades."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@with_options
def features_set(
    asked: CommandOptions,
    levels: Annotated[list[str], typer.Argument(metavar="FEATURE=LEVEL…", help="Levels.")],
    downgrade: Annotated[
        Downgrade | None,
        typer.Option("--downgrade", metavar="KIND", help="safe, or unsafe: loses metadata."),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Change the levels of features, such as metadata.version=25."""
    from prokurist.admin import Upgrade
    from prokurist.cli import quorum_changes as command

    kinds = {
        None: Upgrade.UPGRADE,
        Downgrade.SAFE: Upgrade.SAFE_DOWNGRADE,
        Downgrade.UNSAFE: Upgrade.UNSAFE_DOWNGRADE,
    }
    return partial(
        command.update,
        asked,
        pairs_of(levels, "a level"),
        kind=kinds[downgrade],
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def quorum(asked: CommandOptions, *, as_json: bool) -> Work:
    """Show the controllers; add and remove voters."""
    from prokurist.cli import quorum_changes as command

    return partial(command.quorum, asked, as_json=as_json)


@with_options
def quorum_add(
    asked: CommandOptions,
    voter: Voter,
    directory: Directory,
    listeners: Annotated[
        list[str], typer.Argument(metavar="LISTENER=HOST:PORT…", help="Its listeners.")
    ],
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Add a controller to the voters; it is an observer until then."""
    from prokurist.cli import quorum_changes as command

    return partial(
        command.add,
        asked,
        voter,
        command.directory_of(directory),
        command.listeners_of(pairs_of(listeners, "a listener")),
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def quorum_remove(
    asked: CommandOptions,
    voter: Voter,
    directory: Directory,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Remove a controller from the voters."""
    from prokurist.cli import quorum_changes as command

    return partial(
        command.remove,
        asked,
        voter,
        command.directory_of(directory),
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )
