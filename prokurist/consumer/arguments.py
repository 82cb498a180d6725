"""Checks of users' arguments, before any waiting.

Thread: the application's. Each function returns the argument in the one form for use inside, or
raises an error that names its fault.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, TypeAlias

from prokurist.events.clock import as_seconds
from prokurist.records.consumer_records import ConsumerRecord, ConsumerRecords
from prokurist.types import OffsetAndMetadata, SubscriptionPattern, TopicPartition

Offsets: TypeAlias = Mapping[TopicPartition, int | OffsetAndMetadata]

EXAMPLE: Final = 'TopicPartition("orders", 0)'
MOST_PARTITION: Final = 2**31 - 1
"""The protocol has 31 bits for it."""


def partitions_in(
    given: TopicPartition | Iterable[TopicPartition],
) -> tuple[TopicPartition, ...]:
    """Check one or several partitions, and return each once, in the given order.

    Raises:
        TypeError: Something in it is no TopicPartition.
        ValueError: A topic is empty, or a partition negative or too large.
    """
    # A TopicPartition is a tuple, hence iterable: it has to be asked for first.
    several: object = (given,) if isinstance(given, TopicPartition) else given
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise TypeError(
            f"partitions are TopicPartitions, such as {EXAMPLE}, one or several, not "
            f"{several!r}"
        )
    return tuple(dict.fromkeys(partition_in(each) for each in several))


def partition_in(given: TopicPartition) -> TopicPartition:
    """Check a partition.

    Raises:
        TypeError: It is no TopicPartition.
        ValueError: Its topic is empty, or its number negative or too large.
    """
    if not isinstance(given, TopicPartition):
        raise TypeError(f"a partition is a TopicPartition, such as {EXAMPLE}, not {given!r}")
    topic_in(given.topic)
    number = given.partition
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"a partition's number is an int, not {number!r}")
    if number < 0:
        raise ValueError(f"a partition's number is not negative: {given!r}")
    if number > MOST_PARTITION:
        raise ValueError(f"a partition's number is at most {MOST_PARTITION}: {given!r}")
    return given


def topic_in(given: str) -> str:
    """Check a topic's name.

    Raises:
        TypeError: It is no str.
        ValueError: It is empty.
    """
    if not isinstance(given, str):
        raise TypeError(f"a topic is a str, not {given!r}")
    if not given:
        raise ValueError("a topic has a name: it is empty")
    return given


def subscription_in(
    given: str | Iterable[str] | re.Pattern[str] | SubscriptionPattern,
) -> frozenset[str] | re.Pattern[str] | SubscriptionPattern:
    """Check the topics of a subscription: names, or a pattern.

    Raises:
        TypeError: It is none of that.
        ValueError: A topic is empty.
    """
    if isinstance(given, SubscriptionPattern):
        return given
    if isinstance(given, re.Pattern):
        if not isinstance(given.pattern, str):
            raise TypeError(f"topics are matched by a pattern of str, not of bytes: {given!r}")
        return given
    return topics_in(
        given, "one subscribes to topics, to a re.Pattern or to a SubscriptionPattern, not to"
    )


def topics_in(
    given: str | Iterable[str], rule: str = "topics are names, one or several, not"
) -> frozenset[str]:
    """Check names of topics, one or several.

    Args:
        given: They.
        rule: Begins the text of an error about something else.

    Raises:
        TypeError: It is something else.
        ValueError: A name is empty.
    """
    # Bytes are an iterable of numbers: topic_in is to name them as they were given.
    several: object = (given,) if isinstance(given, str | bytes) else given
    if not isinstance(several, Iterable):
        raise TypeError(f"{rule} {given!r}")
    return frozenset(topic_in(each) for each in several)


def offsets_in(
    given: Mapping[TopicPartition, OffsetAndMetadata],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Check offsets to commit.

    Raises:
        TypeError: It is no mapping of partitions to offsets.
        ValueError: An offset is negative, or a partition is none.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"offsets are a mapping of TopicPartition to offset, not {given!r}")
    return {partition_in(tp): offset_in(tp, offset) for tp, offset in given.items()}


def done_in(
    given: ConsumerRecord | Iterable[ConsumerRecord] | Offsets,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Convert done records to offsets to commit, one past the last of each partition.

    Raises:
        TypeError: It is neither records nor a mapping of partitions to offsets.
        ValueError: An offset is negative, or a partition is none.
    """
    if isinstance(given, Mapping):
        return {
            partition_in(tp): OffsetAndMetadata(at)
            if isinstance(at, int)
            else offset_in(tp, at)
            for tp, at in given.items()
        }
    if isinstance(given, ConsumerRecords):
        return given.next_offsets()
    several: object = (given,) if isinstance(given, ConsumerRecord) else given
    if not isinstance(several, Iterable):
        raise TypeError(f"what is done is records, or a mapping of offsets, not {given!r}")
    done: dict[TopicPartition, OffsetAndMetadata] = {}
    for record in several:
        if not isinstance(record, ConsumerRecord):
            raise TypeError(f"what is done is records, or a mapping of offsets, not {record!r}")
        tp, after = place_after(record)
        if tp not in done or done[tp].offset < after.offset:
            done[tp] = after
    return done


def place_after(record: ConsumerRecord) -> tuple[TopicPartition, OffsetAndMetadata]:
    """The partition of a record, and where reading goes on after it."""
    after = OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)
    return TopicPartition(record.topic, record.partition), after


def offset_in(tp: TopicPartition, given: OffsetAndMetadata) -> OffsetAndMetadata:
    """Check one offset to commit.

    Raises:
        TypeError: It is no OffsetAndMetadata.
    """
    if not isinstance(given, OffsetAndMetadata):
        raise TypeError(
            f"the offset of {tp} is an OffsetAndMetadata, such as OffsetAndMetadata(42), not "
            f"{given!r}"
        )
    return given


def most_in(given: int | None) -> int | None:
    """Check how many records a poll may return; None for the configured number.

    Raises:
        TypeError: It is no int.
        ValueError: It is not positive.
    """
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"max_records is an int, not {given!r}")
    if given < 1:
        raise ValueError(f"max_records is at least 1, not {given}")
    return given


def timeout_in(
    operation: str, timeout: float | timedelta | None, timeout_ms: float | None
) -> float | timedelta | None:
    """The timeout of a call, from `timeout` or `timeout_ms`; None if neither is given.

    Raises:
        TypeError: Both are given, or the value is not a time.
        ValueError: It is negative or NaN.
    """
    if timeout_ms is None:
        if timeout is not None:
            as_seconds(timeout)
        return timeout
    if timeout is not None:
        raise TypeError(f"{operation} is given timeout or timeout_ms, not both")
    given: object = timeout_ms
    if isinstance(given, timedelta):
        # It would be read as seconds, and then divided.
        raise TypeError("timeout_ms is a number of milliseconds; timeout takes a timedelta")
    seconds = as_seconds(timeout_ms) / 1000
    warnings.warn(
        f"{operation}(timeout_ms=...) is deprecated: {operation}(timeout) takes seconds",
        DeprecationWarning,
        stacklevel=3,
    )
    return seconds
