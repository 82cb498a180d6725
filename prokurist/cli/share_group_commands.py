"""`share-groups` with its subcommands.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from typing import Annotated

import typer

from prokurist.cli.arguments import DryRun, Topics, Work, Yes, with_options
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.group_commands import Matching, OptionalNames
from prokurist.types.groups import GroupKind


@with_options
def share_groups(asked: CommandOptions, *, as_json: bool) -> Work:
    """List share groups; show their offsets, reset, delete them."""
    from prokurist.cli import groups as command

    return partial(command.run, asked, GroupKind.SHARE, as_json=as_json)


@with_options
def offsets(
    asked: CommandOptions,
    names: Annotated[list[str], typer.Argument(metavar="GROUP…", help="Share groups.")],
    topic: Topics = None,
    *,
    as_json: bool,
) -> Work:
    """Show the start offsets of share groups, and their lag."""
    from prokurist.cli import share_offsets as command

    return partial(command.run, asked, names, topic or (), as_json=as_json)


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
    """Delete share groups, with their offsets."""
    from prokurist.cli import group_changes as command

    return partial(
        command.delete,
        asked,
        names or (),
        kind=GroupKind.SHARE,
        matching=matching,
        yes=yes,
        dry_run=dry_run,
        as_json=as_json,
    )
