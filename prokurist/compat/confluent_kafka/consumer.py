"""confluent-kafka's consumer over ours.

Thread: the application's, one call at a time.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, ClassVar, Final

from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.committing import Committing
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.offsets import as_bytes, as_committed
from prokurist.compat.confluent_kafka.outages import Outages
from prokurist.compat.confluent_kafka.settings import Settings, consumer_settings
from prokurist.compat.confluent_kafka.statistics import CONSUMER, Statistics
from prokurist.compat.confluent_kafka.values import (
    OFFSET_END,
    OFFSET_INVALID,
    Message,
    TopicPartition,
    ours,
)
from prokurist.compat.waiting import seconds
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import IllegalStateException
from prokurist.errors import KafkaException as OurException
from prokurist.events.clock import CallersClock, Deadline
from prokurist.records.consumer_records import ConsumerRecord as OurRecord
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import MembershipState, PartitionProgress
from prokurist.types import TopicPartition as OurPartition

LOOK: Final = 0.1
"""Seconds between two looks whether a partition's end was met, with `enable.partition.eof`."""

REFUSED_AGAIN: Final = 2.0
"""Seconds between two messages that the group refuses this member, as there."""

MOST_CONSUMED: Final = 1_000_000
"""Most messages of one `consume`."""

_GO_ON: Final = (None, KafkaError._PARTITION_EOF)
"""Errors of a message behind which `consume` goes on."""

_ASIDE: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})
"""Errors of the whole client, which `error_cb` is told."""


