"""kafka-python's consumer over ours.

Thread: the application's, one call at a time.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future as StandardFuture
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Self

from prokurist.compat.kafka.errors import IllegalStateError, as_theirs
from prokurist.compat.kafka.future import Future
from prokurist.compat.kafka.looking_up import MILLISECOND, LookingUp
from prokurist.compat.kafka.settings import consumer_settings
from prokurist.compat.kafka.structs import ConsumerRecord, OffsetAndMetadata
from prokurist.compat.kafka.without_group import WithoutGroup
from prokurist.compat.patterns import beginning_as
from prokurist.compat.waiting import LONGEST, seconds
from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer as OurConsumer
from prokurist.consumer.listeners import ConsumerRebalanceListener
from prokurist.errors import KafkaException, TimeoutException
from prokurist.errors.local_variables import without_locals
from prokurist.events.clock import CallersClock, Deadline, MonotonicClock
from prokurist.records.consumer_records import ConsumerRecord as OurRecord
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import OffsetAndMetadata as OurOffset
from prokurist.types import TopicPartition


class KafkaConsumer(LookingUp):
    """A consumer with the calls of kafka-python's.

    A call without a timeout ends by `default_api_timeout_ms`; an iteration ends by
    `consumer_timeout_ms`.

    Args:
        topics: What to subscribe to.
        configs: Keys of kafka-python, or ours.

    Raises:
        KafkaConfigurationError: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "bootstrap": "the first call that needs a broker connects",
            "config": "prokurist.ConsumerConfig has every value",
            "metrics": "metrics() of a prokurist.KafkaConsumer, and docs/metrics.md",
        }
    )

    @without_locals
    def __init__(self, *topics: str, **configs: Any) -> None:
        rest, found = consumer_settings(configs)
        idle = configs.get("consumer_timeout_ms")
        self._wire(OurConsumer(rest), found, MonotonicClock(), idle)
        if topics:
            self.subscribe(topics)

    @classmethod
    def over(
        cls,
        consumer: OurConsumer,
        found: ConsumerConfig,
        clock: CallersClock,
        consumer_timeout_ms: float | None = None,
    ) -> Self:
        """The face of a consumer that is there already."""
        self = cls.__new__(cls)
        self._wire(consumer, found, clock, consumer_timeout_ms)
        return self

    def _wire(
        self,
        consumer: OurConsumer,
        found: ConsumerConfig,
        clock: CallersClock,
        consumer_timeout_ms: float | None,
    ) -> None:
        self._consumer = consumer
        self._has_group = found.group_id is not None
        self._closed = False
        self._iterates = False
        self._wait = found.default_api_timeout_ms / 1000
        self._idle = seconds(consumer_timeout_ms, LONGEST, MILLISECOND)
        self._now = clock.now
        every = found.metadata_max_age_ms / 1000
        self._without_group = WithoutGroup(consumer, clock.now, every)

    # --- what is read ----------------------------------------------------------------

    def subscribe(
        self,
        topics: str | Iterable[str] = (),
        pattern: str | re.Pattern[str] | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Subscribe to topics, or to those that begin as a pattern says.

        Without a group all their partitions are read; new ones are looked for each
        `metadata_max_age_ms`.

        Args:
            topics: Their names.
            pattern: A regular expression, in place of them.
            listener: Hears which partitions come and go.

        Raises:
            KafkaError: The state does not allow it; or the topics cannot be looked up.
            IllegalStateError: Topics and a pattern.
            NotImplementedError: A pattern without a group.
            ValueError: Neither of them.
        """
        names = [topics] if isinstance(topics, str) else list(topics or ())
        if pattern is None and not names:
            raise ValueError("subscribe to topics or a pattern; unsubscribe() gives all up")
        if pattern is not None and names:
            raise IllegalStateError("subscribe to topics or to a pattern, not to both")
        with self._converted():
            if self._has_group:
                wanted = names if pattern is None else beginning_as(pattern)
                self._consumer.subscribe(wanted, listener)
            elif pattern is None:
                self._without_group.read(frozenset(names), self._wait)
            else:
                raise NotImplementedError(
                    "a pattern without a group: give group_id, or subscribe to names"
                )

    def subscription(self) -> set[str] | None:
        """The topics that are subscribed to; None if there are none."""
        with self._converted():
            return set(self._consumer.subscription() or self._without_group.topics) or None

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others."""
        with self._converted():
            self._consumer.assign(partitions)

    def unsubscribe(self) -> None:
        """Leave the group, and give up all partitions."""
        with self._converted():
            self._consumer.unsubscribe()
        self._without_group.topics = frozenset()

    # --- reading ---------------------------------------------------------------------

    def poll(
        self,
        timeout_ms: float | None = 0,
        max_records: int | None = None,
        update_offsets: bool = True,
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records by partition, as soon as there are some; none when the time is over.

        Args:
            timeout_ms: Milliseconds.
            max_records: The most; None for `max_poll_records`.
            update_offsets: It has to be true.

        Raises:
            KafkaError: Something has failed in the background, too.
            NotImplementedError: `update_offsets` is false.
            TypeError: `max_records` is no int.
            ValueError: `timeout_ms` is negative, or `max_records` not positive.
        """
        if timeout_ms is not None and timeout_ms < 0:
            raise ValueError(f"timeout_ms is not negative: {timeout_ms}")
        if max_records is not None and not isinstance(max_records, int):
            raise TypeError(f"max_records is an int, not {max_records!r}")
        if max_records is not None and max_records <= 0:
            raise ValueError(f"max_records is positive, not {max_records}")
        if not update_offsets:
            raise NotImplementedError("update_offsets=False: seek back to read again")
        wait = seconds(timeout_ms, self._wait, MILLISECOND)
        records: ConsumerRecords | None = None
        try:
            with self._converted():
                self._without_group.look(wait)
                records = self._consumer.poll(wait, max_records=max_records)
            self._iterates = False
            return {
                tp: [ConsumerRecord.of(each) for each in records.records(tp)]
                for tp in records.partitions()
            }
        except BaseException:
            # An interrupt: the caller gets none of these, and no commit covers them.
            if records is not None:
                self._consumer.take_back()
            raise

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        if self._closed:
            raise StopIteration
        record = self._next(self._idle)
        if record is None:
            raise StopIteration
        return record

    def _next(self, wait: float) -> ConsumerRecord | None:
        self._iterates = True
        record: OurRecord | None = None
        try:
            with self._converted():
                record = (
                    self._next_without_group(wait)
                    if self._without_group.topics
                    else self._consumer.next(wait)
                )
            return None if record is None else ConsumerRecord.of(record)
        except BaseException:
            # An interrupt: the caller does not get it, and no commit covers it.
            if record is not None:
                self._consumer.take_back()
            raise

    def _next_without_group(self, wait: float) -> OurRecord | None:
        deadline = Deadline.after(self._now(), wait)
        while True:
            left = deadline.remaining(self._now())
            self._without_group.look(left)
            record = self._consumer.next(min(left, self._without_group.until_next()))
            if record is not None or deadline.expired(self._now()):
                return record

    # --- committing ------------------------------------------------------------------

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets, or all that was returned, the record in hand too.

        Raises:
            KafkaError: It has failed.
        """
        self._require_group()
        with self._converted():
            self._consumer.commit_sync(self._to_commit(offsets), self._seconds(timeout_ms))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: Callable[[Any, Exception | None], object] | None = None,
    ) -> Future:
        """The same without a wait.

        Args:
            offsets: For each partition the next offset to read.
            callback: Called in a later call with the offsets, and an error or None.

        Raises:
            TypeError: The callback cannot be called.
        """
        self._require_group()
        if callback is not None and not callable(callback):
            raise TypeError(f"a commit callback is callable, not {callback!r}")
        future: StandardFuture[Any] = StandardFuture()

        def told(
            done: Mapping[TopicPartition, OurOffset], error: KafkaException | None
        ) -> None:
            theirs = {tp: OffsetAndMetadata.of(place) for tp, place in done.items()}
            if error is None:
                future.set_result(theirs)
            else:
                future.set_exception(error)
            if callback is not None:
                callback(theirs, None if error is None else as_theirs(error))

        with self._converted():
            self._consumer.commit_async(self._to_commit(offsets), told)
        return Future(future)

    def _to_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None
    ) -> dict[TopicPartition, OurOffset] | None:
        """Return the offsets to commit; None for all positions."""
        if offsets is not None:
            return {tp: OffsetAndMetadata.given(place).ours() for tp, place in offsets.items()}
        if not self._iterates:
            return None
        # The consumer below counts a record when the next one is asked for.
        places = {}
        for tp, progress in self._consumer.progress().items():
            try:
                places[tp] = progress.returned or OurOffset(self._consumer.position(tp, 0))
            except TimeoutException:
                continue  # It is being looked up.
        return places

    # --- the end ---------------------------------------------------------------------

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Close the consumer; a second time does nothing.

        Args:
            autocommit: With `enable_auto_commit`, commit what was returned.
            timeout_ms: Milliseconds; None for `request_timeout_ms`.
        """
        self._closed = True
        with self._converted():
            if autocommit:
                wait = None if timeout_ms is None else timeout_ms * MILLISECOND
                self._consumer.close(wait)
            else:
                # As a block that an error leaves: without the last commit.
                self._consumer.__exit__(GeneratorExit, GeneratorExit(), None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What an error has stopped was not worked on: it is not committed.
        self.close(autocommit=kind is None)

    def __repr__(self) -> str:
        return f"KafkaConsumer({self.__dict__.get('_consumer')!r})"
