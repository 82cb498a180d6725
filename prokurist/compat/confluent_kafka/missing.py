"""Topics that do not exist: each is told once, by a message with an error in `poll`."""

from collections.abc import Callable
from typing import Final

from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.compat.confluent_kafka.values import Message
from prokurist.types import LogEvent

_MISSING: Final = "topic_missing"


class MissingTopics:
    """The `on_event` of the consumer below, which keeps what no poll has told yet.

    Args:
        heard: The user's own `on_event`; None for none.
    """

    def __init__(self, heard: Callable[[LogEvent], object] | None) -> None:
        self._heard = heard
        self._topics: list[str] = []

    def __call__(self, event: LogEvent) -> None:
        """Something has happened."""
        if event.name == _MISSING:
            self._topics.append(str(event.values["topic"]))
        if self._heard is not None:
            self._heard(event)

    def next_message(self) -> Message | None:
        """The message that a topic does not exist; None where all is told."""
        if not self._topics:
            return None
        topic = self._topics.pop(0)
        error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, f"{topic} does not exist")
        return Message(topic, 0, value=error.str().encode(), error=error)

    def __repr__(self) -> str:
        return f"MissingTopics({self._topics})"
