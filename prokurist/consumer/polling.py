"""The consumer's positions, and the poll that makes them progress and returns records.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses.
"""

import math
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import TypeVar

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.application.instruments import ReadInstrument
from prokurist.consumer.arguments import partition_in, partitions_in
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.consumer.event_callback import EventCallback
from prokurist.consumer.fetch_collector import FetchCollector
from prokurist.consumer.interceptors import Interceptors
from prokurist.consumer.listeners import Listeners
from prokurist.consumer.obstacles import Obstacles, deserializing
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
from prokurist.events.clock import Deadline
from prokurist.events.committable import Committable
from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.fetching import Fetching
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.positions import Positions
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.records.reader import PartitionReader
from prokurist.records.why_empty import WhyEmpty
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
    _instrument: ReadInstrument | None

    def _position(self, tp: TopicPartition, timeout: float | timedelta | None) -> Steps[int]:
        call = self._caller.call("position", timeout, partitions=(tp,))
        known = self._positions.position(tp)
        if known is None:
            known = int((yield from self._caller.ask(call, LookUpPosition(call, tp))))
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
        """Return the progress of partitions: what was returned, stored and committed of each.

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

    def _poll(
        self, seconds: float | timedelta, max_records: int | None
    ) -> Steps[ConsumerRecords]:
        collect = partial(self._collector.collect, max_records)
        call = self._caller.call("poll", seconds)
        self._collector.begin()
        records = yield from self._await_records(call, collect)
        if records is None:
            return ConsumerRecords(why_empty=self._why_empty())
        return self._received(call, records)

    def _received(self, call: Call, records: ConsumerRecords) -> ConsumerRecords:
        """Show records that are returned to the instrument, and to interceptors."""
        if self._instrument is not None:
            self._instrument.received(self._caller.now() - call.began, records)
        return self._interceptors.on_consume(records)

    def _poll_more(self, seconds: float, most: int | None) -> Steps[ConsumerRecords]:
        def collect(deadline: Deadline) -> ConsumerRecords | None:
            if self._background.waiting or self._background.fatal is not None:
                return ConsumerRecords()
            return self._collector.collect_more(most, deadline)

        call = self._caller.call("poll_more", seconds)
        records = yield from self._await_records(call, collect, attends=False)
        if records is None:
            return ConsumerRecords(why_empty=self._why_empty())
        return self._received(call, records)

    def _why_empty(self) -> Callable[[], WhyEmpty]:
        waiting = self._collector.pending
        return partial(deserializing, waiting) if waiting else self._obstacles.look

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
    ) -> Steps[Result | None]:
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
            yield from self._commits.run_callbacks()
        self._buffer.polled(call.began)
        try:
            while True:
                result = yield from self._pass(call, collect, attends=attends)
                if result is not None:
                    return result
                until = Deadline(self._caller.now() + look_again).earlier(call.deadline)
                for _, work in self._collector.pending:
                    work.when_over(self._background.nudge)
                    until = until.earlier(work.until)
                if attends:
                    until = self._events.until(self._auto.until(until))
                came = yield from self._caller.wait(call, until)
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
    ) -> Steps[Result | None]:
        """Collect records, and ask for missing positions and fetches.

        Raises:
            KafkaException: Something has failed in the background.
        """
        if attends:
            # Before this poll returns anything: what earlier polls returned was processed.
            yield from self._auto.when_due()
        # Watched first: any change after the look at it ends the wait.
        self._background.watch(call)
        self._background.check_open()
        if self._poll_activity.enter():
            self._caller.post(Polled(call))
        if attends:
            yield from self._attend(call)
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

    def _attend(self, call: Call) -> Steps[None]:
        """Run the callbacks that are due, and raise what has failed in the background.

        Raises:
            KafkaException: There was something.
        """
        yield from self._listeners.run()
        yield from self._events.run(call.deadline)
        error = self._background.take(self._positions.still_wanted)
        if error is not None:
            raise error
