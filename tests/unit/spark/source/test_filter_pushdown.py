"""What a query's filters leave out: all that no record can match, and nothing else."""

import pickle
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", "4.1", reason="PySpark 4.1 is not installed")

from pyspark.sql import datasource as spark
from pyspark.sql.types import LongType, StructType

from prokurist.spark.data_source import KafkaDataSource
from prokurist.spark.offset_ranges import OffsetRange
from prokurist.spark.source import batch_reader as module
from prokurist.spark.source.filter_pushdown import FilteringReader, where_of
from prokurist.spark.source.filter_ranges import EVERYWHERE, FilterRanges
from prokurist.spark.source.options import Settings
from prokurist.types import TopicPartition

Log = list[int]
"""Timestamps of records, by offset, in milliseconds."""
BILLS, ORDERS, MORE = (
    TopicPartition("bills", 0),
    TopicPartition("orders", 0),
    TopicPartition("orders", 1),
)
START = datetime(2026, 3, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Answers:
    """Logs that say where a time begins, and nothing else."""

    def __init__(self, logs: Mapping[TopicPartition, Log]) -> None:
        self._logs = logs
        self.asked: list[Mapping[TopicPartition, int]] = []

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """The first record at or after a time."""
        self.asked.append(dict(moments))
        return {
            tp: next((nth for nth, at in enumerate(self._logs[tp]) if at >= moment), None)
            for tp, moment in moments.items()
        }

    def _never(self, *_: object) -> Any:
        raise AssertionError("this is not looked up")

    beginnings = ends = committed = _never


def narrowed(
    filters: list[spark.Filter], logs: Mapping[TopicPartition, Log]
) -> list[OffsetRange]:
    """What is read of whole logs."""
    where = reduce(FilterRanges.and_, map(where_of, filters), EVERYWHERE)
    whole = [OffsetRange(tp, 0, len(log)) for tp, log in logs.items()]
    return [each for each in where.narrowed(whole, Answers(logs)) if each.size]


def milliseconds(at: datetime) -> int:
    """Since the epoch."""
    return (at - EPOCH) // timedelta(milliseconds=1)


TEN = {tp: [milliseconds(START) + nth for nth in range(10)] for tp in (BILLS, ORDERS, MORE)}
FIVE = START + timedelta(milliseconds=5)
BIT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ([], (0, 10)),
        ([spark.EqualTo(("offset",), 4)], (4, 5)),
        ([spark.EqualNullSafe(("offset",), 4)], (4, 5)),
        ([spark.GreaterThan(("offset",), 4)], (5, 10)),
        ([spark.GreaterThanOrEqual(("offset",), 4)], (4, 10)),
        ([spark.LessThan(("offset",), 4)], (0, 4)),
        ([spark.LessThanOrEqual(("offset",), 4)], (0, 5)),
        ([spark.In(("offset",), (7, 3))], (3, 8)),
        ([spark.GreaterThan(("offset",), 2), spark.LessThan(("offset",), 8)], (3, 8)),
        ([spark.GreaterThan(("offset",), 8), spark.LessThan(("offset",), 2)], None),
        ([spark.LessThan(("offset",), 3), spark.LessThan(("offset",), 8)], (0, 3)),
        ([spark.GreaterThan(("offset",), 100)], None),
        ([spark.LessThan(("offset",), -5)], None),
        ([spark.EqualTo(("timestamp",), FIVE)], (5, 10)),
        ([spark.GreaterThanOrEqual(("timestamp",), FIVE)], (5, 10)),
        ([spark.GreaterThanOrEqual(("timestamp",), FIVE + BIT)], (6, 10)),
        ([spark.GreaterThanOrEqual(("timestamp",), FIVE - BIT)], (5, 10)),
        ([spark.GreaterThan(("timestamp",), FIVE)], (6, 10)),
        ([spark.GreaterThan(("timestamp",), FIVE - BIT)], (5, 10)),
        ([spark.In(("timestamp",), (FIVE + BIT, FIVE))], (5, 10)),
        ([spark.GreaterThan(("timestamp",), FIVE + timedelta(days=1))], None),
        (
            [
                spark.GreaterThan(("timestamp",), FIVE),
                spark.GreaterThan(("timestamp",), FIVE - 3 * BIT),
            ],
            (6, 10),
        ),
        ([spark.GreaterThan(("timestamp",), FIVE), spark.LessThan(("offset",), 8)], (6, 8)),
    ],
    ids=str,
)
def test_offsets_and_times_cut_a_range(
    filters: list[spark.Filter], left: tuple[int, int] | None
) -> None:
    """To the first and the last record that can match."""
    found = narrowed(filters, {ORDERS: TEN[ORDERS]})
    assert found == ([] if left is None else [OffsetRange(ORDERS, *left)])


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        (spark.EqualTo(("topic",), "bills"), [BILLS]),
        (spark.Not(spark.EqualTo(("topic",), "bills")), [ORDERS, MORE]),
        (spark.In(("topic",), ("bills", "tills")), [BILLS]),
        (spark.StringStartsWith(("topic",), "or"), [ORDERS, MORE]),
        (spark.StringEndsWith(("topic",), "lls"), [BILLS]),
        (spark.StringContains(("topic",), "rde"), [ORDERS, MORE]),
        (spark.GreaterThan(("topic",), "c"), [ORDERS, MORE]),
        (spark.EqualTo(("partition",), 1), [MORE]),
        (spark.Not(spark.In(("partition",), (1, 7))), [BILLS, ORDERS]),
        (spark.LessThan(("partition",), 1), [BILLS, ORDERS]),
    ],
    ids=str,
)
def test_topics_and_partitions_are_left_out(
    asked: spark.Filter, kept: list[TopicPartition]
) -> None:
    """Whole ones, of which no record can match."""
    assert [each.partition for each in narrowed([asked], TEN)] == kept


