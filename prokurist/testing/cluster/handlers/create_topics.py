"""CreateTopics: every broker passes it on to the controller, so every broker takes it."""

import uuid
from collections import Counter
from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topic_config import TopicConfig
from prokurist.testing.cluster.topics import TOPIC_IDS, Topic, legal_name
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Make each topic that may be made."""
    named = Counter(each.name for each in request.topics)
    return {
        "topics": [
            one(state, each, context, twice=named[each.name] > 1, dry=request.validate_only)
            # A topic that is named twice is answered once.
            for each in {each.name: each for each in request.topics}.values()
        ]
    }


def one(state: State, asked: Any, context: Context, *, twice: bool, dry: bool) -> Values:
    """One topic's part of the answer."""
    count, copies = wanted(state, asked)
    code = context.refusals.whole() or context.refusals.part(asked.name)
    message: str | None = None
    if not code:
        code, message = objection(state, asked, count, copies, twice=twice)
    topic: Topic | None = None
    if not code and not dry:
        topic = state.create_topic(asked.name, count, copies)
        topic.configure(configured(asked))
        state.changed(context.now)
    return {
        "name": asked.name,
        # A broker makes an id also where it only looks whether it could make the topic.
        "topic_id": topic.id if topic else None if code else uuid.uuid5(TOPIC_IDS, asked.name),
        "error_code": code,
        "error_message": message,
        "num_partitions": -1 if code else count,
        "replication_factor": -1 if code else copies,
        "configs": [],
    }


def configured(asked: Any) -> TopicConfig:
    """The configuration that a topic is to have.

    Raises:
        ValueError: A number is none.
    """
    return TopicConfig().with_given({each.name: each.value for each in asked.configs})


def wanted(state: State, asked: Any) -> tuple[int, int]:
    """Return the numbers of partitions and replicas: assigned, given or default."""
    if asked.assignments:
        return len(asked.assignments), len(asked.assignments[0].broker_ids)
    count = state.default_partitions if asked.num_partitions == -1 else asked.num_partitions
    usual = min(3, len(state.brokers))
    return count, usual if asked.replication_factor == -1 else asked.replication_factor


def objection(
    state: State, asked: Any, count: int, copies: int, *, twice: bool
) -> tuple[ErrorCode, str | None]:
    """Return the error of an invalid topic, with a text; `none` if it can be created."""
    if twice:
        return ErrorCode.invalid_request, f"{asked.name!r} is in the request twice"
    if not legal_name(asked.name):
        return ErrorCode.invalid_topic_exception, f"{asked.name!r} is no name for a topic"
    if asked.name in state.denied_topics:
        return ErrorCode.topic_authorization_failed, None
    if asked.name in state.topics:
        return ErrorCode.topic_already_exists, f"there is a topic {asked.name!r}"
    if count < 1:
        return ErrorCode.invalid_partitions, f"{count} partitions"
    if not 1 <= copies <= len(state.brokers):
        return ErrorCode.invalid_replication_factor, (
            f"{copies} copies on {len(state.brokers)} brokers"
        )
    try:
        configured(asked)
    except ValueError as error:
        return ErrorCode.invalid_config, str(error)
    return ErrorCode.none, None
