"""The commands: from a command line to the work that it asks for.

Thread: the main one.
Invariants: Typer only parses, as it has ends of its own for Ctrl-C and for broken pipes: each
command's function returns the work. A command's modules are imported when it runs; most need
few.
"""

from typing import Annotated, Any, Final

import typer

from prokurist.cli import (
    access_commands,
    group_commands,
    partition_commands,
    quorum_commands,
    reassign_commands,
    reset_commands,
    share_group_commands,
    token_commands,
    topic_commands,
    transaction_commands,
)
from prokurist.cli.arguments import unless_second_word
from prokurist.cli.check_commands import completion, config_check, doctor, spark_doctor
from prokurist.cli.cluster_commands import (
    brokers,
    lag,
    offsets,
)
from prokurist.cli.output import write
from prokurist.cli.produce_command import produce
from prokurist.cli.record_commands import broker, consume
from prokurist.version import VERSION


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
    app.callback()(prokurist)
    for name, command in COMMANDS.items():
        app.command(name)(command)
    for name, (alone, commands) in ADMINISTRATION.items():
        # Alone it lists: the group is a command as well.
        group = typer.Typer(no_args_is_help=False, rich_markup_mode=None)
        group.callback(invoke_without_command=True)(unless_second_word(alone))
        for each, command in commands.items():
            group.command(each)(command)
        app.add_typer(group, name=name)
    for name, (about, commands) in GROUPS.items():
        group = typer.Typer(help=about, no_args_is_help=False, rich_markup_mode=None)
        # With one command alone, Typer would leave its name out.
        group.callback()(lambda: None)
        for each, command in commands.items():
            group.command(each)(command)
        app.add_typer(group, name=name)
    return app


COMMANDS: Final[dict[str, Any]] = {
    "consume": consume,
    "produce": produce,
    "brokers": brokers,
    "lag": lag,
    "offsets": offsets,
    "elect": partition_commands.elect,
    "log-dirs": partition_commands.log_dirs,
    "doctor": doctor,
    "broker": broker,
    "completion": completion,
}

ADMINISTRATION: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "topics": (
        topic_commands.topics,
        {
            "create": topic_commands.create,
            "alter": topic_commands.alter,
            "delete": topic_commands.delete,
            "describe": topic_commands.describe,
        },
    ),
    "groups": (
        group_commands.groups,
        {
            "describe": group_commands.describe,
            "reset": reset_commands.reset_group,
            "delete": group_commands.delete,
            "delete-offsets": group_commands.delete_offsets,
            "remove-members": group_commands.remove_members,
        },
    ),
    "share-groups": (
        share_group_commands.share_groups,
        {
            "describe": group_commands.describe,
            "offsets": share_group_commands.offsets,
            "reset": reset_commands.reset_share_group,
            "delete": share_group_commands.delete,
        },
    ),
    "acls": (
        access_commands.acls,
        {
            "add": access_commands.acls_add,
            "remove": access_commands.acls_remove,
            "for": access_commands.acls_for,
        },
    ),
    "users": (
        access_commands.users,
        {"set": access_commands.users_set, "delete": access_commands.users_delete},
    ),
    "quotas": (
        access_commands.quotas,
        {"set": access_commands.quotas_set, "unset": access_commands.quotas_unset},
    ),
    "tokens": (
        token_commands.tokens,
        {
            "create": token_commands.create,
            "describe": token_commands.describe,
            "renew": token_commands.renew,
            "expire": token_commands.expire,
        },
    ),
    "reassign": (
        reassign_commands.reassign,
        {
            "plan": reassign_commands.plan,
            "start": reassign_commands.start,
            "verify": reassign_commands.verify,
            "cancel": reassign_commands.cancel,
        },
    ),
    "transactions": (
        transaction_commands.transactions,
        {
            "describe": transaction_commands.describe,
            "hanging": transaction_commands.hanging,
            "abort": transaction_commands.abort,
            "fence": transaction_commands.fence,
        },
    ),
    "features": (quorum_commands.features, {"set": quorum_commands.features_set}),
    "quorum": (
        quorum_commands.quorum,
        {"add": quorum_commands.quorum_add, "remove": quorum_commands.quorum_remove},
    ),
}
"""Commands that list alone, and change with a second word."""


def tell_version(wanted: bool) -> None:  # noqa: FBT001 - as Typer calls it
    """Write the version, and nothing else."""
    if wanted:
        write([f"prokurist {VERSION}\n"])
        raise typer.Exit


def prokurist(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Write the version.",
            is_eager=True,
            callback=tell_version,
            show_default=False,
        ),
    ] = False,
) -> None:
    """Look at Kafka, and never hang: every command ends by its --timeout."""


GROUPS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "configs": (
        "Show and alter configurations in the cluster.",
        {
            "show": partition_commands.configs_show,
            "set": partition_commands.configs_set,
            "unset": partition_commands.configs_unset,
        },
    ),
    "records": ("Delete records.", {"delete": partition_commands.records_delete}),
    "config": ("Look at a configuration.", {"check": config_check}),
    "spark": ("Look at Spark.", {"doctor": spark_doctor}),
}
"""Commands of two words: the subject of the first, and the second words."""
