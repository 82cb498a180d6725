"""What is known of a record once it is delivered.

Thread: any; frozen values.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from prokurist.errors import KafkaException


class RecordMetadata(NamedTuple):
    """Where a record is.

    Attributes:
        topic: Its topic.
        partition: Its partition; −1 where the record failed before one was chosen.
        offset: Its offset; −1 where no broker told it: with `acks=0`, for a record that
            an earlier attempt had written already, and for one that failed.
        timestamp: Its timestamp in epoch milliseconds: the producer's, or the broker's
            where the topic has `message.timestamp.type=LogAppendTime`.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int


OnDelivery: TypeAlias = Callable[[RecordMetadata, KafkaException | None], object]
"""Called when a record is delivered or has failed; with the error where it has failed."""
