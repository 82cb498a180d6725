"""`prokurist reset-offsets`: where a group goes on reading, changed by hand.

Thread: the main one.
Invariants: without `--execute` nothing is changed. Offsets stay within the log: one beyond an
end becomes that end, with a message.
"""

from collections.abc import Mapping, Sequence

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.consume import chosen
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.cli.start_offset import StartOffset
from prokurist.cli.time_arguments import milliseconds, span
from prokurist.cli.topics import partitions_of
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import CommitFailedException
from prokurist.events.clock import epoch_milliseconds
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import OffsetAndMetadata, TopicPartition, named

COLUMNS = (
    Column("topic", "bold"),
    Column("partition"),
    Column("committed"),
    Column("new", "cyan"),
    Column("change"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a reset; one of the two fields is set.

    Attributes:
        beginning: An offset that is looked up or named.
        shift: A number of records forward, or back, from the committed offset.
    """

    beginning: StartOffset | None = None
    shift: int | None = None

    @classmethod
    def of(
        cls,
        *,
        to_earliest: bool,
        to_latest: bool,
        to_offset: int | None,
        to_datetime: str | None,
        by_duration: str | None,
        shift_by: int | None,
    ) -> "Target":
        """Make the target from the options; exactly one of them is given.

        Raises:
            Misused: None is, or several are, or one makes no sense.
        """
        targets: list[Target] = []
        if to_earliest:
            targets.append(cls(StartOffset(edge="earliest")))
        if to_latest:
            targets.append(cls(StartOffset(edge="latest")))
        if to_offset is not None:
            if to_offset < 0:
                raise Misused(f"--to-offset {to_offset}: an offset is not negative")
            targets.append(cls(StartOffset(offset=to_offset)))
        if to_datetime is not None:
            targets.append(cls(StartOffset(moment=milliseconds(to_datetime))))
        if by_duration is not None:
            targets.append(
                cls(StartOffset(moment=max(0, epoch_milliseconds() - span(by_duration))))
            )
        if shift_by is not None:
            targets.append(cls(shift=shift_by))
        if len(targets) != 1:
            raise Misused(
                "give just one of --to-earliest, --to-latest, --to-offset, --to-datetime, "
                f"--by-duration and --shift-by; there are {len(targets) or 'none'}"
            )
        return targets[0]


def run(
    asked: CommandOptions,
    group: str,
    topics: Sequence[str],
    partitions: Sequence[int],
    target: Target,
    *,
    execute: bool,
    as_json: bool,
) -> None:
    """Show the changes, and make them if requested.

    Raises:
        Failed: A topic or partition does not exist, nothing is committed that could be
            shifted, or the group has members.
        KafkaException: The brokers refuse, or do not answer in time.
    """
    with asked.consumer(group_id=group) as consumer:
        wanted = [
            TopicPartition(topic, number)
            for topic in topics
            for number in chosen(
                topic,
                [info.partition for info in partitions_of(consumer, asked, topic)],
                partitions,
            )
        ]
        committed = consumer.committed(wanted, asked.left())
        offsets = within_the_log(
            consumer, asked, aimed(consumer, asked, wanted, committed, target)
        )
        if execute:
            commit(consumer, asked, group, offsets)
    rows = [row(tp, committed[tp], offsets[tp]) for tp in wanted]
    show(COLUMNS, rows, as_json=as_json)
    asked.say(
        f"committed for {group}"
        if execute
        else "a dry run, nothing was changed: --execute commits this"
    )


def aimed(
    consumer: KafkaConsumer,
    asked: CommandOptions,
    partitions: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, OffsetAndMetadata | None],
    target: Target,
) -> dict[TopicPartition, int]:
    """The offsets that were asked for, be they in the log or not."""
    if target.beginning is not None:
        return target.beginning.offsets(consumer, asked, partitions)
    shift = target.shift or 0
    missing = [tp for tp in partitions if committed[tp] is None]
    if missing:
        raise Failed(f"--shift-by: nothing is committed for {named(missing)}")
    return {tp: kept.offset + shift for tp, kept in committed.items() if kept is not None}


def within_the_log(
    consumer: KafkaConsumer, asked: CommandOptions, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The same, none of them before the beginning or behind the end."""
    begins = consumer.beginning_offsets(offsets, asked.left())
    ends = consumer.end_offsets(offsets, asked.left())
    kept = {tp: min(max(offset, begins[tp]), ends[tp]) for tp, offset in offsets.items()}
    if beyond := [tp for tp in offsets if kept[tp] != offsets[tp]]:
        asked.say(f"beyond the log, so its nearer end is taken: {named(beyond)}")
    return kept


def commit(
    consumer: KafkaConsumer,
    asked: CommandOptions,
    group: str,
    offsets: Mapping[TopicPartition, int],
) -> None:
    """Commit from outside of the group.

    Raises:
        Failed: The group has members, with commits of their own.
        KafkaException: The brokers refuse, or do not answer in time.
    """
    wanted = {tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()}
    try:
        consumer.commit_sync(wanted, asked.left())
    except CommitFailedException as error:
        # A coordinator takes a stranger's commit only while a group has no members.
        raise Failed(
            f"the group {group!r} has live members, and nothing was changed: stop them first, "
            "or wait until their session has timed out"
        ) from error


def row(tp: TopicPartition, committed: OffsetAndMetadata | None, new: int) -> Row:
    """A partition in one row."""
    old = None if committed is None else committed.offset
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "committed": old,
        "new": new,
        "change": None if old is None else new - old,
    }
