"""`prokurist reassign`: moves of partitions between brokers, by hand or by a plan.

A plan is a file of JSON lines: what `reassign plan -J` writes.

Thread: the main one.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from prokurist.admin import Cancel, KafkaAdmin, ReassignmentPlan
from prokurist.cli.changes import DRY, confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.cli.topics import ids
from prokurist.types import TopicPartition, counted

MOVES = (
    Column("topic", "bold"),
    Column("partition"),
    Column("replicas"),
    Column("adding", "cyan"),
    Column("removing", "yellow"),
)
PLANNED = (
    Column("topic", "bold"),
    Column("partition"),
    Column("before"),
    Column("after", "cyan"),
)
PROGRESS = (
    Column("topic", "bold"),
    Column("partition"),
    Column("planned"),
    Column("state", "cyan"),
)


def moves_of(texts: Sequence[str]) -> dict[TopicPartition, list[int]]:
    """The brokers of `TOPIC:PARTITION=ID,ID,…`.

    Raises:
        Misused: One is something else.
    """
    moves = {}
    for each in texts:
        place, _, ids = each.partition("=")
        brokers = ids.split(",")
        if not ids or not all(broker.isdecimal() for broker in brokers):
            raise Misused(f"{each!r} is no move: TOPIC:PARTITION=ID,ID,… such as orders:0=2,3")
        if len(set(map(int, brokers))) < len(brokers):
            raise Misused(f"{each!r} names a broker twice: each has one replica at most")
        moves[place_of(place)] = [int(broker) for broker in brokers]
    return moves


def place_of(text: str) -> TopicPartition:
    """The partition of `TOPIC:PARTITION`.

    Raises:
        Misused: It is something else.
    """
    topic, _, number = text.rpartition(":")
    if not topic or not number.isdecimal():
        raise Misused(f"{text!r} is no partition: TOPIC:PARTITION, such as orders:0")
    return TopicPartition(topic, int(number))


def list_moves(asked: CommandOptions, *, as_json: bool) -> None:
    """List the reassignments that are under way.

    Raises:
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.list_reassignments(timeout=asked.left())
    rows: list[Row] = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "replicas": list(each.replicas),
            "adding": list(each.adding),
            "removing": list(each.removing),
        }
        for tp, each in sorted(found.items())
    ]
    show(MOVES, rows, as_json=as_json)
    asked.say(f"{counted(len(rows), 'reassignment')} under way")


