"""The consumer's positions, and the poll that makes them progress and returns records.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses.
"""

import math
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import TypeVar, overload

from prokurist.application.call_runner import CallRunner
from prokurist.consumer.arguments import most_in, partition_in, partitions_in, timeout_in
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.consumer.event_callback import EventCallback
from prokurist.consumer.fetch_collector import FetchCollector
from prokurist.consumer.interceptors import Interceptors
from prokurist.consumer.listeners import Listeners
from prokurist.consumer.obstacles import Obstacles
from prokurist.errors import IllegalStateException, KafkaException
from prokurist.events.application_events import (
    LookUpEnd,
    LookUpPosition,
    LookUpPositions,
    Polled,
    Prefetch,
)
from prokurist.events.assigned import AnyAssigned
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import Deadline, as_seconds
from prokurist.events.committable import Committable
from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.fetching import Fetching
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.positions import Positions
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.records.reader import PartitionReader
from prokurist.types import PartitionProgress, TopicPartition

Result = TypeVar("Result")


class Polling:
    """The part of `KafkaConsumer` with `poll` and `position`."""

    _caller: CallRunner
    _commits: CommitQueue
    _auto: AutoCommitter
    _assigned: AnyAssigned
    _positions: Positions
    _fetching: Fetching
    _committable: Committable
    _background: BackgroundEvents
    _listeners: Listeners
    _events: EventCallback
    _member_identity: MemberIdentity
    _poll_activity: PollActivity
    _buffer: FetchBuffer[PartitionReader]
    _collector: FetchCollector
    _interceptors: Interceptors
    _obstacles: Obstacles

    def position(
        self, partition: TopicPartition, timeout: float | timedelta | None = None
    ) -> int:
        """Return the offset of the next record to read.

        A known position is returned at once. Otherwise it is looked up: the group's committed
        offset, or else the offset by `auto.offset.reset`. A position with the leader epoch of
        the record before it is known only after the leader has confirmed it.

        Args:
            partition: An assigned one.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            GroupAuthorizationException: Not allowed in the group.
            IllegalStateException: The partition is not assigned.
            LogTruncationException: The log was cut back before the position, and
                `auto.offset.reset` is `none`.
            NoOffsetForPartitionException: Nothing is committed, and
                `auto.offset.reset` is `none`; it names all such partitions.
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on the topic.
            WakeupException: `wakeup` was called.
        """
        tp = partition_in(partition)
        with self._caller.inside("position"):
            call = self._caller.call("position", timeout, partitions=(tp,))
            known = self._positions.position(tp)
            if known is None:
                known = int(self._caller.ask(call, LookUpPosition(call, tp)))
            return known

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Return the number of offsets between a partition's position and the end of its log.

        With `isolation.level=read_committed` the log ends at its last stable offset.
        It waits for nothing: while the end is not known, it is looked up in the
        background, once.

        Args:
            partition: An assigned one.

        Returns:
            A number, or None while position or end are not known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        tp = partition_in(partition)
        with self._caller.inside("current_lag"):
            try:
                lag, born = self._positions.lag(tp)
                if born is not None:
                    call = self._caller.call("current_lag", None, partitions=(tp,))
                    self._caller.post(LookUpEnd(call, tp, born))
            except BaseException:
                self._positions.ask_again()
                raise
            return lag

    def at_end(self, partitions: TopicPartition | Iterable[TopicPartition] = ()) -> bool:
        """Return True if all existing records have been returned.

        It sends no request, and goes by the leaders' last answers; with
        `isolation.level=read_committed` a log ends at its last stable offset. It is False while
        a position, or the end of a log, is not known, and while nothing is assigned.

        Args:
            partitions: Assigned ones; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("at_end"):
            return self._positions.at_end(wanted)

    def progress(
        self, partitions: TopicPartition | Iterable[TopicPartition] = ()
    ) -> dict[TopicPartition, PartitionProgress]:
        """How far partitions have come: what was returned, stored and committed of each.

        It sends no request, and goes by what this consumer has done since it was assigned
        them.

        Args:
            partitions: Assigned ones; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("progress"):
            return self._committable.progress(wanted)

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
        collect = partial(self._collector.collect, most_in(max_records))
        begun = False
        try:
            with self._caller.inside("poll"):
                call = self._caller.call("poll", seconds)
                self._collector.begin()
                begun = True
                records = self._await_records(call, collect)
                if records is None:
                    return ConsumerRecords(why_empty=self._obstacles.look)
                return self._interceptors.on_consume(records)
        except Exception:
            raise
        except BaseException:
            # An interrupt, on the way out at the latest: the user does not get them.
            if begun:
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

        def collect(deadline: Deadline) -> ConsumerRecords | None:
            if self._background.waiting or self._background.fatal is not None:
                return ConsumerRecords()
            return self._collector.collect_more(most, deadline)

        try:
            with self._caller.inside("poll_more"):
                call = self._caller.call("poll_more", seconds)
                records = self._await_records(call, collect, attends=False)
                if records is None:
                    return ConsumerRecords(why_empty=self._obstacles.look)
                return self._interceptors.on_consume(records)
        except Exception:
            raise
        except BaseException:
            self._collector.take_back()
            raise

    def take_back(self) -> None:
        """Have the records of the last poll, or of `next`, come again: they were not worked on.

        Those of a partition that has gone since, or that is read elsewhere, stay as they are.
        """
        with self._caller.inside("take_back"):
            self._collector.take_back()

    def _await_records(
        self,
        call: Call,
        collect: Callable[[Deadline], Result | None],
        *,
        look_again: float = math.inf,
        attends: bool = True,
    ) -> Result | None:
        """Repeat passes until something is collected or the time is over.

        Args:
            call: How long that is.
            collect: Returns the records; None without any.
            look_again: Seconds after which it is called again even if nothing has come.
            attends: Whether commits are made, callbacks run and errors raised meanwhile.

        Raises:
            KafkaException: An error of the background, or of the records to collect.
            WakeupException: `wakeup` was called before anything was collected.
        """
        self._listeners.refuse_inside(call.operation)
        self._background.check_open()
        if not self._assigned.is_used:
            raise IllegalStateException(
                f"{call.operation} with nothing to read: subscribe to topics, or assign "
                f"partitions"
            )
        self._caller.raise_if_woken()
        # What an iteration has handed out counts before anything of it is given up.
        self._collector.recall()
        if attends:
            self._commits.run_callbacks()
        self._buffer.polled(call.began)
        try:
            while True:
                result = self._pass(call, collect, attends=attends)
                if result is not None:
                    return result
                until = Deadline(self._caller.now() + look_again).earlier(call.deadline)
                if attends:
                    until = self._events.until(self._auto.until(until))
                came = self._caller.wait(call, until)
                if not came and call.deadline.expired(self._caller.now()):
                    return None
                # Something has come: look what it is.
                call = call.again()
        except Exception as error:
            self._caller.counters.raised(error)
            raise
        except BaseException:
            self._ask_again()
            raise
        finally:
            self._background.watch(None)
            now = self._caller.now()
            self._buffer.polled(now)
            self._poll_activity.leave(now)
            self._caller.counters.polled(call, now)

    def _ask_again(self) -> None:
        """Have the next poll ask for everything that is missing.

        After an interrupt: it may have come when something was noted as asked for, and
        before it was.
        """
        self._poll_activity.ask()
        self._positions.ask_again()
        self._buffer.stir()
        self._collector.read_again()

    def _pass(
        self, call: Call, collect: Callable[[Deadline], Result | None], *, attends: bool
    ) -> Result | None:
        """Collect records, and ask for missing positions and fetches.

        Raises:
            KafkaException: Something has failed in the background.
        """
        if attends:
            # Before this poll returns anything: what earlier polls returned was processed.
            self._auto.when_due()
        # Watched first: any change after the look at it ends the wait.
        self._background.watch(call)
        self._background.check_open()
        if self._poll_activity.enter():
            self._caller.post(Polled(call))
        if attends:
            self._attend(call)
            # Before records are taken: they are of this membership, or of a later one, whose
            # offsets the former name has refused.
            self._member_identity.polled()
        result = collect(call.deadline)
        try:
            if self._positions.ask_missing():
                self._caller.post(LookUpPositions(call))
            if self._buffer.take_ask():
                self._caller.post(Prefetch(call))
        except KafkaException:
            # The thread has ended: the next poll says so, and what there is is returned.
            if result is None:
                raise
        return result

    def _attend(self, call: Call) -> None:
        """Run the callbacks that are due, and raise what has failed in the background.

        Raises:
            KafkaException: There was something.
        """
        self._listeners.run()
        self._events.run(call.deadline)
        error = self._background.take(self._positions.still_wanted)
        if error is not None:
            raise error
