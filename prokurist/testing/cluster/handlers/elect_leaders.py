"""ElectLeaders: the preferred replica leads again, or one out of sync where none leads."""

from collections.abc import Iterator
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.administration import (
    Refused,
    refuse_by_rule,
    refuse_without_time,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import NO_LEADER, Partition
from prokurist.testing.cluster.wire import Values

PREFERRED, UNCLEAN = range(2)
NOT_NEEDED: Final = "Leader election not needed for topic partition."


def handle(state: State, request: Any, context: Context) -> Values:
    """Elect for partitions; without names answer only for needed elections."""
    kind = field(request, "election_type", PREFERRED)
    every = request.topic_partitions is None
    rows = []
    code = ErrorCode.none if kind in (PREFERRED, UNCLEAN) else ErrorCode.invalid_request
    for topic, indexes in asked_for(state, request):
        parts = []
        for index in indexes:
            result: tuple[int, str | None] = (ErrorCode.none, None)
            try:
                refuse_by_rule(context, topic)
                refuse_without_time(request)
                elect(state, topic, index, kind, context)
            except Refused as refused:
                result = refused.code, refused.text
            if every and result[0] == ErrorCode.election_not_needed:
                continue
            parts.append(
                {"partition_id": index, "error_code": result[0], "error_message": result[1]}
            )
        rows.append({"topic": topic, "partition_result": parts})
    return {"error_code": code, "replica_election_results": rows}


def asked_for(state: State, request: Any) -> Iterator[tuple[str, list[int]]]:
    """The topics and partitions of a request."""
    if request.topic_partitions is None:
        for topic in state.topics.values():
            yield topic.name, [each.index for each in topic.partitions]
        return
    for each in request.topic_partitions:
        yield each.topic, list(each.partitions)


def elect(state: State, name: str, index: int, kind: int, context: Context) -> None:
    """Elect a leader of one partition."""
    topic = state.topics.get(name)
    partition = topic.partition(index) if topic else None
    if kind not in (PREFERRED, UNCLEAN):
        raise Refused(ErrorCode.invalid_request, f"Unknown election type {kind}")
    if topic is None:
        text = f"No such topic as {name}"
        raise Refused(ErrorCode.unknown_topic_or_partition, text)
    if partition is None:
        text = f"No such partition as {name}-{index}"
        raise Refused(ErrorCode.unknown_topic_or_partition, text)
    node = chosen(state, partition, kind)
    if partition.leader == NO_LEADER and node not in partition.isr:
        partition.elect_unclean(node, context.now)
        state.follow(partition, elected=True)
    else:
        state.elect(partition, node)
    state.changed(context.now)


def chosen(state: State, partition: Partition, kind: int) -> int:
    """Return the new leader."""
    preferred = partition.replicas[0]
    if kind == UNCLEAN:
        if partition.leader != NO_LEADER:
            raise Refused(ErrorCode.election_not_needed, NOT_NEEDED)
        live = [each for each in partition.replicas if state.brokers[each].registered]
        if not live:
            raise Refused(ErrorCode.eligible_leaders_not_available)
        return live[0]
    if partition.leader == preferred:
        raise Refused(ErrorCode.election_not_needed, NOT_NEEDED)
    if preferred not in partition.isr:
        raise Refused(ErrorCode.preferred_leader_not_available)
    return preferred
