"""`groups reset`, `share-groups reset`.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from prokurist.cli.arguments import (
    DryRun,
    Partitions,
    Topics,
    Work,
    Yes,
    made_of,
    numbers_of,
    with_options,
)
from prokurist.cli.command_options import CommandOptions

if TYPE_CHECKING:
    from prokurist.cli.resets import Target

Name: TypeAlias = Annotated[str, typer.Argument(metavar="GROUP", help="The group.")]


def target_of(
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="To the logs' beginnings.", show_default=False)
    ] = False,
    to_latest: Annotated[
        bool, typer.Option("--to-latest", help="To the logs' ends.", show_default=False)
    ] = False,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", metavar="OFFSET", help="To this offset.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime", metavar="TIME", help="To the first record at or after it; UTC."
        ),
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option("--by-duration", metavar="SPAN", help="Back by a time, such as 1d12h."),
    ] = None,
    shift_by: Annotated[
        int | None,
        typer.Option("--shift-by", metavar="N", help="By so many records; back below zero."),
    ] = None,
) -> "Target":
    """The target of a reset."""
    from prokurist.cli import resets as command

    return command.target_of(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_offset=to_offset,
        to_datetime=to_datetime,
        by_duration=by_duration,
        shift_by=shift_by,
    )


def resetting(
    asked: CommandOptions,
    name: str,
    target: "Target",
    topic: list[str] | None,
    partition: list[str] | None,
    **options: bool,
) -> Work:
    """Return the work of a reset."""
    from prokurist.cli import resets as command

    partitions = numbers_of(partition or ())
    return partial(command.run, asked, name, topic or (), partitions, target, **options)


@with_options
@made_of("target", target_of)
def reset_group(
    asked: CommandOptions,
    name: Name,
    target: "Target",
    topic: Topics = None,
    partition: Partitions = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Reset committed offsets: where a group goes on reading."""
    options = {"yes": yes, "dry_run": dry_run, "as_json": as_json}
    return resetting(asked, name, target, topic, partition, **options)


@with_options
@made_of("target", target_of)
def reset_share_group(
    asked: CommandOptions,
    name: Name,
    target: "Target",
    topic: Topics = None,
    partition: Partitions = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Reset start offsets: what a share group still has to process."""
    options = {"yes": yes, "dry_run": dry_run, "as_json": as_json}
    return resetting(asked, name, target, topic, partition, share=True, **options)
