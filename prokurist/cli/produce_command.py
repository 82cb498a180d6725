"""`produce` as it is called.

Thread: the main one.
Invariants: see `app.py`.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from prokurist.cli.arguments import (
    ENDLESS,
    Brokers,
    Properties,
    PropertiesFile,
    Quiet,
    Work,
)
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused


def produce(
    topic: Annotated[str, typer.Option("-t", "--topic", metavar="TOPIC", help="The topic.")],
    brokers: Brokers = None,
    partition: Annotated[
        int | None,
        typer.Option("-p", "--partition", metavar="N", min=0, help="To this partition."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("-k", "--key", metavar="KEY", help="The key of all records.")
    ] = None,
    key_delimiter: Annotated[
        str | None,
        typer.Option("-K", metavar="TEXT", help="What stands before this is the record's key."),
    ] = None,
    delimiter: Annotated[
        str, typer.Option("-D", metavar="TEXT", help="What stands behind each record.")
    ] = r"\n",
    header: Annotated[
        list[str] | None,
        typer.Option("-H", "--header", metavar="NAME=VALUE", help="A header of all records."),
    ] = None,
    compression: Annotated[
        str | None,
        typer.Option("-z", "--compression", metavar="CODEC", help="gzip, snappy, lz4 or zstd."),
    ] = None,
    null: Annotated[
        bool,
        typer.Option("-Z", "--null", help="What is empty is sent as null.", show_default=False),
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option("-l", "--lines", metavar="FILE", help="Read this, not standard input."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("-J", "--json", help="Read what `consume -J` writes.", show_default=False),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="End by then.", show_default="never"),
    ] = ENDLESS,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """Send lines of standard input as records."""
    from prokurist.cli import produce as command
    from prokurist.cli.record_lines import from_json, from_lines

    if as_json and (key is not None or key_delimiter is not None):
        raise Misused("-J with -k or -K: the key of a record stands in its JSON")
    if key is not None and key_delimiter is not None:
        raise Misused("-k and -K each say what a record's key is: give one of them")
    headers = command.headers_of(header or ())
    parse = (
        from_json(headers)
        if as_json
        else from_lines(key, key_delimiter, headers, null_for_empty=null)
    )
    wanted = command.SendRequest(topic, partition, delimiter, compression, source, parse)
    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return partial(command.run, asked, wanted)
