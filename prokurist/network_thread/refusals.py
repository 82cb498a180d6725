"""What a broker says against topics, as exceptions that name all of them.

Thread: any; pure functions.
"""

from collections.abc import Iterable
from typing import Final

from prokurist.errors import (
    InvalidTopicException,
    KafkaException,
    TopicAuthorizationException,
    UnknownTopicOrPartitionException,
)
from prokurist.network_thread.verdicts import Verdicts

UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
INVALID_TOPIC: Final = 17
TOPIC_AUTHORIZATION_FAILED: Final = 29


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


def topic_error(table: Verdicts, code: int, topics: Iterable[str]) -> KafkaException:
    """The exception for a code that an answer has for some topics."""
    names = tuple(sorted(set(topics)))
    shown = ", ".join(names)
    if code == TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationException(
            f"not allowed to see {shown}: the right to describe topics is missing", topics=names
        )
    if code == INVALID_TOPIC:
        return invalid_topics(names)
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return UnknownTopicOrPartitionException(
            f"the broker that was asked knows nothing of {shown}"
        )
    return table.error(code)
