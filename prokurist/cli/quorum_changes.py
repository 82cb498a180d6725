"""`prokurist features`, `quorum`: levels of features, and the controllers.

Thread: the main one.
"""

from collections.abc import Mapping

from prokurist.admin import FeatureUpdate, Upgrade
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused
from prokurist.cli.output import Column, Row, show

FEATURES = (
    Column("feature", "bold"),
    Column("level"),
    Column("lowest"),
    Column("highest"),
)
CONTROLLERS = (
    Column("node", "bold"),
    Column("role"),
    Column("end"),
    Column("behind", "yellow"),
    Column("address"),
    Column("directory", "dim"),
)


def features(asked: CommandOptions, *, as_json: bool) -> None:
    """Show the features of the cluster.

    Raises:
        KafkaException: No broker answers in time.
    """
    with asked.admin() as admin:
        found = admin.features(timeout=asked.left())
    rows: list[Row] = [
        {
            "feature": name,
            "level": each.finalized,
            "lowest": None if each.supported is None else each.supported[0],
            "highest": None if each.supported is None else each.supported[1],
        }
        for name, each in sorted(found.items())
    ]
    show(FEATURES, rows, as_json=as_json)


def update(
    asked: CommandOptions,
    levels: Mapping[str, str],
    *,
    kind: Upgrade,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Change the levels of features.

    Raises:
        Failed: The change is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: A level is none.
    """
    for name, level in levels.items():
        if not level.isdecimal():
            raise Misused(f"{name}={level}: a level is a number, such as {name}=1")
    try:
        updates = {name: FeatureUpdate(int(level), kind) for name, level in levels.items()}
    except ValueError as error:
        raise Misused(str(error)) from None
    if kind is Upgrade.UNSAFE_DOWNGRADE and not dry_run:
        asked = confirmed(asked, "lose metadata by", len(updates), "downgrade", yes=yes)
    with asked.admin() as admin:
        results = admin.update_features(updates, validate_only=dry_run, timeout=asked.left())
    return reported(asked, results, "updated", as_json=as_json, dry_run=dry_run)


def quorum(asked: CommandOptions, *, as_json: bool) -> None:
    """Show the controllers and the nodes that follow them.

    Raises:
        KafkaException: No broker answers in time, or the cluster has no such quorum.
    """
    with asked.admin() as admin:
        found = admin.quorum(timeout=asked.left())
    rows: list[Row] = []
    for replicas, role in ((found.voters, "voter"), (found.observers, "observer")):
        for each in replicas:
            addresses = found.listeners.get(each.id, {})
            end = each.log_end_offset
            rows.append(
                {
                    "node": each.id,
                    "role": "leader" if each.id == found.leader_id else role,
                    "end": end,
                    "behind": None if end is None else max(0, found.high_watermark - end),
                    "address": ",".join(f"{host}:{port}" for host, port in addresses.values())
                    or None,
                    "directory": None if each.directory_id is None else str(each.directory_id),
                }
            )
    show(CONTROLLERS, rows, as_json=as_json)
    asked.say(f"epoch {found.leader_epoch}, committed up to {found.high_watermark}")
