"""The options that several commands have, as Typer reads them.

Thread: the main one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

Work: TypeAlias = Callable[[], int | None]
"""What a command line asks for; it returns the exit code, if that is not 0."""

ENDLESS: Final = float("inf")

Brokers: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "-b",
        "--brokers",
        metavar="HOST:PORT,…",
        envvar="PROKURIST_BOOTSTRAP",
        help="Where to find the cluster.",
    ),
]
Topics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-t", "--topic", metavar="TOPIC", help="A topic; may be given several times."),
]
NeededTopics: TypeAlias = Annotated[
    list[str],
    typer.Option("-t", "--topic", metavar="TOPIC", help="A topic; may be given several times."),
]
Partitions: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(
        "-p",
        "--partition",
        metavar="N",
        help="This partition alone; several times for several.",
    ),
]
Group: TypeAlias = Annotated[
    str, typer.Option("-G", "--group", metavar="GROUP", help="The consumer group.")
]
Timeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="The command ends by then.")
]
Json: TypeAlias = Annotated[
    bool, typer.Option("-J", "--json", help="One JSON object a line.", show_default=False)
]
Properties: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-X", metavar="KEY=VALUE", help="Any key of the client's configuration."),
]
PropertiesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("-F", metavar="FILE", help="Such keys, a line each; the place for secrets."),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("-q", "--quiet", help="Tell of failures alone.", show_default=False)
]
