"""`tokens` with its subcommands.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from prokurist.cli.arguments import DryRun, Work, Yes, with_options
from prokurist.cli.command_options import CommandOptions

TokenFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="What `tokens create` has written.")
]


@with_options
def tokens(asked: CommandOptions, *, as_json: bool) -> Work:
    """List delegation tokens; create, renew, expire them."""
    from prokurist.cli import token_changes as command

    return partial(command.list_tokens, asked, as_json=as_json)


@with_options
def create(
    asked: CommandOptions,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FILE", help="A new file, for the keys of its clients."),
    ],
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="TYPE:NAME", help="Whose it is; else of this user."),
    ] = None,
    renewer: Annotated[
        list[str] | None,
        typer.Option("--renewer", metavar="TYPE:NAME", help="A user who may renew it."),
    ] = None,
    lifetime: Annotated[
        str | None,
        typer.Option("--lifetime", metavar="SPAN", help="For so long at most, such as 7d."),
    ] = None,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Create a token, whose secret goes to a file."""
    from prokurist.cli import token_changes as command

    return partial(
        command.create,
        asked,
        to,
        owner,
        renewer or (),
        lifetime,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def describe(
    asked: CommandOptions,
    owners: Annotated[
        list[str], typer.Argument(metavar="TYPE:NAME…", help="Owners, such as User:alice.")
    ],
    *,
    as_json: bool,
) -> Work:
    """Show the tokens of owners, with their times."""
    from prokurist.cli import token_changes as command

    return partial(command.describe, asked, owners, as_json=as_json)


@with_options
def renew(
    asked: CommandOptions,
    token_file: TokenFile,
    period: Annotated[
        str | None,
        typer.Option("--period", metavar="SPAN", help="From now on, such as 1d."),
    ] = None,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Renew a token."""
    from prokurist.cli import token_changes as command

    return partial(command.renew, asked, token_file, period, dry_run=dry_run, as_json=as_json)


@with_options
def expire(
    asked: CommandOptions,
    token_file: TokenFile,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="SPAN", help="Not at once, but after a time."),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """End a token."""
    from prokurist.cli import token_changes as command

    return partial(
        command.expire, asked, token_file, after, yes=yes, dry_run=dry_run, as_json=as_json
    )