@pytest.mark.parametrize(
    "asked",
    [
        spark.EqualTo(("key",), b"k"),
        spark.EqualTo(("value", "offset"), 4),
        spark.IsNotNull(("offset",)),
        spark.Not(spark.IsNull(("topic",))),
        spark.Not(spark.EqualTo(("offset",), 4)),
        spark.Not(spark.GreaterThan(("timestamp",), FIVE)),
        spark.LessThan(("timestamp",), FIVE),
        spark.LessThanOrEqual(("timestamp",), FIVE),
        spark.GreaterThan(("timestamp",), FIVE.replace(tzinfo=None)),
        spark.GreaterThan(("timestamp",), EPOCH - BIT),
        spark.EqualTo(("offset",), None),
        spark.EqualTo(("offset",), True),
        spark.EqualTo(("partition",), "0"),
        spark.In(("offset",), ()),
        spark.In(("topic",), ("bills", None)),
    ],
    ids=str,
)
def test_what_says_nothing_of_offsets_leaves_all(asked: spark.Filter) -> None:
    """Spark judges each record; times are not looked up."""
    assert where_of(asked) == EVERYWHERE


def test_times_of_excluded_partitions_are_not_looked_up() -> None:
    """One question for all that are left, and none where nothing is."""
    since = where_of(spark.GreaterThanOrEqual(("timestamp",), FIVE))
    whole = [OffsetRange(tp, 0, 10) for tp in TEN]
    answers = Answers(TEN)
    since.and_(where_of(spark.EqualTo(("partition",), 0))).narrowed(whole, answers)
    for nothing in (spark.EqualTo(("partition",), 9), spark.GreaterThan(("offset",), 20)):
        since.and_(where_of(nothing)).narrowed(whole, answers)
    assert answers.asked == [dict.fromkeys((BILLS, ORDERS), milliseconds(FIVE))]


JUDGES: Mapping[Callable[..., spark.Filter], Callable[[Any, Any], bool]] = {
    spark.EqualTo: lambda one, other: one == other,
    spark.EqualNullSafe: lambda one, other: one == other,
    spark.GreaterThan: lambda one, other: one > other,
    spark.GreaterThanOrEqual: lambda one, other: one >= other,
    spark.LessThan: lambda one, other: one < other,
    spark.LessThanOrEqual: lambda one, other: one <= other,
    spark.In: lambda one, several: one in several,
}
"""Once more, and not taken from what is tested."""


def matches(asked: Any, record: Mapping[str, object]) -> bool:
    """Whether a record does."""
    if isinstance(asked, spark.Not):
        return not matches(asked.child, record)
    [column] = asked.attribute
    return bool(JUDGES[type(asked)](record[column], asked.value))


VALUES = {
    "topic": st.sampled_from(["bills", "orders", "tills"]),
    "partition": st.integers(-1, 3),
    "offset": st.integers(-2, 12),
    "timestamp": st.integers(-3, 30).map(
        lambda thirds: START + timedelta(microseconds=thirds * 333)
    ),
}


@st.composite
def a_filter(draw: st.DrawFn) -> spark.Filter:
    """One of those that Spark hands on."""
    column = draw(st.sampled_from(sorted(VALUES)))
    kind = draw(st.sampled_from(sorted(JUDGES, key=lambda each: each.__name__)))
    value = VALUES[column]
    drawn = draw(st.lists(value, min_size=1, max_size=3) if kind is spark.In else value)
    made = kind((column,), drawn)
    return spark.Not(made) if draw(st.booleans()) else made


A_LOG = st.lists(st.integers(0, 9).map(lambda late: milliseconds(START) + late), max_size=8)


@given(
    st.lists(a_filter(), max_size=4),
    st.fixed_dictionaries(dict.fromkeys((BILLS, ORDERS, MORE), A_LOG)),
)
def test_no_record_that_matches_is_left_out(
    filters: list[spark.Filter], logs: Mapping[TopicPartition, Log]
) -> None:
    """Also where records do not lie in order of time."""
    wanted = {
        (tp, offset)
        for tp, log in logs.items()
        for offset, at in enumerate(log)
        if all(
            matches(
                each,
                {
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "offset": offset,
                    "timestamp": EPOCH + timedelta(milliseconds=at),
                },
            )
            for each in filters
        )
    }
    read = {
        (each.partition, offset)
        for each in narrowed(filters, logs)
        for offset in range(each.start, each.end)
    }
    assert wanted <= read


def test_a_reader_takes_filters_where_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has the method fails while Spark's own setting is off; all go back to Spark."""

    def planned(
        _: Settings, _wanted: tuple[str, ...], where: FilterRanges
    ) -> list[FilterRanges]:
        return [where]

    monkeypatch.setattr(module, "planned", planned)
    options = {"kafka.bootstrap.servers": "b:9092", "subscribe": "orders"}
    schema = StructType().add("offset", LongType())
    plain = KafkaDataSource(options).reader(schema)
    assert not isinstance(plain, FilteringReader)
    assert [each.value for each in plain.partitions()] == [EVERYWHERE]
    reader = KafkaDataSource(options | {"filterPushdown": "true"}).reader(schema)
    asked: list[spark.Filter] = [spark.GreaterThan(("offset",), 4), spark.IsNotNull(("key",))]
    assert list(reader.pushFilters(asked)) == asked
    reader = pickle.loads(pickle.dumps(reader))
    assert [each.value for each in reader.partitions()] == [FilterRanges(first=5)]
