"""DeleteTopics: by name, and from version 6 on by id."""

from collections import Counter
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.administration import (
    Refused,
    refuse_by_rule,
    refuse_without_time,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Topic
from prokurist.testing.cluster.wire import Values

IDS_FROM: Final = 6


def handle(state: State, request: Any, context: Context) -> Values:
    """Delete each topic found; answer once for a topic named twice."""
    if context.version >= IDS_FROM:
        asked = [(each.name, each.topic_id) for each in request.topics]
    else:
        asked = [(name, None) for name in field(request, "topic_names")]
    rows: list[Values] = []
    both = named_by_both(state, asked)
    for each, count in Counter(asked).items():
        if each == (None, None):
            rows += [one(state, request, context, each, many=False)] * count
        elif state.topic_by_id(each[1]) not in both and state.topics.get(each[0]) not in both:
            rows.append(one(state, request, context, each, many=count > 1))
    text = "The provided topic name maps to an ID that was already supplied."
    refused = Refused(ErrorCode.invalid_request, text)
    return {"responses": [*rows, *(row(each.name, each.id, refused) for each in both)]}


def named_by_both(state: State, asked: list[tuple[Any, Any]]) -> list[Topic]:
    """The topics that are asked for once by name and once by id."""
    names = {name for name, topic_id in asked if topic_id is None}
    ids = {topic_id for name, topic_id in asked if name is None}
    return [each for each in state.topics.values() if each.name in names and each.id in ids]


def one(
    state: State, request: Any, context: Context, asked: tuple[Any, Any], *, many: bool
) -> Values:
    """One topic's part of the answer."""
    name, topic_id = asked
    try:
        refuse_by_rule(context, name)
        refuse_without_time(request)
        topic = find(state, name, topic_id, many=many)
    except Refused as refused:
        return row(name, topic_id, refused)
    state.delete_topic(topic.name)
    state.changed(context.now)
    return row(topic.name, topic.id)


def row(name: str | None, topic_id: UUID | None, refused: Refused | None = None) -> Values:
    """The row of a topic, deleted or refused."""
    return {
        "name": name,
        "topic_id": topic_id,
        "error_code": refused.code if refused else ErrorCode.none,
        "error_message": refused.text if refused else None,
    }


def find(state: State, name: Any, topic_id: Any, *, many: bool) -> Topic:
    """Return the topic that is to be deleted."""
    if name is not None and topic_id is not None:
        text = "You may not specify both topic name and topic id."
        raise Refused(ErrorCode.invalid_request, text)
    if name is None and topic_id is None:
        raise Refused(ErrorCode.invalid_request, "Neither topic name nor id were specified.")
    if many:
        what = "name" if topic_id is None else "id"
        raise Refused(ErrorCode.invalid_request, f"Duplicate topic {what}.")
    topic = state.topics.get(name) if topic_id is None else state.topic_by_id(topic_id)
    if topic is not None and topic.name in state.denied_topics:
        raise Refused(ErrorCode.topic_authorization_failed, "Authorization failed.")
    if topic is None and topic_id is not None:
        text = "This server does not host this topic ID."
        raise Refused(ErrorCode.unknown_topic_id, text)
    if topic is None:
        text = "This server does not host this topic-partition."
        raise Refused(ErrorCode.unknown_topic_or_partition, text)
    return topic
