"""The nouns: frozen, cheap, checked, and legible."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import cast
from uuid import UUID

import pytest

from prokurist.types import (
    ConsumerGroupMetadata,
    Node,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    SubscriptionPattern,
    TopicPartition,
    named,
)

NODE = Node(1, "kafka-1.example", 9092, rack="a")
VALUES = [
    TopicPartition("orders", 3),
    OffsetAndMetadata(42, "done by nine", 7),
    OffsetAndTimestamp(42, 1_700_000_000_000),
    NODE,
    PartitionInfo("orders", 3, NODE, (NODE,), (NODE,), (), 2, UUID(int=7)),
    ConsumerGroupMetadata("billing", 4, "member-1"),
    SubscriptionPattern("orders-.*"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_is_frozen_hashable_and_can_be_pasted_back(value: object) -> None:
    """Equal copies, equal hashes, a repr that builds it again, no attribute to add."""
    assert eval(repr(value)) == value  # noqa: S307 - our own repr
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(copy.copy(value)) == hash(value)
    assert not hasattr(value, "__dict__")
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        value.colour = "red"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: OffsetAndMetadata(-1), ValueError, "offset is not negative: -1"),
        (lambda: OffsetAndMetadata(cast("int", "4")), TypeError, "offset is an int, not '4'"),
        (lambda: OffsetAndMetadata(True), TypeError, "offset is an int, not True"),
        (lambda: OffsetAndMetadata(1, leader_epoch=-1), ValueError, "leader_epoch is not neg"),
        (
            lambda: OffsetAndMetadata(1, cast("str", None)),
            TypeError,
            "metadata is a str, not None",
        ),
        (lambda: OffsetAndTimestamp(1, -5), ValueError, "timestamp is not negative: -5"),
        (lambda: OffsetAndTimestamp(1, 1, -1), ValueError, "leader_epoch is not negative"),
        (lambda: SubscriptionPattern(""), ValueError, "it is empty"),
        (lambda: SubscriptionPattern(cast("str", b"a")), TypeError, "takes a str, not b'a'"),
    ],
)
def test_nonsense_is_refused_where_it_is_made(
    make: Callable[[], object], error: type[Exception], text: str
) -> None:
    """B63: an offset below zero never gets as far as a commit."""
    with pytest.raises(error, match=text):
        make()


def test_a_partition_reads_as_kafka_s_tools_write_it() -> None:
    """`orders-3`, and a handful of them as a person lists them."""
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert named([]) == ""
    assert named([TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)]) == (
        "a-9, a-10, b-0"
    )
    assert (
        named((TopicPartition("a", each) for each in range(9)), most=2) == "a-0, a-1 and 7 more"
    )


def test_a_node_reads_as_an_address() -> None:
    """Its id and where it is; brackets around IPv6; a bootstrap address has no id yet."""
    assert str(NODE) == "broker 1 (kafka-1.example:9092)"
    assert str(Node(2, "::1", 9092)) == "broker 2 ([::1]:9092)"
    assert str(Node(-1, "localhost", 9092)) == "bootstrap broker (localhost:9092)"