class Consumer(Committing):
    """A consumer with the calls of confluent-kafka's.

    A call without a timeout, or with −1, ends by `default.api.timeout.ms`.

    Args:
        config: Keys of librdkafka, or ours.
        logger: Accepted without effect.
        keywords: More keys.

    Raises:
        KafkaException: The configuration cannot be used.
        TypeError: There is none, or it is no mapping.
        ValueError: It has no `group.id`.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "cluster_id": "`prokurist brokers` tells it",
            "set_sasl_credentials": "build a consumer with the new ones, or give oauth_cb",
        }
    )

    _settings_of = staticmethod(consumer_settings)
    _kind = KafkaConsumer

    def _require_keys(self, given: Mapping[str, Any]) -> None:
        if given.get("group.id", given.get("group_id")) is None:
            raise ValueError(
                "group.id must be set, as in confluent-kafka: without a group there is "
                "prokurist.KafkaConsumer"
            )

    def _wire(self, client: KafkaConsumer, settings: Settings, clock: CallersClock) -> None:
        self._consumer = client
        self._settings = settings
        self._wait = settings.wait
        self._now, self._sleep = clock.now, clock.sleep
        self._outages = Outages(settings.error_cb)
        self._statistics = Statistics(
            settings.stats_cb, settings.stats_interval, CONSUMER, clock.now
        )
        self._given = {}
        self._ends_told = {}
        self._refused_until = 0.0

    # --- reading ---------------------------------------------------------------------

    def poll(self, timeout: float | None = None) -> Message | None:
        """The next message, or an error in its place; None when the time is over.

        Args:
            timeout: Seconds.

        Raises:
            Exception: What a rebalance callback has raised.
            RuntimeError: The consumer is closed.
        """
        wait = seconds(timeout, self._wait)
        self._begin()
        try:
            record = (
                self._next_or_end(wait)
                if self._settings.tells_ends
                else self._consumer.next(wait)
            )
        except OurException as error:
            return self._failed(error, wait)
        if record is None:
            return self._told_meanwhile()
        try:
            return record if isinstance(record, Message) else Message.of(record)
        except BaseException:
            # The caller does not get it: it comes again, and no commit covers it.
            self._consumer.take_back()
            raise

    def consume(self, num_messages: int = 1, timeout: float | None = None) -> list[Message]:
        """Messages, and errors in their places: as many as come within the time.

        It ends with the first error: another try in the same call would mostly meet it again.

        Args:
            num_messages: The most; a million, as there.
            timeout: Seconds.

        Raises:
            ValueError: `num_messages` is negative, or above a million.
        """
        if not 0 <= num_messages <= MOST_CONSUMED:
            raise ValueError(
                f"num_messages is between 0 and {MOST_CONSUMED}, not {num_messages}"
            )
        deadline = Deadline.after(self._now(), seconds(timeout, self._wait))
        found: list[Message] = []
        has_records = has_polled = False
        try:
            while len(found) < num_messages:
                if not has_records:
                    self._begin()
                has_polled = True
                more = self._some(num_messages - len(found), deadline, behind=has_records)
                found += more
                has_records = has_records or any(each.error() is None for each in more)
                if not more or more[-1].error() not in _GO_ON:
                    break
        except BaseException:
            # The caller gets none of these: they come again, and no commit covers them.
            if has_polled and not self._closed:
                with suppress(OurException):  # In a copy of the process nothing is ours.
                    self._consumer.take_back()
                self._forget(
                    {
                        OurPartition(topic, partition)
                        for each in found
                        if (topic := each.topic()) is not None
                        and (partition := each.partition()) is not None
                    }
                )
            raise
        return found

    def _some(self, most: int, deadline: Deadline, *, behind: bool) -> list[Message]:
        """Messages as soon as there are some; none when the time is over.

        Args:
            most: How many.
            deadline: When it is.
            behind: There are others before them, which the caller has not seen yet.
        """
        if behind:
            return self._records_or_end(most, deadline, self._consumer.poll_more)
        try:
            if found := self._records_or_end(most, deadline, self._consumer.poll):
                return found
            message = self._told_meanwhile()
        except OurException as error:
            message = self._failed(error, deadline.remaining(self._now()))
        return [] if message is None else [message]

    def _records_or_end(
        self, most: int, deadline: Deadline, poll: Callable[..., ConsumerRecords]
    ) -> list[Message]:
        while True:
            left = deadline.remaining(self._now())
            wait = min(left, LOOK) if self._settings.tells_ends else left
            if records := poll(wait, max_records=most):
                return [Message.of(each) for each in records]
            if self._settings.tells_ends and (end := self._next_end()) is not None:
                return [end]
            if left <= 0 or not self._settings.tells_ends:
                return []

    def _begin(self) -> None:
        """Do what is due before messages are returned."""
        if self._leaves:
            self._leave()
        if self._statistics.are_due:
            self._statistics.tell(self._consumer.metrics())

    def _told_meanwhile(self) -> Message | None:
        """What there is to be told where there is no message."""
        if self._outages.are_heard:
            self._outages.look(self._consumer.health())
        missing = self._settings.missing
        return None if missing is None else missing.next_message()

    def _has_nothing(self, error: OurException) -> bool:
        """Return True if nothing is subscribed to or assigned: our poll refuses that."""
        if not isinstance(error, IllegalStateException) or self._closed or self._rebalancing:
            return False
        with self._converted():
            return not self._consumer.subscription() and not self._consumer.assignment()

    def _failed(self, error: OurException, wait: float) -> Message | None:
        if self._has_nothing(error):
            self._sleep(wait)
            return None
        theirs = self._as_theirs(error)
        if not isinstance(theirs, KafkaException) or isinstance(error, IllegalStateException):
            raise theirs from error
        told: KafkaError = theirs.args[0]
        if told.code() in _ASIDE and self._outages.are_heard:
            self._outages.tell(told)
            return None
        if told.fatal():
            raise theirs from error
        if self._is_refused() and not self._may_tell_of_it(wait):
            return None
        partitions = getattr(error, "partitions", ()) or ((None, None),)
        topic, partition = partitions[0]
        return Message(topic, partition, value=told.str().encode(), error=told)

    def _is_refused(self) -> bool:
        """Return True if the group refuses this member for good, so that each poll raises."""
        membership = self._consumer.health().membership
        return membership is not None and membership.state is MembershipState.FAILED

    def _may_tell_of_it(self, wait: float) -> bool:
        """Wait until it may be told again; False where the time of a poll is over before.

        Programs that go on after a message with an error would be told without a pause.
        """
        left = self._refused_until - self._now()
        if left > 0.0:
            self._sleep(min(wait, left))
            if wait < left:
                return False
        self._refused_until = self._now() + REFUSED_AGAIN
        return True

    def _next_or_end(self, wait: float) -> OurRecord | Message | None:
        """The next record, or a message that the end of a partition was met."""
        deadline = Deadline.after(self._now(), wait)
        while True:
            # What was returned is done with: then a position is behind it.
            record = self._consumer.next(0)
            if record is not None:
                return record
            if (end := self._next_end()) is not None:
                return end
            left = deadline.remaining(self._now())
            record = self._consumer.next(min(left, LOOK))
            if record is not None or left <= 0:
                return record

    def _next_end(self) -> Message | None:
        """The message that a partition's end was met; None where all of them were told."""
        paused = self._consumer.paused()
        for tp, each in sorted(self._consumer.progress().items()):
            at = each.end_met
            if at is None or tp in paused or self._ends_told.get(tp) == at:
                continue
            self._ends_told[tp] = at
            end = KafkaError(KafkaError._PARTITION_EOF)
            return Message(*tp, offset=at, value=end.str().encode(), error=end)
        return None

    # --- looking up ------------------------------------------------------------------

    def committed(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """Return the committed offsets of the group; `OFFSET_INVALID` without one."""
        with self._converted():
            found = self._consumer.committed(
                [ours(each) for each in partitions], seconds(timeout, self._wait)
            )
        return [as_committed(each, found[ours(each)]) for each in partitions]

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Behind the last message that was returned of each; else `OFFSET_INVALID`.

        Raises:
            RuntimeError: The consumer is closed.
        """
        if self._closed:
            raise RuntimeError("Consumer closed")
        with self._converted():
            progress = self._consumer.progress()
        nowhere = PartitionProgress(None, None, None, None)
        return [
            as_committed(each, progress.get(ours(each), nowhere).returned)
            for each in partitions
        ]

    def get_watermark_offsets(
        self,
        partition: TopicPartition,
        timeout: float | None = None,
        cached: bool = False,
    ) -> tuple[int, int]:
        """The first offset of a log, and the one after its last.

        Args:
            partition: The partition.
            timeout: Seconds.
            cached: What is known, without a wait: the low one is `OFFSET_INVALID`.
        """
        tp = ours(partition)
        with self._converted():
            if cached:
                lag = None
                if tp in self._consumer.assignment():
                    lag = self._consumer.current_lag(tp)
                high = OFFSET_INVALID if lag is None else self._consumer.position(tp) + lag
                return OFFSET_INVALID, high
            deadline = Deadline.after(self._now(), seconds(timeout, self._wait))
            self._look_whether_it_exists(tp, KafkaError._UNKNOWN_PARTITION, deadline)
            low = self._consumer.beginning_offsets(tp, deadline.remaining(self._now()))
            high_of = self._consumer.end_offsets(tp, deadline.remaining(self._now()))
            return low[tp], high_of[tp]

    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The first offset at or after each time, given as offset; else `OFFSET_END`."""
        times = {ours(each): max(0, each.offset) for each in partitions}
        deadline = Deadline.after(self._now(), seconds(timeout, self._wait))
        with self._converted():
            for tp in times:
                self._look_whether_it_exists(tp, KafkaError._UNKNOWN_PARTITION, deadline)
            found = self._consumer.offsets_for_times(times, deadline.remaining(self._now()))
        return [
            TopicPartition(*tp, OFFSET_END if place is None else place.offset)
            for tp, place in ((ours(each), found[ours(each)]) for each in partitions)
        ]

    def list_topics(
        self, topic: str | None = None, timeout: float | None = None
    ) -> ClusterMetadata:
        """All topics, or one, and the brokers that they are on."""
        wait = seconds(timeout, self._wait)
        with self._converted():
            if topic is None:
                return ClusterMetadata(self._consumer.list_topics(wait))
            return ClusterMetadata({topic: self._consumer.partitions_for(topic, wait)})

    def memberid(self) -> str | None:
        """The member's id; None while it has none."""
        with self._converted():
            return self._consumer.group_metadata().member_id or None

    def consumer_group_metadata(self) -> bytes:
        """The member's place in its group, as librdkafka writes it for its producers."""
        with self._converted():
            return as_bytes(self._consumer.group_metadata())

    # --- the end ---------------------------------------------------------------------

    def close(self) -> None:
        """Close the consumer, by `request.timeout.ms`; a second time does nothing."""
        with self._converted():
            self._consumer.close()
        self._closed = True

    def __repr__(self) -> str:
        return f"Consumer({self.__dict__.get('_consumer')!r})"
