"""`prokurist records delete`, `elect`, `log-dirs`.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.admin import Election, KafkaAdmin, OffsetSpec
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
