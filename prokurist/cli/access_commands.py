"""`acls`, `users`, `quotas`: commands about access.

Thread: the main one.
Invariants: see `app.py`.
"""

from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from prokurist.cli.arguments import (
    DryRun,
    NeededTopics,
    Topics,
    Work,
    Yes,
    made_of,
    pairs_of,
    with_options,
)
from prokurist.cli.command_options import CommandOptions

if TYPE_CHECKING:
    from prokurist.admin import QuotaEntity
    from prokurist.cli.access_changes import Rights

Principals: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--principal", metavar="TYPE:NAME", help="A user, such as User:alice."),
]
Operations: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--operation", metavar="OPERATION", help="read, write, describe, …"),
]
Groups: TypeAlias = Annotated[
    list[str] | None, typer.Option("-G", "--group", metavar="GROUP", help="A group.")
]
TransactionalIds: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--transactional-id", metavar="ID", help="A transactional id."),
]
Cluster: TypeAlias = Annotated[
    bool, typer.Option("--cluster", help="The cluster.", show_default=False)
]
Prefixed: TypeAlias = Annotated[
    bool, typer.Option("--prefixed", help="Names are prefixes.", show_default=False)
]
Hosts: TypeAlias = Annotated[
    list[str] | None, typer.Option("--host", metavar="ADDRESS", help="An address.")
]
Deny: TypeAlias = Annotated[
    bool, typer.Option("--deny", help="Deny, and not allow.", show_default=False)
]
User: TypeAlias = Annotated[
    str | None, typer.Option("--user", metavar="NAME", help="The user; '' for the default.")
]
ClientId: TypeAlias = Annotated[
    str | None, typer.Option("--client-id", metavar="ID", help="The client id; '' likewise.")
]
Address: TypeAlias = Annotated[
    str | None, typer.Option("--ip", metavar="ADDRESS", help="The address; '' likewise.")
]


def rights_of(
    principal: Principals = None,
    operation: Operations = None,
    topic: Topics = None,
    group: Groups = None,
    transactional_id: TransactionalIds = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    host: Hosts = None,
    deny: Deny = False,
) -> "Rights":
    """The fields of ACLs."""
    from prokurist.cli.access_changes import Rights

    return Rights(
        principal or (),
        operation or (),
        topic or (),
        group or (),
        transactional_id or (),
        cluster,
        prefixed,
        host or (),
        deny,
    )


def entity_of(
    user: User = None, client_id: ClientId = None, ip: Address = None
) -> "QuotaEntity":
    """The entity of quotas."""
    from prokurist.cli import access_changes as command

    return command.entity_of(user, client_id, ip)


@with_options
def acls(
    asked: CommandOptions,
    principal: Principals = None,
    topic: Topics = None,
    group: Groups = None,
    *,
    as_json: bool,
) -> Work:
    """List access control lists; add and remove them."""
    from prokurist.cli import access_changes as command

    rights = command.Rights(principal or (), (), topic or (), group or ())
    return partial(command.list_acls, asked, rights, as_json=as_json)


@with_options
@made_of("rights", rights_of)
def acls_add(
    asked: CommandOptions,
    rights: "Rights",
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Allow operations, or deny them."""
    from prokurist.cli import access_changes as command

    return partial(command.add_acls, asked, rights, dry_run=dry_run, as_json=as_json)


@with_options
@made_of("rights", rights_of)
def acls_remove(
    asked: CommandOptions,
    rights: "Rights",
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Remove the access control lists that options fit; they are shown first."""
    from prokurist.cli import access_changes as command

    return partial(
        command.remove_acls, asked, rights, yes=yes, dry_run=dry_run, as_json=as_json
    )


class Client(Enum):
    """Kinds of clients that need rights."""

    CONSUMER = "consumer"
    PRODUCER = "producer"


@with_options
def acls_for(
    asked: CommandOptions,
    kind: Annotated[Client, typer.Argument(metavar="KIND", help="consumer or producer.")],
    principal: Annotated[
        str, typer.Option("--principal", metavar="TYPE:NAME", help="The client's user.")
    ],
    topic: NeededTopics,
    group: Groups = None,
    transactional_id: TransactionalIds = None,
    prefixed: Prefixed = False,
    *,
    as_json: bool,
) -> Work:
    """Show the access control lists that a client needs, and which are missing."""
    from prokurist.cli import needed_rights as command

    return partial(
        command.run,
        asked,
        command.needed(
            principal,
            topic,
            group or (),
            transactional_id or (),
            writes=kind is Client.PRODUCER,
            prefixed=prefixed,
        ),
        as_json=as_json,
    )


@with_options
def users(
    asked: CommandOptions,
    *,
    as_json: bool,
) -> Work:
    """List SCRAM users; set and delete them."""
    from prokurist.cli import access_changes as command

    return partial(command.list_users, asked, as_json=as_json)


@with_options
def users_set(
    asked: CommandOptions,
    name: Annotated[str, typer.Argument(metavar="USER", help="The user.")],
    mechanism: Annotated[
        str, typer.Option("--mechanism", metavar="NAME", help="SCRAM-SHA-256 or -512.")
    ] = "SCRAM-SHA-512",
    password: Annotated[
        Path | None,
        typer.Option("--password-file", metavar="FILE", help="Its first line; else stdin's."),
    ] = None,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", min=1, help="Rounds of hashing.")
    ] = 8192,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Create a user, or change its password."""
    from prokurist.cli import access_changes as command

    return partial(
        command.set_password,
        asked,
        name,
        mechanism,
        password,
        iterations=iterations,
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
def users_delete(
    asked: CommandOptions,
    name: Annotated[str, typer.Argument(metavar="USER", help="The user.")],
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="NAME", help="This one alone.")
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Delete the credentials of a user."""
    from prokurist.cli import access_changes as command

    return partial(
        command.delete_user, asked, name, mechanism, yes=yes, dry_run=dry_run, as_json=as_json
    )


@with_options
def quotas(
    asked: CommandOptions,
    *,
    as_json: bool,
) -> Work:
    """List client quotas; set and unset them."""
    from prokurist.cli import access_changes as command

    return partial(command.list_quotas, asked, as_json=as_json)


@with_options
@made_of("entity", entity_of)
def quotas_set(
    asked: CommandOptions,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=NUMBER…", help="Such as producer_byte_rate=1e6.")
    ],
    entity: "QuotaEntity",
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Set quotas of clients."""
    from prokurist.cli import access_changes as command

    return partial(
        command.change_quotas,
        asked,
        entity,
        pairs_of(values, "a quota"),
        dry_run=dry_run,
        as_json=as_json,
    )


@with_options
@made_of("entity", entity_of)
def quotas_unset(
    asked: CommandOptions,
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="Keys.")],
    entity: "QuotaEntity",
    dry_run: DryRun = False,
    *,
    as_json: bool,
) -> Work:
    """Remove quotas of clients."""
    from prokurist.cli import access_changes as command

    return partial(
        command.change_quotas,
        asked,
        entity,
        dict.fromkeys(keys),
        dry_run=dry_run,
        as_json=as_json,
    )
