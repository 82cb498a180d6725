"""`prokurist records delete`, `elect`, `reassign`, `log-dirs`.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.admin import Cancel, Election, KafkaAdmin, OffsetSpec
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.consume import chosen
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.types import TopicPartition, counted

RECORDS = (
    Column("topic", "bold"),
    Column("partition"),
    Column("beginning"),
    Column("end"),
    Column("before", "cyan"),
    Column("records", "yellow"),
)
MOVES = (
    Column("topic", "bold"),
    Column("partition"),
    Column("replicas"),
    Column("adding", "cyan"),
    Column("removing", "yellow"),
)
DIRECTORIES = (
    Column("broker", "bold"),
    Column("path"),
    Column("replicas"),
    Column("bytes"),
    Column("behind", "yellow"),
    Column("free"),
    Column("of"),
)
END = "end"


def partitions_of(
    admin: KafkaAdmin, asked: CommandOptions, topics: Sequence[str], numbers: Sequence[int]
) -> list[TopicPartition]:
    """Partitions of topics: all, or those with these numbers.

    Raises:
        Failed: There is no such topic or partition.
    """
    found = admin.describe_topics(topics, timeout=asked.left())
    if found.errors:
        raise Failed("; ".join(str(error) for error in found.errors.values()))
    return [
        TopicPartition(each.name, number)
        for each in found.succeeded.values()
        for number in chosen(each.name, [info.partition for info in each.partitions], numbers)
    ]


def delete_records(
    asked: CommandOptions,
    topics: Sequence[str],
    numbers: Sequence[int],
    before: str,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Delete the records before an offset.

    Raises:
        Failed: There is no such partition, or the deletion is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: The offset is none.
    """
    if before != END and not before.isdecimal():
        raise Misused(f"--before {before}: write an offset, or end for all records")
    with asked.admin() as admin:
        partitions = partitions_of(admin, asked, topics, numbers)
        starts, ends = (
            admin.list_offsets(dict.fromkeys(partitions, spec), timeout=asked.left()).check()
            for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
        )
        wanted = {tp: ends[tp].offset or 0 for tp in partitions}
        if before != END:
            wanted = dict.fromkeys(partitions, int(before))
        lost = {
            tp: max(0, min(wanted[tp], ends[tp].offset or 0) - (starts[tp].offset or 0))
            for tp in partitions
        }
        if dry_run:
            rows: list[Row] = [
                {
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "beginning": starts[tp].offset,
                    "end": ends[tp].offset,
                    "before": wanted[tp],
                    "records": lost[tp],
                }
                for tp in partitions
            ]
            show(RECORDS, rows, as_json=as_json)
            asked.say(f"a dry run: {counted(sum(lost.values()), 'record')} would be deleted")
            return 0
        asked = confirmed(asked, "delete", sum(lost.values()), "record", yes=yes)
        results = admin.delete_records(wanted, timeout=asked.left())
    return reported(
        asked, results, "deleted", as_json=as_json, described=lambda start: f"begins at {start}"
    )


def elect(
    asked: CommandOptions,
    topics: Sequence[str],
    numbers: Sequence[int],
    *,
    unclean: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Elect leaders: the preferred ones, or with `unclean` any replicas.

    Raises:
        Failed: There is no such partition, or the election is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: An unclean election of no named topic.
    """
    if unclean and not topics:
        raise Misused("--unclean loses records: name the topics with -t")
    with asked.admin() as admin:
        named = partitions_of(admin, asked, topics, numbers) if topics else None
        if dry_run:
            names = topics or list(admin.list_topics(internal=True, timeout=asked.left()))
            found = admin.describe_topics(names, timeout=asked.left()).check()
            needed = {
                TopicPartition(info.topic, info.partition): None
                for each in found.values()
                for info in each.partitions
                if (named is None or (info.topic, info.partition) in named)
                and (
                    info.leader is None
                    if unclean
                    else info.leader is None or info.leader.id != info.replicas[0].id
                )
            }
            return reported(asked, needed, "given a leader", as_json=as_json, dry_run=True)
        if unclean and named is not None:
            asked = confirmed(
                asked,
                "lose records in an unclean election of",
                len(named),
                "partition",
                yes=yes,
            )
        results = admin.elect_leaders(named, unclean=unclean, timeout=asked.left())
    return reported(asked, results, "done", as_json=as_json, described=elected)


def elected(election: Election) -> str:
    """The outcome of an election in words."""
    return "elected" if election.elected else "no election is needed"


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
    *,
    allow_rf_change: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Move partitions to brokers.

    Raises:
        Failed: There is no such partition, or the moves are not confirmed.
        KafkaException: Nothing could be asked.
        Misused: A move is none.
    """
    wanted = moves_of(moves)
    with asked.admin() as admin:
        topics = list(dict.fromkeys(tp.topic for tp in wanted))
        found = admin.describe_topics(topics, timeout=asked.left())
        if found.errors:
            raise Failed("; ".join(str(error) for error in found.errors.values()))
        present = {
            TopicPartition(info.topic, info.partition): [node.id for node in info.replicas]
            for each in found.succeeded.values()
            for info in each.partitions
        }
        if missing := [str(tp) for tp in wanted if tp not in present]:
            raise Failed(f"there is no partition {', '.join(missing)}")
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
            asked.say("a dry run, nothing was changed")
            return 0
        asked = confirmed(asked, "move", len(wanted), "partition", yes=yes)
        results = admin.reassign(wanted, allow_rf_change=allow_rf_change, timeout=asked.left())
    return reported(asked, results, "begun", as_json=as_json)


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


def log_dirs(asked: CommandOptions, brokers: Sequence[int], *, as_json: bool) -> None:
    """Show the log directories of brokers.

    Raises:
        Failed: A broker does not answer.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.describe_log_dirs(brokers or None, timeout=asked.left())
    rows: list[Row] = [
        {
            "broker": number,
            "path": path,
            "replicas": len(each.replicas),
            "bytes": sum(replica.size for replica in each.replicas.values()),
            "behind": sum(replica.offset_lag > 0 for replica in each.replicas.values()),
            "free": each.usable_bytes,
            "of": each.total_bytes,
        }
        for number, paths in sorted(found.succeeded.items())
        for path, each in paths.items()
    ]
    show(DIRECTORIES, rows, as_json=as_json)
    if found.errors:
        raise Failed("; ".join(str(error) for error in found.errors.values()))
