"""The configuration of a topic, as far as the model heeds it.

Thread: any; the values are immutable.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Final, TypedDict

from prokurist.lazy_dataclasses import dataclass

NO_LIMIT: Final = 2**63 - 1
LOG_APPEND_TIME: Final = "LogAppendTime"


class TopicConfigKeywords(TypedDict, total=False):
    """Properties of `TopicConfig`, as keywords, each of them optional."""

    max_message_bytes: int
    min_insync_replicas: int
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    cleanup_policy: str


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic's properties: Kafka's names with underscores, and Kafka's defaults.

    Attributes:
        max_message_bytes: The largest batch, in bytes as it is sent.
        min_insync_replicas: How many replicas have to be in sync for acks=all.
        message_timestamp_type: `CreateTime`, or `LogAppendTime`.
        message_timestamp_before_max_ms: How far a record's timestamp may lie behind the
            broker's clock.
        message_timestamp_after_max_ms: How far it may lie ahead. Kafka 4 has an hour, and
            Kafka 3.9 no limit, as here: time in a test begins where the test says.
        cleanup_policy: `delete`, or `compact`: then each record needs a key. Nothing is
            compacted.
    """

    max_message_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = NO_LIMIT
    message_timestamp_after_max_ms: int = NO_LIMIT
    cleanup_policy: str = "delete"

    @property
    def stamps(self) -> bool:
        """True if the broker sets timestamps at append (LogAppendTime)."""
        return self.message_timestamp_type == LOG_APPEND_TIME

    @property
    def compacted(self) -> bool:
        """True if the topic is compacted, so each record needs a key."""
        return "compact" in self.cleanup_policy

    def with_given(self, given: Mapping[str, str | None]) -> "TopicConfig":
        """With the properties that a request gives by Kafka's names; others are ignored.

        Raises:
            ValueError: A number is none.
        """
        known = {each.name: type(getattr(self, each.name)) for each in fields(self)}
        named = {name.replace(".", "_"): value for name, value in given.items()}
        return replace(
            self,
            **{
                name: known[name](value)
                for name, value in named.items()
                if name in known and value is not None
            },
        )
