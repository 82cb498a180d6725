"""Ranges of the logs with records that a query may want.

Thread: any; a frozen value, which can be pickled.

Invariants: only what no record can match is left out, so applying the filter to each record
that is read finds all that match.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_ranges import OffsetRange
from prokurist.spark.offset_resolution import OffsetLookup
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a topic's name or a partition's number.

    Attributes:
        column: `topic` or `partition`.
        judge: What is asked about it and what is given.
        given: That.
        negated: Whether the answer has to be no.
    """

    column: str
    judge: Callable[[Any, Any], bool]
    given: Any
    negated: bool = False

    def holds(self, partition: TopicPartition) -> bool:
        """Return True if records of a partition can match."""
        return self.judge(getattr(partition, self.column), self.given) is not self.negated


@dataclass(frozen=True, slots=True)
class FilterRanges:
    """Ranges with possible matches; all conditions must hold.

    Attributes:
        conditions: Of topic and partition.
        first: No record before this offset matches.
        last: None after this one does; None for no bound.
        since: None does that is older, in milliseconds since the epoch; None for no bound.
    """

    conditions: tuple[Condition, ...] = ()
    first: int = 0
    last: int | None = None
    since: int | None = None

    def and_(self, other: "FilterRanges") -> "FilterRanges":
        """The intersection of both."""
        lasts = [each for each in (self.last, other.last) if each is not None]
        sinces = [each for each in (self.since, other.since) if each is not None]
        return FilterRanges(
            self.conditions + other.conditions,
            max(self.first, other.first),
            min(lasts, default=None),
            max(sinces, default=None),
        )

    def narrowed(self, ranges: Iterable[OffsetRange], logs: OffsetLookup) -> list[OffsetRange]:
        """The parts of ranges in which matching records can be.

        Args:
            ranges: Offsets that are in their logs.
            logs: Who is asked where a time begins. What was appended after the ranges' ends
                were asked for lies beyond them: so where no record is as young, none is in
                its range.
        """
        kept = [
            self._between(each)
            for each in ranges
            if all(condition.holds(each.partition) for condition in self.conditions)
        ]
        kept = [each for each in kept if each.size]
        if self.since is None or not kept:
            return kept
        begins = logs.at_times({each.partition: self.since for each in kept})
        return [_cut(each, begins[each.partition], None) for each in kept]

    def _between(self, whole: OffsetRange) -> OffsetRange:
        return _cut(whole, self.first, None if self.last is None else self.last + 1)


def _cut(whole: OffsetRange, start: int | None, end: int | None) -> OffsetRange:
    """The part of a range between two offsets."""
    end = whole.end if end is None else max(whole.start, min(whole.end, end))
    start = end if start is None else min(end, max(whole.start, start))
    return OffsetRange(whole.partition, start, end)


def among(value: object, several: Iterable[object]) -> bool:
    """Return True if a value is one of several."""
    return value in several


EVERYWHERE: Final = FilterRanges()
"""Ranges without any filter."""
