"""Which partitions are read: three options, of which just one is given."""

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.source.partition_selection import (
    Matching,
    Partitions,
    Topics,
    selection_in,
)
from prokurist.types import TopicPartition


def test_each_way_is_read() -> None:
    """Topics by name, by pattern, or partitions one by one."""
    assert selection_in({"subscribe": "orders, payments,orders"}) == Topics(
        ("orders", "payments")
    )
    matching = selection_in({"subscribepattern": "or.*"})
    assert isinstance(matching, Matching)
    assert matching.pattern.search("orders")
    assert selection_in({"assign": '{"orders": [1, 0]}'}) == Partitions(
        (TopicPartition("orders", 1), TopicPartition("orders", 0))
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "none is given"),
        ({"subscribe": "a", "assign": '{"a": [0]}'}, "subscribe and assign are all given"),
        ({"subscribe": " "}, "subscribe is empty"),
        ({"subscribe": ","}, "names no topic"),
        ({"subscribe": "a b"}, "a topic has"),
        ({"assign": "{}"}, "names no partition"),
    ],
)
def test_anything_else_is_refused(options: dict[str, str], why: str) -> None:
    """With the options' names."""
    with pytest.raises(ConfigException, match=why):
        selection_in(options)
