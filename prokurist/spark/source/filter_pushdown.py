"""Ranges of records that can match a query's filters.

Thread: a worker of Spark beside the driver, for a moment. Only imported where
`filterPushdown` is asked for: pyspark 4.0 has no filters, and while
`spark.sql.python.filterPushdown.enabled` is false a reader that takes any fails.

Invariants: Spark judges each record that is read by all filters, too. So a filter that is
not understood here costs time, and no more.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any, Final

from prokurist.errors import ConfigException
from prokurist.spark.source.batch_reader import BatchReader
from prokurist.spark.source.filter_ranges import EVERYWHERE, Condition, FilterRanges, among

try:
    from pyspark.sql.datasource import (
        EqualNullSafe,
        EqualTo,
        Filter,
        GreaterThan,
        GreaterThanOrEqual,
        In,
        LessThan,
        LessThanOrEqual,
        Not,
        StringContains,
        StringEndsWith,
        StringStartsWith,
    )
except ImportError as _missing:
    raise ConfigException("filterPushdown needs pyspark 4.1 or later") from _missing

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)
JUDGES: Final[Mapping[type[Filter], Callable[[Any, Any], bool]]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    In: among,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    StringStartsWith: str.startswith,
    StringEndsWith: str.endswith,
    StringContains: operator.contains,
}
"""Comparison of each filter between a value and the filter's own."""
KINDS: Final[Mapping[str, type]] = {"topic": str, "partition": int, "offset": int}
"""Types of the filter's values by column; times are told from dates besides."""


class FilteringReader(BatchReader):
    """A batch reader that reads only where records can match the query's filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters, and return them all for Spark to apply again."""
        self._where = reduce(FilterRanges.and_, map(where_of, filters), EVERYWHERE)
        return filters


def where_of(asked: Filter) -> FilterRanges:
    """The ranges in which records may match a filter."""
    negated = isinstance(asked, Not)
    inner: Any = asked.child if isinstance(asked, Not) else asked
    judge = JUDGES.get(type(inner))
    if judge is None or len(inner.attribute) != 1:
        return EVERYWHERE
    [column] = inner.attribute
    given = list(inner.value) if isinstance(inner, In) else [inner.value]
    if column == "timestamp":
        return EVERYWHERE if negated else _since(inner, given)
    if not given or not all(type(each) is KINDS.get(column) for each in given):
        return EVERYWHERE
    if column != "offset":
        return FilterRanges((Condition(column, judge, inner.value, negated),))
    return EVERYWHERE if negated else _offsets(inner, given)


def _offsets(asked: Filter, given: list[int]) -> FilterRanges:
    """The range of offsets of a filter; of several values from the least to the greatest."""
    least, greatest = min(given), max(given)
    match asked:
        case GreaterThan():
            return FilterRanges(first=least + 1)
        case GreaterThanOrEqual():
            return FilterRanges(first=least)
        case LessThan():
            return FilterRanges(last=greatest - 1)
        case LessThanOrEqual():
            return FilterRanges(last=greatest)
        case _:
            return FilterRanges(first=least, last=greatest)


def _since(asked: Filter, given: list[Any]) -> FilterRanges:
    """The earliest time of a filter; an upper bound says nothing, as times are unordered.

    Times are compared in microseconds, and records have milliseconds.
    """
    if not given or not all(isinstance(each, datetime) and each.tzinfo for each in given):
        return EVERYWHERE
    least = min(given) - EPOCH
    match asked:
        case GreaterThan():
            since = least // MILLISECOND + 1
        case GreaterThanOrEqual() | EqualTo() | EqualNullSafe() | In():
            since = -(-least // MILLISECOND)
        case _:
            return EVERYWHERE
    # Brokers mean something else by times below zero, and all records are younger than 0.
    return FilterRanges(since=since) if since > 0 else EVERYWHERE
