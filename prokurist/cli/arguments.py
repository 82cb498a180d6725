"""The options that several commands have, as Typer reads them.

Thread: the main one.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from prokurist.cli.errors import Misused

Work: TypeAlias = Callable[[], int | None]
"""A command's work; it returns the exit code, if not 0."""

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
    list[str] | None,
    typer.Option(
        "-p",
        "--partition",
        metavar="N,…",
        help="These partitions alone; may be given several times.",
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


def numbers_of(texts: Sequence[str]) -> list[int]:
    """The partitions of `-p`: a number, or several with commas.

    Raises:
        Misused: One is none.
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise Misused(f"'-p' {','.join(texts)}: write partitions as 0 or 0,1,2")
    return [int(part) for part in parts]
