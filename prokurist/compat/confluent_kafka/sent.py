"""A message on its way, and what is told of it in the end."""

from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.compat.confluent_kafka.errors_of import error_of
from prokurist.compat.confluent_kafka.values import TIMESTAMP_CREATE_TIME, Message
from prokurist.errors import BufferExhaustedException
from prokurist.errors import KafkaException as OurException
from prokurist.events.accumulator.record_metadata import RecordMetadata

OnDelivery: TypeAlias = Callable[[KafkaError | None, Message], object]
"""Called when a message is delivered or has failed."""


class Sent:
    """A message on its way; the client below calls it when that has ended.

    Args:
        queue: Where it is put when it has ended.
        now: The clock.
        key: Its key.
        value: Its value.
        callback: The user's; None for none.

    Attributes:
        ended: Its error or None, and its message; None while it is on its way.
        is_told: True once its callback is called.
        refused: The reason for which the client below has not taken it; None if it has.
    """

    __slots__ = (
        "_began",
        "_key",
        "_now",
        "_queue",
        "_value",
        "callback",
        "ended",
        "is_told",
        "refused",
    )

    def __init__(
        self,
        queue: "SimpleQueue[Sent]",
        now: Callable[[], float],
        key: bytes | None,
        value: bytes | None,
        callback: OnDelivery | None,
    ) -> None:
        self._queue = queue
        self._now = now
        self._key = key
        self._value = value
        self._began = now()
        self.callback: OnDelivery | None = callback
        self.ended: tuple[KafkaError | None, Message] | None = None
        self.is_told: bool = False
        self.refused: BufferExhaustedException | None = None

    def __call__(self, metadata: RecordMetadata, error: OurException | None) -> None:
        """It is delivered or has failed, on the network thread; or is refused, on any."""
        if isinstance(error, BufferExhaustedException):
            # Within `send`: it is for the sender to raise it, or to try again.
            self.refused = error
            return
        self.end(metadata, None if error is None else error_of(error, delivery=True))

    def end(self, metadata: RecordMetadata, failure: KafkaError | None) -> None:
        """Have the callback told; on any thread."""
        message = Message(
            metadata.topic,
            metadata.partition if metadata.partition >= 0 else None,
            metadata.offset if metadata.offset >= 0 else None,
            self._key,
            self._value,
            None,
            failure,
            (TIMESTAMP_CREATE_TIME, metadata.timestamp),
            self._now() - self._began,
        )
        self.ended = (failure, message)
        self._queue.put(self)
