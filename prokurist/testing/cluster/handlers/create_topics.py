"""CreateTopics: every broker passes it on to the controller, so every broker takes it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.configs import check_topic_config
from prokurist.testing.cluster.handlers.administration import (
    Refused,
    assigned_nodes,
    refuse_by_rule,
    refuse_without_time,
    refused_if_no_name,
    refused_replication,
)
from prokurist.testing.cluster.properties import TOPIC_PROPERTIES, InvalidValue
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

MOST_PARTITIONS: Final = 10_000


def handle(state: State, request: Any, context: Context) -> Values:
    """Make each topic that may be made; a topic that is named twice is answered once."""
    named = Counter(each.name for each in request.topics)
    once = {each.name: each for each in request.topics if named[each.name] == 1}
    twice = [each for each, count in named.items() if count > 1]
    duplicate = Refused(ErrorCode.invalid_request, "Duplicate topic name.")
    return {
        "topics": [
            *(one(state, request, each, context) for each in once.values()),
            *(refused_topic(each, duplicate) for each in twice),
        ]
    }


def one(state: State, request: Any, asked: Any, context: Context) -> Values:
    """One topic's part of the answer."""
    try:
        refuse_by_rule(context, asked.name)
        refuse_without_time(request)
        return make(state, asked, context, dry=request.validate_only)
    except Refused as refused:
        return refused_topic(asked.name, refused)


def make(state: State, asked: Any, context: Context, *, dry: bool) -> Values:
    """Make a topic, or look whether it could be made."""
    name = asked.name
    if name in state.denied_topics:
        raise Refused(ErrorCode.topic_authorization_failed, "Authorization failed.")
    check_name(state, name)
    given = configured(asked)
    assigned = assignments(state, asked)
    count, copies = wanted(state, asked, assigned)
    if dry:
        topic_id = state.next_topic_id(name)
    else:
        topic_id = state.create_topic(name, count, copies, assigned, given).id
        state.changed(context.now)
    return {
        "name": name,
        # A broker makes an id also where it only looks whether it could make the topic.
        "topic_id": topic_id,
        "error_code": ErrorCode.none,
        "error_message": None,
        "num_partitions": count,
        "replication_factor": copies,
        "configs": described(state, given),
    }


def refused_topic(name: str, refused: Refused) -> Values:
    """The row of a topic that is not made."""
    return {
        "name": name,
        "topic_id": None,
        "error_code": refused.code,
        "error_message": refused.text,
        "num_partitions": -1,
        "replication_factor": -1,
        "configs": [],
    }


def check_name(state: State, name: str) -> None:
    """Refuse a name that Kafka does not allow, or that is taken, or too similar."""
    refused_if_no_name(name)
    if name in state.topics:
        raise Refused(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
    # Metrics replace dots by underscores, so of two such names only one can be.
    for other in state.topics:
        if other.replace(".", "_") == name.replace(".", "_"):
            raise Refused(
                ErrorCode.invalid_topic_exception,
                f"Topic '{name}' collides with existing topic: {other}",
            )


def configured(asked: Any) -> dict[str, str]:
    """Return the properties that a topic is to have, checked."""
    given = {each.name: each.value for each in asked.configs}
    nulls = [name for name, value in given.items() if value is None]
    if nulls:
        raise Refused(
            ErrorCode.invalid_config,
            f"Null value not supported for topic configs: {','.join(nulls)}",
        )
    try:
        check_topic_config(given)
    except InvalidValue as error:
        raise Refused(ErrorCode.invalid_config, str(error)) from None
    return given


def assignments(state: State, asked: Any) -> list[Sequence[int]]:
    """Return the brokers of each partition where they are given, checked."""
    if not asked.assignments:
        return []
    if asked.replication_factor != -1:
        raise Refused(
            ErrorCode.invalid_request,
            "A manual partition assignment was specified, but replication factor was not set "
            "to -1.",
        )
    if asked.num_partitions != -1:
        raise Refused(
            ErrorCode.invalid_request,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    placed: dict[int, Sequence[int]] = {}
    copies: int | None = None
    for each in asked.assignments:
        if each.partition_index in placed:
            raise Refused(
                ErrorCode.invalid_replica_assignment,
                "Found multiple manual partition assignments for partition "
                f"{each.partition_index}",
            )
        placed[each.partition_index] = assigned_nodes(state, each.broker_ids, copies)
        copies = len(each.broker_ids)
    if sorted(placed) != list(range(len(placed))):
        raise Refused(
            ErrorCode.invalid_replica_assignment,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return [placed[index] for index in range(len(placed))]


def wanted(state: State, asked: Any, assigned: list[Sequence[int]]) -> tuple[int, int]:
    """Return the numbers of partitions and replicas: assigned, given or default."""
    if assigned:
        return len(assigned), len(assigned[0])
    if asked.replication_factor < -1 or asked.replication_factor == 0:
        raise Refused(
            ErrorCode.invalid_replication_factor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if asked.num_partitions < -1 or asked.num_partitions == 0:
        raise Refused(
            ErrorCode.invalid_partitions,
            "Number of partitions was set to an invalid non-positive value.",
        )
    count = state.default_partitions if asked.num_partitions == -1 else asked.num_partitions
    if count > MOST_PARTITIONS:
        raise Refused(
            ErrorCode.policy_violation, "Excessively large number of partitions per request."
        )
    usual = min(3, len(state.brokers))
    copies = usual if asked.replication_factor == -1 else asked.replication_factor
    refused_replication(state, copies)
    return count, copies


def described(state: State, given: Mapping[str, str]) -> list[Values]:
    """Describe the configuration of a topic as the controller sees it."""
    rows: list[Values] = []
    for name, known in sorted(TOPIC_PROPERTIES.items()):
        value = state.configs.topic_value(known, given)
        rows.append(
            {
                "name": name,
                "value": value.value,
                "read_only": False,
                "config_source": int(value.source),
                "is_sensitive": False,
            }
        )
    return rows
