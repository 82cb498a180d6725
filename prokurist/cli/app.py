"""The commands and their options: from a command line to the work that it asks for.

Thread: the main one.
Invariants: Typer reads, and nothing runs inside of it, as it has ends of its own for Ctrl-C
and for broken pipes: each function here returns the work. What a command needs is imported
when it is asked for; most need little.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from prokurist.cli.arguments import (
    ENDLESS,
    Brokers,
    Group,
    Json,
    NeededTopics,
    Partitions,
    Properties,
    PropertiesFile,
    Quiet,
    Timeout,
    Topics,
    Work,
)
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused
from prokurist.cli.output import counted
from prokurist.cli.produce_command import produce


def built() -> typer.Typer:
    """Build the command line application, with all commands."""
    app = typer.Typer(
        help="Look at Kafka, and never hang: every command ends by its --timeout.",
        add_completion=False,
        no_args_is_help=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    )
    for name, command in COMMANDS.items():
        app.command(name)(command)
    spark = typer.Typer(help="Look at Spark.", no_args_is_help=False, rich_markup_mode=None)
    spark.command("doctor")(spark_doctor)
    app.add_typer(spark, name="spark")
    return app


def consume(
    topic: NeededTopics,
    brokers: Brokers = None,
    partition: Partitions = None,
    offset: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--offset",
            metavar="WHERE",
            help="Begin at beginning, end, an offset, -N (the last N), s@TIME.",
            show_default="beginning; with -G end",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("-c", "--count", metavar="N", min=1, help="So many records.")
    ] = None,
    exit_at_end: Annotated[
        bool,
        typer.Option("-e", "--exit", help="End where the log ends now.", show_default=False),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option("-G", "--group", metavar="GROUP", help="Read as a member, and commit."),
    ] = None,
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
    as_json: Json = False,
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
    from prokurist.cli.formats import Format, compiled, delimited
    from prokurist.cli.formats import as_json as in_json
    from prokurist.cli.start_offset import StartOffset

    if sum((form is not None, as_json, key_delimiter is not None)) > 1:
        raise Misused("-f, -K and -J each say how a record is written: give one of them")
    written: Format
    if as_json:
        written = in_json
    elif form is not None:
        written = compiled(form)
    else:
        written = delimited(key_delimiter, delimiter)
    start = offset or ("end" if group else "beginning")
    wanted = command.ReadRequest(
        topic, partition or (), StartOffset.of(start), group, count, exit_at_end, written
    )
    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return partial(command.run, asked, wanted)


def topics(
    brokers: Brokers = None,
    topic: Topics = None,
    as_json: Json = False,
    timeout: Timeout = 10.0,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """List topics, or their partitions."""
    from prokurist.cli import topics as command

    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return partial(command.run, asked, topic or (), as_json=as_json)


def offsets(
    group: Group,
    brokers: Brokers = None,
    topic: Topics = None,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="Again and again.", show_default=False)
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="How often, with -w.")
    ] = 2.0,
    as_json: Json = False,
    timeout: Timeout = 10.0,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """Show a group's offsets and lag."""
    from prokurist.cli import offsets as command

    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return partial(
        command.run, asked, group, topic or (), every=every if watch else None, as_json=as_json
    )


def reset_offsets(
    group: Group,
    topic: NeededTopics,
    brokers: Brokers = None,
    partition: Partitions = None,
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
    execute: Annotated[
        bool,
        typer.Option("--execute", help="Do it; else it is only shown.", show_default=False),
    ] = False,
    as_json: Json = False,
    timeout: Timeout = 10.0,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """Move a group's offsets; a dry run by default."""
    from prokurist.cli import resets as command

    target = command.Target.of(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_offset=to_offset,
        to_datetime=to_datetime,
        by_duration=by_duration,
        shift_by=shift_by,
    )
    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return partial(
        command.run,
        asked,
        group,
        topic,
        partition or (),
        target,
        execute=execute,
        as_json=as_json,
    )


def doctor(
    brokers: Brokers = None,
    group: Annotated[
        str | None,
        typer.Option("-G", "--group", metavar="GROUP", help="Look for its coordinator, too."),
    ] = None,
    topic: Topics = None,
    as_json: Json = False,
    timeout: Timeout = 10.0,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """Find out what is wrong on the way."""
    from prokurist.cli import doctor as command

    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return examining(asked, lambda: command.run(asked, group, topic or ()), as_json=as_json)


def spark_doctor(
    master: Annotated[
        str,
        typer.Option("--master", metavar="MASTER", help="Spark's master."),
    ] = "local[2,3]",
    brokers: Brokers = None,
    topic: Topics = None,
    as_json: Json = False,
    timeout: Timeout = 120.0,
    properties: Properties = None,
    file: PropertiesFile = None,
    quiet: Quiet = False,
) -> Work:
    """Find out what is wrong around Spark."""
    from prokurist.cli import spark_doctor as command

    asked = CommandOptions(brokers, properties or (), file, timeout, quiet)
    return examining(asked, lambda: command.run(asked, master, topic or []), as_json=as_json)


def examining(
    asked: CommandOptions, steps: Callable[[], Iterator[Any]], *, as_json: bool
) -> Work:
    """The work of a doctor: prints each step as it is taken; 1 where something is wrong."""
    from prokurist.cli.doctor import StepResult
    from prokurist.cli.reports import reporter

    report = reporter(as_json=as_json)

    def examine() -> int:
        failed = 0
        for step in steps():
            report(step)
            failed += step.verdict is StepResult.FAILED
        asked.say(f"{counted(failed, 'fault')} found" if failed else "no fault found")
        return 1 if failed else 0

    return examine


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
        tls=tls,
        users=dict(map(command.named_user, sasl or ())),
    )


COMMANDS: Final[dict[str, Any]] = {
    "consume": consume,
    "produce": produce,
    "topics": topics,
    "offsets": offsets,
    "reset-offsets": reset_offsets,
    "doctor": doctor,
    "broker": broker,
}
