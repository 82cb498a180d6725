"""Metadata of delivered records.

Thread: any; frozen values.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Final, NamedTuple, TypeAlias

from prokurist.errors import KafkaException
from prokurist.lazy_dataclasses import dataclass


class RecordMetadata(NamedTuple):
    """Partition, offset and timestamp of a record.

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


def require_callback(on_delivery: object) -> None:
    """Raise if an `on_delivery` cannot be called.

    Raises:
        TypeError: It is neither callable nor None.
    """
    if on_delivery is not None and not callable(on_delivery):
        raise TypeError(
            f"on_delivery is called with a RecordMetadata and an error or None: it is "
            f"{on_delivery!r}, which is not callable; pass a function, or leave it out"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a batch.

    Attributes:
        base_offset: The offset of its first record; −1 where no broker told it.
        append_time: The broker's timestamp for all of its records; −1 where it kept theirs.
        error: Why it failed.
        record_errors: Why single records failed, by their index, where the broker says so.
    """

    base_offset: int = -1
    append_time: int = -1
    error: KafkaException | None = None
    record_errors: Mapping[int, KafkaException] = field(default_factory=dict)

    def apart(self) -> "Outcome":
        """The same, with errors of its own, which have no traceback."""
        if self.error is None and not self.record_errors:
            return self
        return replace(
            self,
            error=None if self.error is None else without_traceback(self.error),
            record_errors={
                index: without_traceback(error) for index, error in self.record_errors.items()
            },
        )

    def error_of(self, index: int) -> KafkaException | None:
        """Return the error of a record; None without one."""
        return self.record_errors.get(index, self.error)

    def metadata(
        self, topic: str, partition: int, index: int, timestamp: int
    ) -> RecordMetadata:
        """Return the metadata of a record.

        Args:
            topic: The batch's topic.
            partition: The batch's partition.
            index: The record's place in the batch.
            timestamp: The record's own timestamp.
        """
        return RecordMetadata(
            topic,
            partition,
            self.base_offset + index if self.base_offset >= 0 else -1,
            self.append_time if self.append_time >= 0 else timestamp,
        )


def without_traceback(error: KafkaException) -> KafkaException:
    """An exception like another, whose traceback and whose causes' are not kept alive by it."""
    made: KafkaException = copy.copy(error)
    made.__cause__ = error.__cause__
    cause = made.__cause__
    while cause is not None:
        cause = cause.with_traceback(None).__cause__ or cause.__context__
    return made


NOT_ENDED: Final = Outcome()
"""Outcome of a batch that has not ended."""
