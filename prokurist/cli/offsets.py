"""`prokurist offsets`: committed offsets of a group, and its lag.

Thread: the main one.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

from prokurist.admin import KafkaAdmin, OffsetSpec
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.cli.partition_changes import partitions_of
from prokurist.types import counted

COLUMNS = (
    Column("topic", "bold"),
    Column("partition"),
    Column("committed"),
    Column("end"),
    Column("lag", "yellow"),
    Column("metadata", "dim"),
)


def run(
    asked: CommandOptions,
    group: str,
    topics: Sequence[str],
    *,
    every: float | None,
    as_json: bool,
) -> None:
    """Show the offsets of a group, once or again and again.

    Args:
        asked: Options of every command; with repetition, its time limit holds for each round.
        group: The group.
        topics: The topics; none for all with committed offsets.
        every: Seconds between two rounds; None for one alone.
        as_json: See `output.show`.

    Raises:
        Failed: The group has committed nothing, or a topic does not exist.
        KafkaException: The brokers do not tell.
    """
    with asked.admin() as admin:
        turn = asked
        while True:
            rows = offsets(admin, turn, group, topics)
            if every is not None and sys.stdout.isatty() and not as_json:
                # Home, and wipe what is below: the table stays where it is.
                sys.stdout.write("\x1b[H\x1b[J")
            show(COLUMNS, rows, as_json=as_json)
            lag = sum(row["lag"] for row in rows if isinstance(row["lag"], int))
            asked.say(
                f"{group} lags by {counted(lag, 'record')} in {counted(len(rows), 'partition')}"
            )
            if every is None:
                return
            asked.clock.sleep(every)
            turn = replace(asked)


def offsets(
    admin: KafkaAdmin, asked: CommandOptions, group: str, topics: Sequence[str]
) -> list[Row]:
    """One row for each partition.

    Raises:
        Failed: The group has committed nothing, or a topic does not exist.
        KafkaException: The brokers do not tell.
    """
    partitions = partitions_of(admin, asked, topics, ()) if topics else None
    found = admin.group_offsets({group: partitions}, timeout=asked.left())[group]
    committed = dict(sorted(found.check().items()))
    if not any(committed.values()):
        where = f" in {', '.join(topics)}" if topics else ""
        raise Failed(f"the group {group!r} has committed nothing{where}: is its name right?")
    ends = admin.list_offsets(
        dict.fromkeys(committed, OffsetSpec.LATEST), timeout=asked.left()
    ).check()
    rows: list[Row] = []
    for tp, kept in committed.items():
        end = ends[tp].offset or 0
        rows.append(
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "committed": None if kept is None else kept.offset,
                "end": end,
                "lag": None if kept is None else max(0, end - kept.offset),
                "metadata": None if kept is None else kept.metadata or None,
            }
        )
    return rows
