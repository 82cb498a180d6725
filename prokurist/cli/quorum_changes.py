"""`prokurist features`, `quorum`: levels of features, and the controllers.

Thread: the main one.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from prokurist.admin import FeatureUpdate, Upgrade
from prokurist.cli.changes import confirmed, error_of, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.errors import KafkaException
from prokurist.types.quorums import QuorumReplica

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
BASE64_ID: Final = 22
"""Characters of an id in Kafka's own files, such as `meta.properties`."""


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


def directory_of(text: str) -> UUID:
    """The id of a metadata directory, as `quorum` shows it or as Kafka's files have it.

    Raises:
        Misused: It is none.
    """
    try:
        if len(text) == BASE64_ID:
            return UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))
        return UUID(text)
    except ValueError:
        raise Misused(f"{text!r} is no directory's id: `prokurist quorum` has them") from None


def listeners_of(texts: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """The addresses of listeners.

    Raises:
        Misused: One is no address.
    """
    found = {}
    for name, text in texts.items():
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal():
            raise Misused(f"{name}={text}: write HOST:PORT, such as CONTROLLER=kafka1:9093")
        found[name] = (host, int(port))
    return found


def add(
    asked: CommandOptions,
    voter: int,
    directory: UUID,
    listeners: Mapping[str, tuple[str, int]],
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Add a controller to the voters.

    Raises:
        Failed: It is no observer, in a dry run.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        if dry_run:
            found = admin.quorum(timeout=asked.left())
            if (voter, directory) not in {
                (each.id, each.directory_id) for each in found.observers
            }:
                raise Failed(f"node {voter} is no observer with the directory {directory}")
            return changed(asked, voter, None, "added", as_json=as_json, dry_run=True)
        error = error_of(
            lambda: admin.add_voter(voter, directory, listeners, timeout=asked.left())
        )
    return changed(asked, voter, error, "added", as_json=as_json)


def remove(
    asked: CommandOptions,
    voter: int,
    directory: UUID,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove a controller from the voters.

    Raises:
        Failed: It is no voter, or the removal is not confirmed.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.quorum(timeout=asked.left())
        if (voter, directory) not in names_of(found.voters):
            raise Failed(f"node {voter} is no voter with the directory {directory}")
        if dry_run:
            return changed(asked, voter, None, "removed", as_json=as_json, dry_run=True)
        asked = confirmed(asked, "remove", 1, "voter", yes=yes)
        error = error_of(lambda: admin.remove_voter(voter, directory, timeout=asked.left()))
    return changed(asked, voter, error, "removed", as_json=as_json)


def names_of(replicas: Iterable[QuorumReplica]) -> set[tuple[int, UUID | None]]:
    """The nodes, each with its directory."""
    return {(each.id, each.directory_id) for each in replicas}


def changed(
    asked: CommandOptions,
    voter: int,
    error: KafkaException | None,
    done: str,
    *,
    as_json: bool,
    dry_run: bool = False,
) -> int:
    """Show the outcome of a change of the voters; return the exit code."""
    outcome = {f"voter {voter}": error}
    return reported(asked, outcome, done, as_json=as_json, dry_run=dry_run)
