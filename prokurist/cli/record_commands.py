"""`consume` and `broker`: records to look at, and something to play with.

Thread: the main one.
Invariants: see `app.py`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prokurist.cli.arguments import (
    ENDLESS,
    Brokers,
    Json,
    NeededTopics,
    Partitions,
    Properties,
    PropertiesFile,
    Quiet,
    Work,
    numbers_of,
)
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused

if TYPE_CHECKING:
    from prokurist.cli.formats import Format


def consume(
    topic: NeededTopics,
    brokers: Brokers = None,
    partition: Partitions = None,
    offset: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--offset",
            metavar="WHERE",
            help="Begin at beginning, end, stored, an offset, -N (the last N), s@TIME, -SPAN "
            "(such as -1h); stop at e@TIME.",
            show_default="beginning; with -G end",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("-c", "--count", metavar="N", min=1, help="So many records.")
    ] = None,
    newest: Annotated[
        int | None,
        typer.Option(
            "-n", "--newest", metavar="N", min=1, help="The newest N of all partitions."
        ),
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Order all partitions by time.", show_default=False),
    ] = False,
    grep: Annotated[
        str | None,
        typer.Option("--grep", metavar="REGEX", help="Only if the value has a match."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="REGEX", help="Only if the key has a match."),
    ] = None,
    exit_at_end: Annotated[
        bool,
        typer.Option("-e", "--exit", help="End where the log ends now.", show_default=False),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option("-G", "--group", metavar="GROUP", help="Read as a member, and commit."),
    ] = None,
    share: Annotated[
        bool,
        typer.Option(
            "--share",
            help="The group is a share group: what is written is accepted.",
            show_default=False,
        ),
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            help="%t topic, %p partition, %o offset, %k key, %s value, %K and %S their sizes, "
            "%T timestamp, %h headers, %% a percent sign.",
        ),
    ] = None,
    key_delimiter: Annotated[
        str | None, typer.Option("-K", metavar="TEXT", help="Write keys, and this behind them.")
    ] = None,
    delimiter: Annotated[
        str, typer.Option("-D", metavar="TEXT", help="Write this behind each record.")
    ] = r"\n",
    show_null: Annotated[
        bool,
        typer.Option("-Z", help="Write NULL for what is not there.", show_default=False),
    ] = False,
    as_json: Json = False,
    json_values: Annotated[
        bool,
        typer.Option(
            "--json-values", help="With -J, values are JSON themselves.", show_default=False
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="End by then.", show_default="never"),
    ] = ENDLESS,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """Write records as they come."""
    from prokurist.cli import consume as command
    from prokurist.cli.formats import NULL, Format, compiled, delimited, with_json_value
    from prokurist.cli.formats import as_json as in_json
    from prokurist.cli.record_filter import filter_of
    from prokurist.cli.start_offset import StartOffset, range_of

    if sum((form is not None, as_json, key_delimiter is not None)) > 1:
        raise Misused("-f, -K and -J each say how a record is written: give one of them")
    if json_values and not as_json:
        raise Misused("--json-values is for -J")
    if newest is not None and offset:
        raise Misused("-n says where reading begins: leave out -o")
    null = NULL if show_null else b""
    written: Format
    if as_json:
        written = with_json_value if json_values else in_json
    elif form is not None:
        written = compiled(form, null)
    else:
        written = delimited(key_delimiter, delimiter, null)
    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    if share:
        return shared(
            asked,
            topic,
            group,
            count,
            written,
            to_the_end=exit_at_end,
            refused={
                "-p": partition,
                "-o": offset,
                "-n": newest,
                "--merge": merge,
                "--grep": grep,
                "--key": key,
            },
        )
    accepts = filter_of(grep, key)
    start, until = range_of(offset or (), "end" if group else "beginning")
    if newest is not None and accepts is None:
        start = StartOffset(offset=-newest)
    wanted = command.ReadRequest(
        topic,
        numbers_of(partition or ()),
        start,
        group,
        count,
        exit_at_end,
        written,
        until,
        merge,
        newest,
        accepts,
    )
    return partial(command.run, asked, wanted)


def shared(
    asked: CommandOptions,
    topics: Sequence[str],
    group: str | None,
    count: int | None,
    written: "Format",
    *,
    to_the_end: bool,
    refused: Mapping[str, object],
) -> Work:
    """Read as a member of a share group.

    Raises:
        Misused: An option has no meaning there.
    """
    from prokurist.cli import consume_share as command

    if group is None:
        raise Misused("--share needs the share group: -G GROUP")
    if given := [name for name, value in refused.items() if value]:
        raise Misused(
            f"{', '.join(given)} with --share: the group lends any of its records, and one "
            f"that is left out would be taken from the others"
        )
    wanted = command.ShareRequest(topics, group, count, to_the_end, written)
    return partial(command.run, asked, wanted)


def broker(
    nodes: Annotated[
        int, typer.Option("--nodes", metavar="N", min=1, max=100, help="How many brokers.")
    ] = 1,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", min=0, max=65535, help="Of the first; 0 for free ones."
        ),
    ] = 9092,
    topic: Annotated[
        list[str] | None,
        typer.Option("-t", "--topic", metavar="NAME:PARTITIONS", help="A topic to begin with."),
    ] = None,
    records: Annotated[
        int, typer.Option("--records", metavar="N", min=0, help="So many in each topic.")
    ] = 0,
    every: Annotated[
        float | None,
        typer.Option(
            "--every", metavar="SECONDS", min=0.01, help="So often another record comes."
        ),
    ] = None,
    tls: Annotated[
        Path | None,
        typer.Option("--tls", metavar="FOLDER", help="Make certificates there, and use TLS."),
    ] = None,
    sasl: Annotated[
        list[str] | None,
        typer.Option("--sasl", metavar="NAME:PASSWORD", help="A user, for PLAIN and SCRAM."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="End by then.", show_default="never"),
    ] = ENDLESS,
    quiet: Quiet = False,
) -> Work:
    """Serve an embedded broker, to play with."""
    from prokurist.cli import brokers as command

    named = dict(map(command.named_topic, topic or ()))
    asked = CommandOptions(timeout=timeout, quiet=quiet)
    return partial(
        command.run,
        asked,
        nodes=nodes,
        port=port,
        topics=named,
        records=records,
        every=every,
        tls=tls,
        users=dict(map(command.named_user, sasl or ())),
    )
