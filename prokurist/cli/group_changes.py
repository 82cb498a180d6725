"""`groups describe`, `delete`, `delete-offsets`, `remove-members`; `share-groups delete`.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.admin import ALL, Group, KafkaAdmin, MemberToRemove
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.cli.topic_changes import matched
from prokurist.errors import KafkaException
from prokurist.types import TopicPartition, counted
from prokurist.types.groups import GroupKind

MEMBERS = (
    Column("group", "bold"),
    Column("member"),
    Column("client"),
    Column("host"),
    Column("instance"),
    Column("topic"),
    Column("partitions"),
)


def describe(asked: CommandOptions, names: Sequence[str], *, as_json: bool) -> None:
    """Show the members of groups, and their partitions.

    Raises:
        Failed: A group cannot be described.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.describe_groups(names, timeout=asked.left())
    show(
        MEMBERS,
        [row for group in found.succeeded.values() for row in members_of(group)],
        as_json=as_json,
    )
    for group in found.succeeded.values():
        assignor = f", {group.assignor}" if group.assignor else ""
        where = "" if group.coordinator is None else f", broker {group.coordinator.id}"
        asked.say(
            f"{group.group_id}: {group.kind}, {group.state}, "
            f"{counted(len(group.members), 'member')}{assignor}{where}"
        )
    if found.errors:
        raise Failed("; ".join(str(error) for error in found.errors.values()))


def members_of(group: Group) -> list[Row]:
    """A row for each member and topic."""
    rows: list[Row] = []
    for member in group.members:
        topics: dict[str | None, list[int]] = {}
        for tp in sorted(member.assignment):
            topics.setdefault(tp.topic, []).append(tp.partition)
        rows.extend(
            {
                "group": group.group_id,
                "member": member.member_id,
                "client": member.client_id,
                "host": member.host.removeprefix("/"),
                "instance": member.instance_id,
                "topic": topic,
                "partitions": numbers,
            }
            for topic, numbers in (topics or {None: []}).items()
        )
    return rows


def delete(
    asked: CommandOptions,
    names: Sequence[str],
    *,
    kind: GroupKind | None = None,
    matching: str | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Delete groups, with their offsets.

    Args:
        asked: Options of every command.
        names: The groups.
        kind: The kind of group that is meant; None for any.
        matching: A regular expression instead of names.
        yes: True if it is confirmed.
        dry_run: True to change nothing.
        as_json: See `output.show`.

    Returns:
        The exit code.

    Raises:
        Failed: No group has such a name, or the deletion is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: Nothing is named.
    """
    if bool(names) == (matching is not None):
        raise Misused("name groups, or give --matching REGEX")
    with asked.admin() as admin:
        wanted = list(names)
        if matching is not None or kind is not None:
            kinds = () if kind is None else (kind,)
            found = admin.list_groups(kinds=kinds, timeout=asked.left())
            present = [each.group_id for each in found]
            if matching is not None:
                wanted = matched(matching, present)
            elif others := [name for name in names if name not in present]:
                raise Failed(f"there is no {kind} group {', '.join(others)}")
        if dry_run:
            described = admin.describe_groups(wanted, timeout=asked.left())
            outcomes: dict[str, KafkaException | None] = {
                name: described.errors.get(name) for name in wanted
            }
            return reported(asked, outcomes, "deleted", as_json=as_json, dry_run=True)
        asked.say(f"groups: {', '.join(wanted)}")
        asked = confirmed(asked, "delete", len(wanted), "group", yes=yes)
        results = admin.delete_groups(wanted, timeout=asked.left())
    return reported(asked, results, "deleted", as_json=as_json)


def delete_offsets(
    asked: CommandOptions,
    group: str,
    topics: Sequence[str],
    numbers: Sequence[int],
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Delete committed offsets of a group.

    Raises:
        Failed: Nothing is committed there, or the deletion is not confirmed.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        committed = offsets_of(admin, asked, group)
        wanted = [
            tp
            for tp in committed
            if tp.topic in topics and (not numbers or tp.partition in numbers)
        ]
        if not wanted:
            raise Failed(f"the group {group!r} has committed nothing in {', '.join(topics)}")
        if dry_run:
            rows = dict.fromkeys(wanted)
            return reported(asked, rows, "deleted", as_json=as_json, dry_run=True)
        asked = confirmed(asked, "delete", len(wanted), "offset", yes=yes)
        results = admin.delete_offsets(group, wanted, timeout=asked.left())
    return reported(asked, results, "deleted", as_json=as_json)


def offsets_of(
    admin: KafkaAdmin, asked: CommandOptions, group: str
) -> dict[TopicPartition, int]:
    """The committed offsets of a group."""
    found = admin.group_offsets([group], timeout=asked.left())[group].check()
    return {tp: place.offset for tp, place in sorted(found.items()) if place is not None}


def remove_members(
    asked: CommandOptions,
    group: str,
    members: Sequence[str],
    instances: Sequence[str],
    *,
    everyone: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove members from a group; one that is alive joins again by itself.

    Raises:
        Failed: The group does not exist, or the removal is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: Nobody is named.
    """
    if everyone == bool(members or instances):
        raise Misused("name members with --member or --instance, or give --all")
    named = [
        *(MemberToRemove(each) for each in members),
        *(MemberToRemove(instance_id=each) for each in instances),
    ]
    with asked.admin() as admin:
        if everyone:
            found = admin.describe_group(group, timeout=asked.left())
            named = [MemberToRemove(each.member_id) for each in found.members]
        if dry_run:
            rows = dict.fromkeys(named)
            return reported(asked, rows, "removed", as_json=as_json, dry_run=True)
        asked = confirmed(asked, "remove", len(named), "member", yes=yes)
        results = admin.remove_members(group, ALL if everyone else named, timeout=asked.left())
    return reported(asked, results, "removed", as_json=as_json)
