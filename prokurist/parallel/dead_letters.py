"""Dead letters: records that cannot be worked on, in a topic of their own.

Thread: any; the producer's `send` may come from any.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from prokurist.errors import IllegalStateException
from prokurist.records.consumer_records import ConsumerRecord

MOST_TEXT: Final = 1000
"""Characters of an error's text in a header."""


class Sends(Protocol):
    """Interface of a producer, of threads or of coroutines."""

    def send(self, topic: str, value: Any = None, key: Any = None, headers: Any = None) -> Any:
        """Send a record."""
        ...


class DeadLetters:
    """Writes records to a topic of their own, with why, and from where they came.

    Key, value and headers stay, and headers are added: `failed.topic`, `failed.partition`,
    `failed.offset`, `failed.error.class`, `failed.error.text` and `failed.attempts`. The
    consumer has to read bytes, without deserializers: the producer sends what was read.

    Args:
        producer: A `KafkaProducer`; for `TaskWorkers`, one of `prokurist.aio`.
        topic: The topic; or a function of the record that returns it.
    """

    def __init__(self, producer: Sends, topic: str | Callable[[ConsumerRecord], str]) -> None:
        if not isinstance(topic, str) and not callable(topic):
            raise TypeError(
                f"the topic of dead letters is a str, or a function of the record that "
                f"returns one, not {topic!r}"
            )
        self._producer = producer
        self._topic = topic

    def send(self, record: ConsumerRecord, error: BaseException, attempts: int) -> Any:
        """Send a record; returns the result of the producer's `send`."""
        topic = self._topic if isinstance(self._topic, str) else self._topic(record)
        if topic == record.topic:
            raise IllegalStateException(
                f"a dead letter of {record.topic} cannot go to {topic} itself, where it would "
                f"be read again without end: give DeadLetters another topic"
            )
        return self._producer.send(
            topic, record.value, key=record.key, headers=headers_of(record, error, attempts)
        )

    def __repr__(self) -> str:
        return f"DeadLetters({self._topic!r})"


def headers_of(
    record: ConsumerRecord, error: BaseException, attempts: int
) -> list[tuple[str, bytes | None]]:
    """A record's headers, and those that say where it has failed and why."""
    kind = type(error)
    told = {
        "failed.topic": record.topic,
        "failed.partition": record.partition,
        "failed.offset": record.offset,
        "failed.error.class": f"{kind.__module__}.{kind.__qualname__}",
        "failed.error.text": str(error)[:MOST_TEXT],
        "failed.attempts": attempts,
    }
    own = [(name, value) for name, value in record.headers if name not in told]
    return own + [(name, str(each).encode("utf-8", "replace")) for name, each in told.items()]
