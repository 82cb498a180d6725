"""CreatePartitions: more partitions of topics."""

from collections import Counter
from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.administration import (
    Refused,
    assigned_nodes,
    refuse_by_rule,
    refuse_without_time,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Grow each topic; answer once for a topic named twice."""
    named = Counter(each.name for each in request.topics)
    twice = [name for name, count in named.items() if count > 1]
    rows = [row(each, ErrorCode.invalid_request, "Duplicate topic name.") for each in twice]
    for each in request.topics:
        if named[each.name] > 1:
            continue
        try:
            grow(state, request, each, context)
            rows.append(row(each.name, ErrorCode.none, None))
        except Refused as refused:
            rows.append(row(each.name, refused.code, refused.text))
    return {"results": rows}


def row(name: str, code: int, text: str | None) -> Values:
    """One topic's part of the answer."""
    return {"name": name, "error_code": code, "error_message": text}


def grow(state: State, request: Any, asked: Any, context: Context) -> None:
    """Grow one topic."""
    refuse_by_rule(context, asked.name)
    refuse_without_time(request)
    if asked.name in state.denied_topics:
        raise Refused(ErrorCode.topic_authorization_failed, "Authorization failed.")
    topic = state.topics.get(asked.name)
    if topic is None:
        raise Refused(ErrorCode.unknown_topic_or_partition)
    there = len(topic.partitions)
    if asked.count == there:
        raise Refused(ErrorCode.invalid_partitions, f"Topic already has {there} partition(s).")
    if asked.count < there:
        raise Refused(
            ErrorCode.invalid_partitions,
            f"The topic {topic.name} currently has {there} partition(s); {asked.count} would "
            "not be an increase.",
        )
    added = asked.count - there
    if asked.assignments is not None and len(asked.assignments) != added:
        raise Refused(
            ErrorCode.invalid_replica_assignment,
            f"Attempted to add {added} additional partition(s), but only "
            f"{len(asked.assignments)} assignment(s) were specified.",
        )
    copies = len(topic.partitions[0].replicas)
    assigned = [
        assigned_nodes(state, each.broker_ids, copies) for each in asked.assignments or ()
    ]
    if not request.validate_only:
        state.grow_topic(topic, asked.count, assigned)
        state.changed(context.now)
