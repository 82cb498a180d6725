"""The options that several commands have, as Typer reads them.

Thread: the main one.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, get_type_hints

import typer

from prokurist.cli.command_options import CommandOptions
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
DryRun: TypeAlias = Annotated[
    bool,
    typer.Option("--dry-run", help="Show it, and change nothing.", show_default=False),
]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", help="Do it without a question.", show_default=False)
]


def with_options(command: Callable[..., Work], *, timeout: float = 10.0) -> Callable[..., Work]:
    """Give a command the options that all commands have.

    Args:
        command: Takes a CommandOptions and `as_json` in place of them.
        timeout: The default of `--timeout`.
    """
    own = list(inspect.signature(command).parameters.values())
    hints = get_type_hints(command, include_extras=True)
    common = [
        each.replace(default=timeout) if each.name == "timeout" else each
        for each in inspect.signature(_options).parameters.values()
    ]

    @wraps(command)
    def read(**given: Any) -> Work:
        options = {name: given.pop(name) for name in ("brokers", "properties", "file")}
        asked = CommandOptions(
            options["brokers"],
            options["properties"] or (),
            options["file"],
            given.pop("timeout"),
            given.pop("quiet"),
        )
        return command(asked, **given)

    kept = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name])
        for each in own
        if each.name not in {"asked", "as_json"}
    ]
    return with_signature(read, [*kept, *common])


def _options(
    *,
    brokers: Brokers = None,
    as_json: Json = False,
    timeout: Timeout = 10.0,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> None:
    """The options that all commands have."""


def made_of(
    name: str, make: Callable[..., Any]
) -> Callable[[Callable[..., Work]], Callable[..., Work]]:
    """Give a command options that are one value together, in the place of a parameter.

    Args:
        name: The command's parameter.
        make: Makes the value; its parameters are the options.
    """
    options = inspect.signature(make).parameters

    def made(command: Callable[..., Work]) -> Callable[..., Work]:
        @wraps(command)
        def read(*asked: Any, **given: Any) -> Work:
            value = make(**{each: given.pop(each) for each in options})
            return command(*asked, **{name: value}, **given)

        parameters: list[inspect.Parameter] = []
        for each in inspect.signature(command).parameters.values():
            parameters += options.values() if each.name == name else [each]
        return with_signature(read, parameters)

    return made


def unless_second_word(command: Callable[..., Work]) -> Callable[..., Work | None]:
    """Make a command that does nothing where it is given a second word.

    The second word has all the options: before it they would be of no effect, and are refused.

    Args:
        command: The command that is meant without one.
    """

    @wraps(command)
    def read(context: typer.Context, **given: Any) -> Work | None:
        if context.invoked_subcommand is None:
            return command(**given)
        for name in context.params:
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise Misused(
                    f"options come after {context.invoked_subcommand!r}: prokurist "
                    f"{context.info_name} {context.invoked_subcommand} …"
                )
        return None

    own = inspect.signature(command).parameters.values()
    place = inspect.Parameter(
        "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
    )
    return with_signature(read, [place, *own])


def with_signature(
    command: Callable[..., Any], parameters: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """Give a function the parameters that Typer is to read."""
    vars(command).pop("__wrapped__", None)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def pairs_of(texts: Sequence[str], name: str) -> dict[str, str]:
    """The keys and values of `KEY=VALUE`.

    Args:
        texts: The texts.
        name: The argument, for the error.

    Raises:
        Misused: One is something else.
    """
    found = {}
    for each in texts:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise Misused(f"{name} takes KEY=VALUE, such as retention.ms=86400000: {each!r}")
        found[key.strip()] = value.strip()
    return found


def numbers_of(texts: Sequence[str]) -> list[int]:
    """The partitions of `-p`: a number, or several with commas.

    Raises:
        Misused: One is none.
    """
    return listed_numbers(texts, "'-p'", "partitions")


def broker_ids_of(texts: Sequence[str]) -> list[int]:
    """The brokers of `--broker`: an id, or several with commas.

    Raises:
        Misused: One is none.
    """
    return listed_numbers(texts, "'--broker'", "brokers")


def listed_numbers(texts: Sequence[str], option: str, noun: str) -> list[int]:
    """Numbers with commas between them.

    Raises:
        Misused: One is none.
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise Misused(f"{option} {','.join(texts)}: write {noun} as 0 or 0,1,2")
    return [int(part) for part in parts]
