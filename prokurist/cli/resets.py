"""`prokurist groups reset`, `share-groups reset`: where a group goes on reading, by hand.

Thread: the main one.
Invariants: offsets stay within the log: one beyond an end becomes that end, with a message.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from prokurist.admin import KafkaAdmin, OffsetChange, OffsetPlan, OffsetSpec, Shift
from prokurist.cli.changes import DRY, confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.cli.partition_changes import partitions_of
from prokurist.cli.time_arguments import milliseconds, span
from prokurist.errors import KafkaException
from prokurist.types import TopicPartition, named

COLUMNS = (
    Column("topic", "bold"),
    Column("partition"),
    Column("committed"),
    Column("new", "cyan"),
    Column("change"),
)
Target: TypeAlias = OffsetSpec | datetime | timedelta | Shift | int
"""The target of a reset; a number is an offset of all partitions."""
OPTIONS: Final = (
    "--to-earliest, --to-latest, --to-offset, --to-datetime, --by-duration and --shift-by"
)


def target_of(
    *,
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_datetime: str | None,
    by_duration: str | None,
    shift_by: int | None,
) -> Target:
    """Make the target from the options; exactly one of them is given.

    Raises:
        Misused: None is, or several are, or one makes no sense.
    """
    targets: list[Target] = []
    if to_earliest:
        targets.append(OffsetSpec.EARLIEST)
    if to_latest:
        targets.append(OffsetSpec.LATEST)
    if to_offset is not None:
        if to_offset < 0:
            raise Misused(f"--to-offset {to_offset}: an offset is not negative")
        targets.append(to_offset)
    if to_datetime is not None:
        targets.append(datetime.fromtimestamp(milliseconds(to_datetime) / 1000, UTC))
    if by_duration is not None:
        targets.append(timedelta(milliseconds=span(by_duration)))
    if shift_by is not None:
        targets.append(Shift(shift_by))
    if len(targets) != 1:
        raise Misused(f"give just one of {OPTIONS}; there are {len(targets) or 'none'}")
    return targets[0]


def run(
    asked: CommandOptions,
    group: str,
    topics: Sequence[str],
    numbers: Sequence[int],
    target: Target,
    *,
    share: bool = False,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Plan new offsets of a group, and commit them once that is confirmed.

    Args:
        asked: Options of every command.
        group: The group.
        topics: The topics; none for all with a committed offset.
        numbers: The partitions of the topics; none for all.
        target: Where the reset leads to.
        share: True for a share group.
        yes: True if it is confirmed.
        dry_run: True to show the plan alone.
        as_json: See `output.show`.

    Returns:
        The exit code.

    Raises:
        Failed: A topic or partition does not exist, nothing is committed, or the reset is not
            confirmed.
        KafkaException: Nothing could be asked.
        Misused: Partitions of no topic.
    """
    if numbers and not topics:
        raise Misused("-p names partitions of topics: name them with -t")
    with asked.admin() as admin:
        plan = planned(admin, asked, group, topics, numbers, target, share=share)
        changes = dict(sorted(plan.succeeded.items()))
        if clamped := [tp for tp, change in changes.items() if change.clamped]:
            asked.say(f"beyond the log, so its nearer end is taken: {named(clamped)}")
        if dry_run:
            show(COLUMNS, [row(tp, each) for tp, each in changes.items()], as_json=as_json)
            if plan.errors:
                raise Failed("; ".join(str(error) for error in plan.errors.values()))
            asked.say(DRY)
            return 0
        outcomes: dict[TopicPartition, KafkaException | None] = dict(plan.errors)
        if changes:
            asked = confirmed(asked, f"reset {group} in", len(changes), "partition", yes=yes)
            offsets = {tp: each.after for tp, each in changes.items()}
            alter = admin.alter_share_offsets if share else admin.alter_offsets
            results = alter(group, offsets, timeout=asked.left())
            outcomes |= {tp: results.errors.get(tp) for tp in sorted(results)}
    words = {tp: f"reset {told(each)}" for tp, each in changes.items()}
    return reported(asked, outcomes, "reset", as_json=as_json, words=words)


def planned(
    admin: KafkaAdmin,
    asked: CommandOptions,
    group: str,
    topics: Sequence[str],
    numbers: Sequence[int],
    target: Target,
    *,
    share: bool,
) -> OffsetPlan:
    """Plan new offsets; nothing is changed.

    Raises:
        Failed: A topic or partition does not exist, or nothing is committed.
        KafkaException: Nothing could be asked.
    """
    plan_offsets = admin.plan_share_offsets if share else admin.plan_offsets
    partitions = partitions_of(admin, asked, topics, numbers) if topics else None
    if isinstance(target, int) and not isinstance(target, OffsetSpec):
        if partitions is None:
            raise Misused("--to-offset is one of some topics: name them with -t")
        exact = dict.fromkeys(partitions, target)
        return plan_offsets(group, exact, timeout=asked.left())
    plan = plan_offsets(group, target, partitions=partitions, timeout=asked.left())
    if not plan:
        raise Failed(f"the group {group!r} has committed nothing: name topics with -t")
    return plan


def row(tp: TopicPartition, change: OffsetChange) -> Row:
    """A partition in one row."""
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "committed": change.before,
        "new": change.after,
        "change": None if change.before is None else change.after - change.before,
    }


def told(change: OffsetChange) -> str:
    """A change in words."""
    before = "" if change.before is None else f"from {change.before} "
    return f"{before}to {change.after}"
