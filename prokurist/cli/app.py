"""The commands: from a command line to the work that it asks for.

Thread: the main one.
Invariants: Typer reads, and nothing runs inside of it, as it has ends of its own for Ctrl-C
and for broken pipes: each command's function returns the work. What a command needs is imported
when it is asked for; most need little.
"""

from typing import Any, Final

import typer

from prokurist.cli.check_commands import config_check, doctor, spark_doctor
from prokurist.cli.cluster_commands import offsets, reset_offsets, topics
from prokurist.cli.record_commands import broker, consume


def built() -> typer.Typer:
    """The application."""
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
    config = typer.Typer(
        help="Look at a configuration.", no_args_is_help=False, rich_markup_mode=None
    )
    config.command("check")(config_check)
    # With one command alone, Typer would leave its name out.
    config.callback()(lambda: None)
    app.add_typer(config, name="config")
    return app


COMMANDS: Final[dict[str, Any]] = {
    "consume": consume,
    "topics": topics,
    "offsets": offsets,
    "reset-offsets": reset_offsets,
    "doctor": doctor,
    "broker": broker,
}
