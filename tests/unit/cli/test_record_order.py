"""In which order `prokurist consume` writes the records of several partitions."""

import re
from collections.abc import Sequence

import pytest

from prokurist.cli.errors import Misused
from prokurist.cli.record_filter import filter_of
from prokurist.cli.record_order import MOST_HELD, AsTheyCome, Merge, Newest
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def record(
    tp: TopicPartition, stamp: int, value: bytes | None = b"", key: bytes | None = None
) -> ConsumerRecord:
    """A record with a timestamp."""
    return ConsumerRecord(tp.topic, tp.partition, stamp, key, value, timestamp=stamp)


def stamps(records: Sequence[ConsumerRecord]) -> list[int]:
    """Their timestamps."""
    return [each.timestamp for each in records]


def test_records_are_written_as_they_come() -> None:
    """Once, even if more comes."""
    order = AsTheyCome()
    order.take([record(FIRST, 5), record(SECOND, 3)])
    assert stamps(order.ready([FIRST])) == [5, 3]
    assert stamps(order.ready([])) == []


def test_a_merge_waits_for_each_partition_that_may_have_more() -> None:
    """The smallest timestamp first; a partition without records holds the others back."""
    order = Merge()
    order.take([record(FIRST, 1), record(FIRST, 4), record(FIRST, 9)])
    assert stamps(order.ready([FIRST, SECOND])) == []
    order.take([record(SECOND, 2), record(SECOND, 5)])
    assert stamps(order.ready([FIRST, SECOND])) == [1, 2, 4, 5]
    assert stamps(order.ready([FIRST, SECOND])) == []
    assert stamps(order.ready([FIRST])) == [9]


def test_a_merge_without_anything_to_wait_for_writes_all() -> None:
    """Also where timestamps of a partition go back: its own order stays."""
    order = Merge()
    order.take([record(FIRST, 7), record(FIRST, 3), record(SECOND, 5)])
    assert stamps(order.ready([])) == [5, 7, 3]


def test_a_merge_holds_so_many_records_of_a_partition() -> None:
    """Then it is full, until some could be written."""
    order = Merge()
    order.take(record(FIRST, stamp) for stamp in range(MOST_HELD))
    assert order.full() == {FIRST}
    order.take([record(SECOND, MOST_HELD + 5)])
    assert len(order.ready([FIRST, SECOND])) == MOST_HELD
    assert order.full() == set()


def test_the_newest_of_all_partitions() -> None:
    """When no more come; of what is older no more than a bound is kept meanwhile."""
    order = Newest(3)
    for begin in range(0, 40_000, 1000):
        order.take(record(FIRST, stamp) for stamp in range(begin, begin + 1000))
        assert stamps(order.ready([FIRST])) == []
    assert len(order._kept) <= 2 * 3 + MOST_HELD
    order.take([record(SECOND, 39_998), record(SECOND, 1)])
    assert stamps(order.ready([])) == [39_998, 39_998, 39_999]


@pytest.mark.parametrize(
    ("value", "key", "passes"),
    [
        ("b.r", None, True),
        ("^bar", None, False),
        ("bar", "^k$", True),
        ("bar", "x", False),
        (None, "k", True),
    ],
)
def test_a_filter_looks_for_matches(
    value: str | None, key: str | None, *, passes: bool
) -> None:
    """In the value, the key, or both."""
    accepts = filter_of(value, key)
    assert accepts is not None
    assert accepts(record(FIRST, 1, b"foobar", b"k")) is passes
    assert not accepts(record(FIRST, 1, None, None))


def test_no_filter_is_none() -> None:
    """So that nothing is looked at; and what is no regular expression is refused."""
    assert filter_of(None, None) is None
    with pytest.raises(Misused, match=re.escape("--grep (: no regular expression")):
        filter_of("(", None)
