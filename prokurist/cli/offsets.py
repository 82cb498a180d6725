"""`prokurist offsets`: committed offsets of a group, and its lag.

Thread: the main one.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.cli.topics import partitions_of
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import TopicPartition, counted

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
    with asked.consumer(group_id=group) as consumer:
        turn = asked
        while True:
            rows = offsets(consumer, turn, group, topics)
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
    consumer: KafkaConsumer, asked: CommandOptions, group: str, topics: Sequence[str]
) -> list[Row]:
    """One row for each partition."""
    if topics:
        infos = [info for topic in topics for info in partitions_of(consumer, asked, topic)]
    else:
        listed = consumer.list_topics(asked.left())
        infos = [info for _, each in sorted(listed.items()) for info in each]
    partitions = [TopicPartition(info.topic, info.partition) for info in infos]
    # As Java's tool does it: one open transaction would hide the lag of all groups.
    committed = consumer.committed(partitions, asked.left(), stable=False)
    if not any(committed.values()):
        where = f" in {', '.join(topics)}" if topics else ""
        raise Failed(f"the group {group!r} has committed nothing{where}: is its name right?")
    if not topics:
        partitions = [tp for tp in partitions if committed[tp] is not None]
    ends = consumer.end_offsets(partitions, asked.left())
    rows: list[Row] = []
    for tp in partitions:
        kept = committed[tp]
        rows.append(
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "committed": None if kept is None else kept.offset,
                "end": ends[tp],
                "lag": None if kept is None else max(0, ends[tp] - kept.offset),
                "metadata": None if kept is None else kept.metadata or None,
            }
        )
    return rows
