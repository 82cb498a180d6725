"""The public consumer of threads: calls that wait, over their steps.

Thread: the application's, one call at a time. A method checks its arguments, goes in, and
takes the steps of the call: they post events and wait. All work is the network thread's.
"""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Self, overload

from prokurist.application.peers_words import CONSUMER_WORDS, no_attribute
from prokurist.consumer.arguments import (
    most_in,
    timeout_in,
)
from prokurist.consumer.asking import AskingCalls
from prokurist.consumer.listeners import ConsumerRebalanceListener, Hears
from prokurist.consumer.ranges import OPERATION, Range
from prokurist.events.clock import as_seconds
from prokurist.events.trace import Trace
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import (
    GroupMembershipOperation,
    SubscriptionPattern,
    TopicPartition,
)

if TYPE_CHECKING:
    from prokurist.records.consumer_records import ConsumerRecord

CLOSE: Final = 30.0
"""Seconds for a `close` that is given no timeout."""


class KafkaConsumer(AskingCalls):
    """A consumer in which every call answers by its deadline.

    It reads partitions assigned by its group, or by hand. One thread uses it at a time;
    `wakeup`, `health`, `metrics` and `repr` may come from any.

    Keys and values are bytes, or the results of `key_deserializer` and `value_deserializer`:
    callables of the bytes, of the topic and the bytes, or of the topic, the headers and the
    bytes; or objects with `deserialize(topic, data)` or `deserialize(topic, headers, data)`.

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two
            contradict each other.
        IllegalStateException: gevent or eventlet has patched threads, sockets or `select`.
    """

    # --- what is read ----------------------------------------------------------------

    def subscribe(
        self,
        topics: str | Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: ConsumerRebalanceListener | None = None,
        *,
        on_assigned: Hears | None = None,
        on_revoked: Hears | None = None,
        on_lost: Hears | None = None,
    ) -> None:
        """Subscribe to topics or a pattern, as a member of the group.

        It replaces the former subscription. No request is sent here: the next `poll` joins.

        Args:
            topics: One topic, or several; an empty list is `unsubscribe`. Or a pattern for
                whole names of topics: a `re.Pattern` matched here, a `SubscriptionPattern`
                matched by the broker (`group.protocol=consumer` only).
            listener: Called with assigned, revoked and lost partitions.
            on_assigned: In place of a listener: a function of assigned partitions.
            on_revoked: The same for revoked ones, and for lost ones without `on_lost`.
            on_lost: The same for lost ones.

        Raises:
            IllegalStateException: Partitions were assigned by hand.
            InvalidGroupIdException: There is no `group.id`.
        """
        if not self._subscribe(topics, listener, on_assigned, on_revoked, on_lost):
            self.unsubscribe()

    def assign(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Assign these partitions and no others; those that stay keep their positions.

        With `enable.auto.commit` the places until now are committed, without a wait.

        Args:
            partitions: One partition, or several; of none it is `unsubscribe`.

        Raises:
            IllegalStateException: Topics are subscribed to.
        """
        if not self._assign(partitions):
            self.unsubscribe()

    def unsubscribe(self, timeout: float | timedelta | None = None) -> None:
        """Give up all partitions, and leave the group.

        With `enable.auto.commit` the positions until now are committed, without a wait. The
        listener is called with the revoked partitions: `on_partitions_revoked`, or
        `on_partitions_lost` where the group no longer counts this member. Errors of the former
        subscription are logged, and not raised.

        It never raises TimeoutException: when the time is over it is done here, and the
        group notices when our session ends.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            KafkaException: The listener raised the error in the cause.
        """
        if timeout is not None:
            as_seconds(timeout)
        with self._caller.inside("unsubscribe"):
            self._caller.drive(self._unsubscribe(timeout))

    # --- records ---------------------------------------------------------------------

    @overload
    def poll(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> ConsumerRecords: ...

    @overload
    def poll(self, *, timeout_ms: float, max_records: int | None = None) -> ConsumerRecords: ...

    def poll(
        self,
        timeout: float | timedelta | None = None,
        *,
        timeout_ms: float | None = None,
        max_records: int | None = None,
    ) -> ConsumerRecords:
        """Wait for records, and return them.

        It returns as soon as there are some; and without any, when the time is over or
        when a position has advanced past records that are not returned: those of
        transactions that were aborted, and markers. It never raises TimeoutException.

        Meanwhile it makes positions known, runs the callbacks of commits, and raises errors of
        the background. A position whose look-up failed, without any action on the error, is
        looked up again after a back-off. The next poll means that the application has processed
        the records of earlier ones: with `enable.auto.commit` their offsets are committed then,
        once in each `auto.commit.interval.ms`.

        Args:
            timeout: Seconds; there is no default.
            timeout_ms: Deprecated; the same in milliseconds.
            max_records: The most that it returns; None for `max.poll.records`.

        Returns:
            At most so many; each partition's in order. Where there are none,
            `why_empty` says why.

        Raises:
            CorruptRecordException: The next records of a partition are damaged.
            RecordTooLargeException: The next batch of a partition takes more memory than
                `fetch.decoded.batch.max.bytes`; or it is larger than the limits of a fetch.
            GroupAuthorizationException: Not allowed in the group.
            IllegalStateException: Nothing is subscribed to or assigned.
            KafkaException: A rebalance listener, or `on_event`, raised the error in the cause.
            InvalidTopicException: No topic can bear a name that is assigned.
            LogTruncationException: Logs were cut back before the position, and
                `auto.offset.reset` is `none`; it has the offset at which they diverge.
            NoOffsetForPartitionException: Nothing is committed for some partitions,
                and `auto.offset.reset` is `none`; it names all of them.
            OffsetOutOfRangeException: A position is not in its log, and
                `auto.offset.reset` is `none`.
            RecordDeserializationException: A deserializer has refused a record. Those
                before it were returned; the position stays at it.
            TopicAuthorizationException: Not allowed on some topics.
            TypeError: No timeout is given, or both are.
            WakeupException: `wakeup` was called; no record is lost by that.
        """
        seconds = timeout_in("poll", timeout, timeout_ms)
        if seconds is None:
            raise TypeError("poll has no default timeout: give it one, in seconds")
        most, polls = most_in(max_records), self._collector.polls
        try:
            with self._caller.inside("poll"):
                return self._caller.drive(self._poll(seconds, most))
        except Exception:
            raise
        except BaseException:
            # An interrupt, on the way out at the latest: the user does not get them.
            if self._collector.polls != polls:
                self._collector.take_back()
            raise

    def poll_more(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> ConsumerRecords:
        """Wait for records behind those of the last poll, none of which is done with yet.

        For work in batches: a `poll`, and then this until there are enough. Nothing is
        committed in between, no callback runs, and no error is raised for a partition. Where a
        rebalance or an error is due it returns nothing, at once: work on what there is, and
        poll again.
        An interrupt in it takes back what the last poll returned, too.

        Args:
            timeout: Seconds; there is no default.
            max_records: The most that it returns; None for `max.poll.records`.

        Raises:
            IllegalStateException: Nothing is subscribed to or assigned.
            KafkaException: The consumer has ended.
            WakeupException: `wakeup` was called.
        """
        seconds, most = as_seconds(timeout), most_in(max_records)

        try:
            with self._caller.inside("poll_more"):
                return self._caller.drive(self._poll_more(seconds, most))
        except Exception:
            raise
        except BaseException:
            self._collector.take_back()
            raise

    def next(self, timeout: float | timedelta) -> "ConsumerRecord | None":
        """The next record, as soon as there is one; None when the time is over.

        It counts as returned at the request for the next one, here, in an iteration or by a
        poll: with `enable.auto.commit` it is not committed while it is being processed. It
        raises the errors of `poll`, never TimeoutException, and makes the same progress.

        Args:
            timeout: Seconds; there is no default.
        """
        hand = self._hand
        given = hand.given
        try:
            record: ConsumerRecord | None = hand.step()
            return self._slow_step("next", as_seconds(timeout)) if record is None else record
        except Exception:
            raise
        except BaseException:
            # An interrupt, on the way out at the latest: the user does not get it. The record
            # may be the first of another hand, which `_slow_step` was lent meanwhile.
            lent = self._hand
            if lent.in_hand and (lent is not hand or lent.given != given):
                lent.take_back()
            raise

    def __iter__(self) -> Iterator["ConsumerRecord"]:
        return self.records()

    def records(
        self, idle_timeout: float | timedelta | None = None
    ) -> Iterator["ConsumerRecord"]:
        """Records one by one, each as soon as there is one.

        The iteration raises the errors of `poll`; another one may go on after that.

        Args:
            idle_timeout: Seconds without a record after which it ends; None for never.
        """
        return self._records(math.inf if idle_timeout is None else as_seconds(idle_timeout))

    def _records(self, idle: float) -> Iterator["ConsumerRecord"]:
        record: ConsumerRecord | None
        while (record := self._slow_step("records", idle)) is not None:
            yield record
            hand = self._hand
            step = hand.step
            try:
                while (record := step()) is not None:
                    yield record
            except Exception:
                raise
            except BaseException:
                if hand.last is not None and hand.last is not record:
                    hand.take_back()
                raise

    def _slow_step(self, operation: str, seconds: float) -> "ConsumerRecord | None":
        """Make a slow step of an iteration, with all checks and a wait."""
        with self._caller.inside(operation):
            return self._caller.drive(self._next(operation, seconds))

    def wait_until_ready(
        self, timeout: float | timedelta | None = None
    ) -> frozenset[TopicPartition]:
        """Wait until a record that is written now would be returned by a poll.

        A consumer is ready when all of this is so:

        - a broker has been reached and answers;
        - each topic that is subscribed to by name or assigned exists;
        - with a subscription, this member is in the group, no rebalance is under way, and its
          listener has heard of its assignment, which may be empty;
        - of each assigned partition that is not paused, the position and the leader are known.

        It returns no record and passes over none: the next poll begins where it would have
        begun without it. Otherwise it is a poll: listeners and callbacks of commits run in it,
        errors are raised, it counts for `max.poll.interval.ms`, and with `enable.auto.commit`
        records of earlier polls count as processed.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The assigned partitions.

        Raises:
            IllegalStateException: Nothing is subscribed to or assigned.
            KafkaException: The errors of `poll` but for damaged records.
            TimeoutException: The time is over; it names the obstacles, and their durations.
            WakeupException: `wakeup` was called.
        """
        with self._caller.inside("wait_until_ready"):
            return self._caller.drive(self._await_ready(timeout))

    def read_range(
        self,
        partition: TopicPartition,
        start: int,
        end: int,
        timeout: float | timedelta | None = None,
        *,
        stall_timeout: float | timedelta | None = None,
    ) -> Iterator[ConsumerRecords]:
        """Read all records of a partition from one offset to before another.

        Each step yields whole batches, of any number of records: those of one fetch, or about
        four mebibytes of it. As columns (`ConsumerRecords.columns`, `to_arrow`) no object is
        made for a record. It ends when the position has come to `end`, also where the last
        offsets hold no record.

        The consumer reads nothing else meanwhile, and nothing is assigned afterwards. Other
        calls may be made between two steps, but none that moves the position.

        Args:
            partition: The partition.
            start: The first offset.
            end: The offset after the last.
            timeout: Seconds for the whole range from this call on, the time that you take
                between the steps included; None for as long as no step stalls.
            stall_timeout: Seconds that a step may wait for records; None for
                `default.api.timeout.ms`.

        Raises:
            CorruptRecordException: The next records are damaged.
            IllegalStateException: Something is subscribed to or assigned; or the assignment or
                the position was changed meanwhile.
            LogTruncationException: The log was cut back before the position, or its topic was
                deleted and created again.
            OffsetOutOfRangeException: An offset of the range is not in the log any more, or
                not yet: it says where the log begins and ends.
            RecordTooLargeException: The next batch takes more memory than
                `fetch.decoded.batch.max.bytes`.
            TimeoutException: A step has waited for too long, or the whole has; it names the
                broker. Records yielded before stand.
            TopicAuthorizationException: Not allowed on the topic.
            WakeupException: `wakeup` was called.
        """
        return self._read(self._range(partition, start, end, timeout, stall_timeout))

    def _read(self, wanted: Range) -> Iterator[ConsumerRecords]:
        if wanted.start == wanted.end:
            return
        with self._caller.inside(OPERATION):
            reading = self._begin_range(wanted)
        try:
            while not reading.is_over:
                with self._caller.inside(OPERATION):
                    records = self._caller.drive(self._read_on(reading))
                if records:
                    yield records
        finally:
            self._end_range(reading)

    # --- the end ---------------------------------------------------------------------

    @overload
    def close(
        self,
        timeout: float | timedelta | None = None,
        *,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None: ...

    @overload
    def close(
        self,
        *,
        timeout_ms: float,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None: ...

    def close(
        self,
        timeout: float | timedelta | None = None,
        *,
        timeout_ms: float | None = None,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Close the consumer, by min(timeout, `request.timeout.ms`), and never late.

        With `enable.auto.commit` the offsets of all returned records are committed; if that is
        late, it is logged. Asynchronous commits are waited for, and all their callbacks run.
        The listener is called with the revoked partitions, and the member leaves its group. A
        second call does nothing. The listener's own calls end by their timeouts, not by this
        one; `wakeup` ends none of them.

        A `with` block left by an exception closes without that last commit: the application may
        not have processed the last returned records. A WakeupException that leaves it is one,
        too. A loop that `wakeup` ends catches it within the block, where all records are known
        to be processed; then that commit is made.

        Args:
            timeout: Seconds; None for 30.
            timeout_ms: Deprecated; the same in milliseconds.
            membership: Leave the group, or stay in it (KIP-1092).

        Raises:
            IllegalStateException: It is called inside a rebalance listener.
            KafkaException: The first failure on the way, as its cause; never a
                TimeoutException. Everything is closed all the same.
            TypeError: Both timeouts are given.
        """
        given = timeout_in("close", timeout, timeout_ms)
        seconds = CLOSE if given is None else as_seconds(given)
        if not isinstance(membership, GroupMembershipOperation):
            raise TypeError(f"membership is a GroupMembershipOperation, not {membership!r}")
        self._close(seconds, last_commit=True, membership=membership)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self._close(CLOSE, last_commit=False)
        except Exception as own:  # noqa: BLE001 - any error of the close; the first one goes on
            error.add_note(f"and closing the consumer failed: {own}")

    if not TYPE_CHECKING:  # To a type checker it would have every attribute.

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, CONSUMER_WORDS)

        def __aiter__(self) -> NoReturn:
            raise TypeError(
                "a prokurist.KafkaConsumer blocks the thread that reads and is no asynchronous "
                "iterator: use prokurist.aio.KafkaConsumer"
            )


def trace_of(consumer: KafkaConsumer) -> Trace | None:
    """The trace of a consumer; None once it is closed."""
    return None if consumer._caller.closed else consumer._caller.trace  # noqa: SLF001 - ours
