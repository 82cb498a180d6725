"""Look-ups of a kafka-python consumer: offsets, topics, and its assignment.

Thread: the application's. A part of the face's `KafkaConsumer`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prokurist.compat.absent import Client
from prokurist.compat.kafka.errors import IllegalStateError, as_theirs
from prokurist.compat.kafka.structs import OffsetAndMetadata, OffsetAndTimestamp
from prokurist.compat.waiting import seconds
from prokurist.consumer.consumer import KafkaConsumer as OurConsumer
from prokurist.errors import KafkaException
from prokurist.types import ConsumerGroupMetadata, TopicPartition

MILLISECOND = 0.001
_INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Topics that brokers keep for themselves."""


class LookingUp(Client):
    """The part that looks up, and says what is assigned and paused."""

    _consumer: OurConsumer
    _wait: float
    _has_group: bool

    def assignment(self) -> set[TopicPartition]:
        """Return the assigned partitions."""
        with self._converted():
            return set(self._consumer.assignment())

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each log."""
        with self._converted():
            return self._consumer.beginning_offsets(partitions, self._seconds(timeout_ms))

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset after the last record of each log."""
        with self._converted():
            return self._consumer.end_offsets(partitions, self._seconds(timeout_ms))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, float], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time, in each log.

        Raises:
            TypeError: A time is no number.
            ValueError: A time is negative: beginning and end have calls of their own.
        """
        given: dict[TopicPartition, Any] = dict(timestamps)
        for tp, time in given.items():
            if isinstance(time, float | int) and time < 0:
                raise ValueError(
                    f"the time for {tp} is {time}, and cannot be negative: beginning_offsets "
                    f"and end_offsets look up where a log begins and ends"
                )
        # As there, a fraction of a millisecond is cut off: of time.time() * 1000, say.
        times = {
            tp: int(time) if isinstance(time, float) and math.isfinite(time) else time
            for tp, time in given.items()
        }
        with self._converted():
            found = self._consumer.offsets_for_times(times, self._seconds(timeout_ms))
        return {
            tp: None
            if place is None
            else OffsetAndTimestamp(place.offset, place.timestamp, place.leader_epoch)
            for tp, place in found.items()
        }

    def committed(
        self,
        partition: TopicPartition,
        metadata: bool = False,
        timeout_ms: float | None = None,
    ) -> int | OffsetAndMetadata | None:
        """Return the committed offset of the group, or None.

        Args:
            partition: The partition.
            metadata: Return an OffsetAndMetadata in place of the number.
            timeout_ms: Milliseconds.

        Raises:
            KafkaError: It cannot be looked up.
            TypeError: It is no partition.
        """
        self._require_group()
        if not isinstance(partition, TopicPartition):
            raise TypeError(f"a partition is a TopicPartition, not {partition!r}")
        with self._converted():
            place = self._consumer.committed(partition, self._seconds(timeout_ms))[partition]
        if place is None:
            return None
        return OffsetAndMetadata.of(place) if metadata else place.offset

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """The offset of the next record; of the record in hand it is behind that."""
        with self._converted():
            returned = self._consumer.progress(partition)[partition].returned
            if returned is not None:
                return returned.offset
            return self._consumer.position(partition, self._seconds(timeout_ms))

    def highwater(self, partition: TopicPartition) -> int | None:
        """The end of a log, as the last fetch has told it; None before that."""
        with self._converted():
            lag = self._consumer.current_lag(partition)
            return None if lag is None else self._consumer.position(partition) + lag

    def topics(self) -> set[str]:
        """All topics that the user may see, but for those of the brokers."""
        with self._converted():
            return set(self._consumer.list_topics()) - _INTERNAL

    def partitions_for_topic(self, topic: str) -> set[int]:
        """The partitions of a topic; none if there is no such topic."""
        with self._converted():
            # To ask for one topic would create it where `allow_auto_create_topics` is true.
            found = self._consumer.list_topics().get(topic, ())
        return {each.partition for each in found}

    def group_metadata(self) -> ConsumerGroupMetadata:
        """The member's place in its group."""
        with self._converted():
            return self._consumer.group_metadata()

    def bootstrap_connected(self) -> bool:
        """Return True if a broker has answered, and no needed broker is out of reach."""
        health = self._consumer.health()
        return health.answer_age is not None and health.unreachable_for is None

    # --- places ----------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition on from an offset.

        Raises:
            ValueError: It is not assigned, or the offset is negative.
        """
        self._require_assigned(partition)
        with self._converted():
            self._consumer.seek(partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the beginning of each log; of none, of all that are assigned.

        Raises:
            ValueError: One is not assigned, or nothing is.
        """
        self._require_assigned(*partitions)
        with self._converted():
            self._consumer.seek_to_beginning(partitions)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read on from the end of each log; of none, of all that are assigned.

        Raises:
            ValueError: One is not assigned, or nothing is.
        """
        self._require_assigned(*partitions)
        with self._converted():
            self._consumer.seek_to_end(partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        """Return nothing of these partitions until `resume`."""
        with self._converted():
            self._consumer.pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Go on with paused partitions."""
        with self._converted():
            self._consumer.resume(partitions)

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        with self._converted():
            return set(self._consumer.paused())

    # --- within ----------------------------------------------------------------------

    def _require_group(self) -> None:
        """Refuse what needs a group, as kafka-python does.

        Raises:
            IllegalStateError: There is none.
        """
        if not self._has_group:
            raise IllegalStateError("commits need a group: set group_id")

    def _require_assigned(self, *partitions: Any) -> None:
        """Refuse partitions that are not assigned; of none, that nothing is.

        Raises:
            ValueError: As kafka-python has it.
        """
        assigned = self.assignment()
        if not partitions and not assigned:
            raise ValueError("nothing is assigned yet: a member is given partitions in poll")
        for tp in partitions:
            if isinstance(tp, TopicPartition) and tp not in assigned:
                raise ValueError(f"{tp} is not assigned to this consumer")

    def _seconds(self, timeout_ms: float | None) -> float:
        return seconds(timeout_ms, self._wait, MILLISECOND)

    @contextmanager
    def _converted(self) -> Iterator[None]:
        """Raise errors as kafka-python's.

        Raises:
            KafkaError: What the consumer below has raised.
        """
        try:
            yield
        except KafkaException as error:
            raise as_theirs(error) from error
