"""Exceptions for brokers' errors about topics and offsets, each naming all that are concerned.

Thread: any; pure functions.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from prokurist.errors import (
    GroupAuthorizationException,
    InvalidTopicException,
    KafkaException,
    OffsetMetadataTooLarge,
    TopicAuthorizationException,
    UnknownTopicOrPartitionException,
)
from prokurist.network_thread.error_actions import FETCH, Action, ErrorTable
from prokurist.types import TopicPartition, named

UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
OFFSET_METADATA_TOO_LARGE: Final = 12
INVALID_TOPIC: Final = 17
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
UNKNOWN_TOPIC_ID: Final = 100

UNKNOWN: Final[Mapping[int, str]] = {
    UNKNOWN_TOPIC_OR_PARTITION: (
        "the coordinator knows no such partition: its topic was deleted, is new, or has fewer"
    ),
    UNKNOWN_TOPIC_ID: "the coordinator knows no topic of that id: it was deleted, or is new",
}
"""Text for missing partitions, by error code."""

MOST_SHOWN: Final = 200
"""Characters of names in a text; who asks for nonsense may ask for much of it."""


def invalid_topics(names: tuple[str, ...]) -> InvalidTopicException:
    """The exception for names that no topic can have."""
    shown = ", ".join(map(ascii, names))
    if len(shown) > MOST_SHOWN:
        shown = shown[:MOST_SHOWN] + "…"
    return InvalidTopicException(
        f"no topic can be called {shown}: a name has 1 to 249 letters, digits, dots, "
        f"underscores and hyphens, and is neither '.' nor '..'",
        topics=names,
    )


def topic_error(table: ErrorTable, code: int, topics: Iterable[str]) -> KafkaException:
    """The exception for a code that an answer has for some topics."""
    names = tuple(sorted(set(topics)))
    shown = ", ".join(names)
    if code == TOPIC_AUTHORIZATION_FAILED and table is FETCH:
        return TopicAuthorizationException(
            f"not allowed to read {shown}: the right to read the topic is missing", topics=names
        )
    if code == TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationException(
            f"not allowed to see {shown}: the right to describe topics is missing", topics=names
        )
    if code == INVALID_TOPIC:
        return invalid_topics(names)
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return UnknownTopicOrPartitionException(
            f"the broker that was asked does not know {shown}"
        )
    return table.error(code)


def offsets_error(
    table: ErrorTable, code: int, failed: Mapping[TopicPartition, int], group_id: str
) -> KafkaException:
    """The exception for a code that an answer has for some partitions' offsets.

    Args:
        table: Actions by error code.
        code: The code.
        failed: The codes of all partitions that have one.
        group_id: Whose offsets these are.
    """
    refused = sorted(tp for tp, each in failed.items() if each == code)
    if code == TOPIC_AUTHORIZATION_FAILED:
        topics = topics_of(refused)
        return TopicAuthorizationException(
            f"group {group_id} may not use the offsets of {', '.join(topics)}: the "
            f"right to read the topic is missing",
            topics=topics,
        )
    if code == GROUP_AUTHORIZATION_FAILED:
        return GroupAuthorizationException(
            f"not allowed in group {group_id}", group_id=group_id
        )
    if code == OFFSET_METADATA_TOO_LARGE:
        return OffsetMetadataTooLarge(
            f"the metadata of the offset of {named(refused)} is longer than the broker "
            f"accepts (offset.metadata.max.bytes, 4096 by default): commit shorter metadata"
        )
    if code in UNKNOWN:
        return table.error(code, f"{named(refused)}: {UNKNOWN[code]}")
    return table.error(code)


WORST_FIRST: Final = (
    Action.FATAL,
    Action.COMMIT_FAILED,
    Action.RENEW,
    Action.REDISCOVER,
    Action.REFRESH,
    Action.RETRY,
)
"""Precedence of actions within one answer of a coordinator."""


def worst_offsets_error(
    table: ErrorTable, failed: Mapping[TopicPartition, int], group_id: str
) -> tuple[Action, KafkaException]:
    """The action that decides, of several, and its error."""
    action = next(
        each for each in WORST_FIRST if any(table.of(code) is each for code in failed.values())
    )
    code = next(code for code in failed.values() if table.of(code) is action)
    return action, offsets_error(table, code, failed, group_id)


def topics_of(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    """The topics of some partitions, each once, in order."""
    return tuple(sorted({tp.topic for tp in partitions}))
