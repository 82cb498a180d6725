"""DescribeTopicPartitions: topics and their partitions, in pages, by name."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.metadata import (
    NOT_ASKED_FOR,
    TOPIC_OPERATIONS,
    placed,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import INTERNAL, Partition
from prokurist.testing.cluster.wire import Values

MOST: Final = 2000
"""The longest page (`max.request.partition.size.limit`)."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe partitions from a cursor on, until a page is full."""
    code = context.refusals.whole()
    cursor = request.cursor
    names = sorted({each.name for each in request.topics} or set(state.topics))
    if not code and cursor is not None and cursor.partition_index < 0:
        code = ErrorCode.invalid_request
    if not code and cursor is not None and request.topics:
        from_cursor = [each for each in names if each >= cursor.topic_name]
        if not from_cursor or from_cursor[0] != cursor.topic_name:
            code = ErrorCode.invalid_request
    if code:
        return {"topics": [refused(each, code) for each in names], "next_cursor": None}
    first = None if cursor is None else cursor.topic_name
    room = max(1, min(request.response_partition_limit, MOST))
    rows: list[Values] = []
    for name in names:
        if first is not None and name < first:
            continue
        begin = cursor.partition_index if name == first else 0
        found = state.topics.get(name)
        if found is not None and room == 0:
            return {"topics": rows, "next_cursor": at(name, 0)}
        part = context.refusals.part(name)
        if not part and name in state.denied_topics:
            part = ErrorCode.topic_authorization_failed
        if part:
            rows.append(refused(name, part))
            continue
        if found is None:
            # A topic that is not there has no partitions to count.
            missing = refused(name, ErrorCode.unknown_topic_or_partition)
            rows.insert(0, {**missing, "topic_authorized_operations": TOPIC_OPERATIONS})
            continue
        partitions = found.partitions[begin : begin + room]
        rows.append(
            {
                "error_code": ErrorCode.none,
                "name": name,
                "topic_id": found.id,
                "is_internal": name in INTERNAL,
                "partitions": [described(state, each) for each in partitions],
                "topic_authorized_operations": TOPIC_OPERATIONS,
            }
        )
        room -= len(partitions)
        end = begin + len(partitions)
        if end < len(found.partitions):
            return {"topics": rows, "next_cursor": at(name, end)}
    return {"topics": rows, "next_cursor": None}


def at(name: str, partition: int) -> Values:
    """A cursor."""
    return {"topic_name": name, "partition_index": partition}


def refused(name: str, code: int) -> dict[str, Any]:
    """A topic without partitions."""
    return {
        "error_code": code,
        "name": name,
        "topic_id": None,
        "is_internal": name in INTERNAL,
        "partitions": [],
        "topic_authorized_operations": NOT_ASKED_FOR,
    }


def described(state: State, partition: Partition) -> Values:
    """One partition, with the replicas that may lead without a loss."""
    return {
        **placed(state, partition),
        "eligible_leader_replicas": list(partition.eligible),
        "last_known_elr": [],
    }
