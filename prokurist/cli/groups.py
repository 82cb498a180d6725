"""`prokurist groups`: all groups, from every broker.

Thread: the main one.
"""

from prokurist.admin import GroupListing, KafkaAdmin, Listing
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.types import counted
from prokurist.types.groups import GroupKind

COLUMNS = (
    Column("group", "bold"),
    Column("state"),
    Column("protocol"),
    Column("kind", "dim"),
    Column("coordinator"),
)


def run(asked: CommandOptions, kind: GroupKind | None = None, *, as_json: bool) -> None:
    """List all groups.

    Args:
        asked: Options of every command.
        kind: Only those of a kind; None for all.
        as_json: See `output.show`.

    Raises:
        Failed: A broker does not answer: the groups that it coordinates are missing.
        KafkaException: No broker is reached.
    """
    with asked.admin() as admin:
        found = listed(admin, asked, kind)
    rows = [row(each) for each in sorted(found, key=lambda each: each.group_id)]
    show(COLUMNS, rows, as_json=as_json)
    if failures := missing(found):
        raise Failed(f"the list is not complete: {failures}")
    asked.say(counted(len(rows), "group"))


def listed(
    admin: KafkaAdmin, asked: CommandOptions, kind: GroupKind | None = None
) -> Listing[GroupListing]:
    """The groups of brokers that answer, in three quarters of the time that is left."""
    kinds = () if kind is None else (kind,)
    return admin.list_groups(kinds=kinds, partial=True, timeout=asked.left() * 3 / 4)


def missing(found: Listing[GroupListing]) -> str:
    """The errors of brokers that have not answered; empty where all have."""
    return "; ".join(f"broker {number}: {error}" for number, error in found.errors.items())


def row(group: GroupListing) -> Row:
    """One group; brokers before 2.6 do not tell the state, those before 3.8 the protocol."""
    return {
        "group": group.group_id,
        "state": group.state,
        "protocol": group.kind,
        "kind": group.protocol_type or None,
        "coordinator": group.coordinator,
    }
