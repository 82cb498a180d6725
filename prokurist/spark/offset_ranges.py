"""Ranges of offsets for tasks, and their split.

Thread: any; pure functions of frozen values.
Invariants: the pieces of a range follow each other without a gap and are together the range.
Their number, and their cuts, are those of Spark's own source for Kafka; the tests hold its
answers.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """A range of offsets of one partition.

    Attributes:
        partition: It.
        start: The first of them.
        end: One past the last of them.
    """

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of offsets, at least that of records."""
        return self.end - self.start

    def cut(self, count: int) -> list["OffsetRange"]:
        """Cut it into so many pieces, the longer ones last; some may be empty."""
        pieces: list[OffsetRange] = []
        start, left = self.start, self.size
        for following in range(count, 0, -1):
            size = left // following
            left -= size
            pieces.append(OffsetRange(self.partition, start, start + size))
            start += size
        return pieces

    def __str__(self) -> str:
        return f"{self.partition}@{self.start}..{self.end}"


def ranges_between(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> list[OffsetRange]:
    """The ranges between starts and ends, in order of topics and partitions."""
    return [OffsetRange(tp, starts[tp], ends[tp]) for tp in sorted(ends) if tp in starts]


def split(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records: int | None = None,
) -> list[OffsetRange]:
    """Cut ranges for tasks; empty ones are left out.

    First each range is cut into as many pieces as it takes for none to be longer than
    `max_records`. If there are then fewer than `min_partitions`, each is cut again, by its
    part of the whole. That hits the number nearly: parts are rounded.

    Args:
        ranges: One for each partition.
        min_partitions: About so many, if there are as many offsets.
        max_records: None longer than so many offsets.
    """
    kept = [each for each in ranges if each.size > 0]
    if max_records is not None:
        kept = [
            piece
            for each in kept
            for piece in each.cut(math.ceil(float(each.size) / float(max_records)))
        ]
    if min_partitions is not None and min_partitions > len(kept):
        kept = _in_proportion(kept, min_partitions)
    return [each for each in kept if each.size > 0]


def _in_proportion(ranges: Sequence[OffsetRange], wanted: int) -> list[OffsetRange]:
    total = sum(each.size for each in ranges)
    whole = [each for each in ranges if _parts(each.size, total, wanted) == 1]
    # By partition and not by piece, which only `max_records` makes a difference of: Spark's
    # source does so, and a query that moves here keeps its number of tasks.
    spared = {each.partition for each in whole}
    rest = total - sum(each.size for each in whole)
    left = max(wanted - len(whole), 1)
    return [
        piece
        for each in ranges
        for piece in each.cut(1 if each.partition in spared else _parts(each.size, rest, left))
    ]


def _parts(size: int, total: int, wanted: int) -> int:
    """The number of pieces of a range, in proportion and at least one."""
    return max(math.floor(float(size) / float(total) * wanted + 0.5), 1)
