"""AlterPartitionReassignments and ListPartitionReassignments: other replicas, in no time.

New copies are in sync at once, so nothing is ever in progress.
"""

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
    """Answer by the API."""
    if context.api.name == "ListPartitionReassignments":
        code = context.refusals.whole()
        return {"error_code": code, "error_message": None, "topics": []}
    return {
        "allow_replication_factor_change": getattr(
            request, "allow_replication_factor_change", True
        ),
        "error_code": ErrorCode.none,
        "error_message": None,
        "responses": [
            {
                "name": topic.name,
                "partitions": [
                    one(state, request, topic.name, each, context) for each in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }


def one(state: State, request: Any, name: str, asked: Any, context: Context) -> Values:
    """One partition's part of the answer."""
    code, text = int(ErrorCode.none), None
    try:
        refuse_by_rule(context, name)
        refuse_without_time(request)
        reassign(state, request, name, asked, context)
    except Refused as refused:
        code, text = refused.code, refused.text
    return {
        "partition_index": asked.partition_index,
        "error_code": code,
        "error_message": text,
    }


def reassign(state: State, request: Any, name: str, asked: Any, context: Context) -> None:
    """Give one partition its replicas."""
    topic = state.topics.get(name)
    partition = topic.partition(asked.partition_index) if topic else None
    if topic is None:
        text = f"Unable to find a topic named {name}."
        raise Refused(ErrorCode.unknown_topic_or_partition, text)
    if partition is None:
        text = f"Unable to find partition {name}:{asked.partition_index}."
        raise Refused(ErrorCode.unknown_topic_or_partition, text)
    if asked.replicas is None:
        raise Refused(ErrorCode.no_reassignment_in_progress)
    nodes = assigned_nodes(state, asked.replicas, None)
    grows = getattr(request, "allow_replication_factor_change", True)
    if not grows and len(nodes) != len(partition.replicas):
        raise Refused(
            ErrorCode.invalid_replication_factor,
            f"The replication factor is changed from {len(partition.replicas)} to {len(nodes)}",
        )
    partition.replicas = tuple(nodes)
    live = [each for each in nodes if state.brokers[each].registered]
    partition.isr = [each for each in live if each in partition.isr] + [
        each for each in live if each not in partition.isr
    ]
    state.follow_at_once(partition)
    if partition.leader not in nodes and live:
        state.elect(partition, live[0])
    state.changed(context.now)
