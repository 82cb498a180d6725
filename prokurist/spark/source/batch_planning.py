"""Plan of a batch: its offsets, and their split into tasks.

Thread: a worker of Spark beside the driver, which asks once for each plan.

Invariants: all that is asked is bounded by one deadline. Offsets that are not in their log
are noticed here, where that is known at once, and not by some task in the end.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing

from prokurist.errors import ConfigException
from prokurist.events.clock import epoch_milliseconds
from prokurist.spark import offset_resolution
from prokurist.spark.errors import DataLossException, Loss
from prokurist.spark.offset_ranges import OffsetRange, ranges_between, split
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.filter_ranges import EVERYWHERE, FilterRanges
from prokurist.spark.source.options import Settings
from prokurist.spark.source.task import Piece
from prokurist.spark.start_offsets import batch_end, batch_start, check_order
from prokurist.types import TopicPartition


def planned(
    settings: Settings, columns: tuple[str, ...], where: FilterRanges = EVERYWHERE
) -> list[Piece]:
    """The pieces that the tasks of a batch read.

    Args:
        settings: What the options come to.
        columns: What is wanted of each record.
        where: Where the records are that are wanted.

    Raises:
        ConfigException: The options name offsets that cannot be.
        KafkaException: The brokers do not tell in time, or records are gone.
    """
    now = epoch_milliseconds()
    begin, end = batch_start(settings.given, now), batch_end(settings.given, now)
    check_order(begin.place, end)
    with (
        closing(DriverQueries(settings.client, settings.group)) as brokers,
        brokers.within(settings.driver_deadline),
    ):
        partitions = brokers.partitions(settings.selection)
        starts = offset_resolution.starts(begin, partitions, brokers)
        ends = offset_resolution.ends(end, partitions, brokers)
        first, last = brokers.beginnings(partitions), brokers.ends(partitions)
        if settings.fail_on_data_loss:
            check_there(starts, first, last)
            check_there(ends, first, last)
        ranges = ranges_between(starts, ends)
        for each in ranges:
            if each.size < 0:
                raise ConfigException(
                    f"{each.partition} begins at {each.start} and ends at {each.end}: a batch "
                    f"begins no later than it ends"
                )
        left = [there(each, first[each.partition], last[each.partition]) for each in ranges]
        narrowed = where.narrowed(left, brokers)
    return pieces(settings, columns, cut(settings, narrowed))


def cut(settings: Settings, ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Cut ranges for tasks."""
    splits = settings.splits
    return split(ranges, min_partitions=splits.min_partitions, max_records=splits.max_records)


def pieces(
    settings: Settings, columns: tuple[str, ...], ranges: Iterable[OffsetRange]
) -> list[Piece]:
    """Make the piece of each task."""
    return [
        Piece(
            each,
            settings.client,
            columns,
            settings.batch_bytes,
            settings.read_stall,
            settings.batch_deadline,
            settings.fail_on_data_loss,
        )
        for each in ranges
    ]


def there(wanted: OffsetRange, first: int, last: int) -> OffsetRange:
    """The part of a range that is in the log."""
    start = max(wanted.start, first)
    return OffsetRange(wanted.partition, start, max(start, min(wanted.end, last)))


def check_there(
    wanted: Mapping[TopicPartition, int],
    first: Mapping[TopicPartition, int],
    last: Mapping[TopicPartition, int],
) -> None:
    """Check that offsets lie in their logs.

    Raises:
        DataLossException: Some do not.
    """
    losses = [
        Loss(tp, at, first[tp], last[tp])
        for tp, at in wanted.items()
        if not first[tp] <= at <= last[tp]
    ]
    if losses:
        raise DataLossException(
            f"what is to be read is not there: {'; '.join(map(str, losses))}. Set "
            f"failOnDataLoss to false to read what is left",
            losses=losses,
        )