def start_moves(
    asked: CommandOptions,
    moves: Sequence[str],
    file: Path | None,
    *,
    undo: bool,
    throttle: int | None,
    allow_rf_change: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Move partitions to brokers.

    Args:
        asked: Options of every command.
        moves: The moves, as `TOPIC:PARTITION=ID,ID,…`.
        file: A plan with more of them; None for none.
        undo: True to go back to what a plan has begun from.
        throttle: Bytes a second that brokers may copy; None for no limit.
        allow_rf_change: True to allow another number of replicas.
        yes: True if it is confirmed.
        dry_run: True to change nothing.
        as_json: See `output.show`.

    Returns:
        The exit code.

    Raises:
        Failed: There is no such partition, or the moves are not confirmed.
        KafkaException: Nothing could be asked.
        Misused: A move is none, or nothing is named.
    """
    if bool(moves) == (file is not None):
        raise Misused("name moves, such as orders:0=2,3, or give --plan FILE")
    if file is None and (undo or throttle is not None):
        raise Misused("--undo and --throttle are for a plan: give --plan FILE")
    if throttle is not None and not throttle:
        raise Misused("--throttle 0 would copy nothing: give bytes a second")
    plan = None if file is None else plan_of(file, undo=undo)
    wanted = moves_of(moves) if plan is None else {tp: [*ids] for tp, ids in plan.after.items()}
    with asked.admin() as admin:
        present = present_replicas(admin, asked, wanted)
        rows: list[Row] = [
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "replicas": present[tp],
                "adding": [each for each in brokers if each not in present[tp]],
                "removing": [each for each in present[tp] if each not in brokers],
            }
            for tp, brokers in wanted.items()
        ]
        if dry_run:
            show(MOVES, rows, as_json=as_json)
            asked.say(DRY)
            return 0
        asked = confirmed(asked, "move", len(wanted), "partition", yes=yes)
        if plan is None:
            results = admin.reassign(
                wanted, allow_rf_change=allow_rf_change, timeout=asked.left()
            )
        else:
            results = admin.start_reassignment(plan, throttle=throttle, timeout=asked.left())
    return reported(asked, results, "begun", as_json=as_json)


def present_replicas(
    admin: KafkaAdmin, asked: CommandOptions, wanted: Iterable[TopicPartition]
) -> dict[TopicPartition, list[int]]:
    """The brokers that partitions are at.

    Raises:
        Failed: There is no such partition.
        KafkaException: Nothing could be asked.
    """
    topics = list(dict.fromkeys(tp.topic for tp in wanted))
    found = admin.describe_topics(topics, timeout=asked.left())
    if found.errors:
        raise Failed("; ".join(str(error) for error in found.errors.values()))
    present = {
        TopicPartition(info.topic, info.partition): ids(info.replicas)
        for each in found.succeeded.values()
        for info in each.partitions
    }
    if missing := [str(tp) for tp in wanted if tp not in present]:
        raise Failed(f"there is no partition {', '.join(missing)}")
    return present


def cancel_moves(
    asked: CommandOptions, places: Sequence[str], *, dry_run: bool, as_json: bool
) -> int:
    """End reassignments that are under way.

    Raises:
        KafkaException: Nothing could be asked.
        Misused: A partition is none.
    """
    named = [place_of(each) for each in places]
    with asked.admin() as admin:
        if dry_run:
            found = admin.list_reassignments(named or None, timeout=asked.left())
            under_way = dict.fromkeys(sorted(found))
            return reported(asked, under_way, "cancelled", as_json=as_json, dry_run=True)
        results = admin.reassign(dict.fromkeys(named, Cancel()), timeout=asked.left())
    return reported(asked, results, "cancelled", as_json=as_json)


# --- plans ---------------------------------------------------------------------------------


def plan(
    asked: CommandOptions,
    topics: Sequence[str],
    brokers: Sequence[int],
    *,
    rack_aware: bool,
    as_json: bool,
) -> None:
    """Plan to spread topics over brokers, with few copies; nothing is changed.

    Raises:
        AdminException: There is no such topic.
        IllegalStateException: A broker is not live.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.plan_reassignment(
            topics, brokers, rack_aware=rack_aware, timeout=asked.left()
        )
    rows: list[Row] = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "before": list(found.before[tp]),
            "after": list(after),
        }
        for tp, after in found.after.items()
    ]
    show(PLANNED, rows, as_json=as_json)
    asked.say(
        f"{counted(len(rows), 'partition')} would change, "
        f"{counted(found.copies, 'replica')} would be copied"
    )


def plan_of(file: Path, *, undo: bool = False) -> ReassignmentPlan:
    """Read a plan.

    Args:
        file: The file, as `reassign plan -J` writes it.
        undo: True for the way back.

    Raises:
        Misused: The file cannot be read, or is no plan.
    """
    before: dict[TopicPartition, tuple[int, ...]] = {}
    after: dict[TopicPartition, tuple[int, ...]] = {}
    try:
        for line in filter(str.strip, file.read_text("utf-8").splitlines()):
            row = json.loads(line)
            tp = TopicPartition(str(row["topic"]), int(row["partition"]))
            before[tp] = tuple(map(int, row["before"]))
            after[tp] = tuple(map(int, row["after"]))
    except OSError as error:
        raise Misused(f"{file}: {error}") from None
    except (ValueError, TypeError, KeyError):
        raise Misused(f"{file} is no plan: `prokurist reassign plan -J` writes one") from None
    if not after:
        raise Misused(f"{file} is a plan without a move: there is nothing to do")
    found = ReassignmentPlan(before, after)
    return found.undone() if undo else found


def verify(asked: CommandOptions, file: Path, *, undo: bool, as_json: bool) -> int:
    """Compare partitions with a plan, and remove its throttle once nothing is copied.

    Returns:
        The exit code: 1 while something is copied, or is not where it was planned.

    Raises:
        AdminException: There is no such topic, or the throttle could not be removed.
        KafkaException: Nothing could be asked.
        Misused: The file is no plan.
    """
    wanted = plan_of(file, undo=undo)
    with asked.admin() as admin:
        found = admin.verify_reassignment(wanted, timeout=asked.left())
    rows: list[Row] = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "planned": list(after),
            "state": "moving"
            if tp in found.moving
            else f"at {','.join(map(str, found.differing[tp]))}"
            if tp in found.differing
            else "done",
        }
        for tp, after in wanted.after.items()
    ]
    show(PROGRESS, rows, as_json=as_json)
    removed = "is removed" if found.throttle_removed else "stays until nothing is copied"
    asked.say(f"{len(found.done)} of {len(rows)} are done; the throttle {removed}")
    return 0 if len(found.done) == len(rows) else 1
