"""The public consumer of coroutines, over the steps of that of threads.

Thread: the event loop's. Each method is described at its namesake of `prokurist`; here stand
the differences.
"""

import asyncio
import math
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from prokurist.aio.commits import TaskCommits
from prokurist.aio.driving import JoinedInLoop, Turns, drive
from prokurist.aio.ending import Ending
from prokurist.aio.offset_tracker import OffsetTracker
from prokurist.aio.task_runner import TaskRunner
from prokurist.application.driving import Steps, T
from prokurist.application.telemetry import client_instance_id, require_push
from prokurist.assembly.consumer import ConsumerSide
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import (
    most_in,
    offsets_in,
    partition_in,
    partitions_in,
    topic_in,
    topics_in,
)
from prokurist.consumer.closing import Thread
from prokurist.consumer.commit_queue import CommitCallback
from prokurist.consumer.core import CLOSE, ConsumerCore
from prokurist.consumer.listeners import ConsumerRebalanceListener, Hears
from prokurist.consumer.lookups import edge_in, timestamps_in
from prokurist.consumer.ranges import OPERATION, Range
from prokurist.errors import IllegalStateException
from prokurist.events.application_events import Edge
from prokurist.events.clock import CallersClock, as_seconds
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import (
    GroupMembershipOperation,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    SubscriptionPattern,
    TopicPartition,
)

if TYPE_CHECKING:
    from uuid import UUID

    from prokurist.records.consumer_records import ConsumerRecord

HURRY: Final = 1.5
"""Seconds for the `close` of an `async with` block that a cancelled task leaves."""

LOOK_AT_CLOCK: Final = 8
"""Quick steps of an iteration between two looks whether other tasks are due for a turn."""

SHARE_TO_LEAVE: Final = 0.5
"""Share of the time of a `close` for a call that reads to end in."""


class KafkaConsumer(ConsumerCore):
    """A consumer for coroutines, in which every call answers by its deadline.

    One task reads (`poll`, `next`, `async for`, `wait_until_ready`, `read_range`); others may
    commit, seek and look up meanwhile. Rebalance listeners, `on_event` and callbacks of commits
    run in the task that reads, before its call returns, and may be coroutine functions.

    A consumer may be built before a loop runs. It belongs to the loop of its first await.

    A task that is cancelled loses no record: those that were collected come again. The
    CancelledError of a commit or a look-up has a `report` (`CallReport`).

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two contradict each
            other.
    """

    _runner_type = TaskRunner
    _commits_type = TaskCommits
    _caller: TaskRunner

    def _wire(self, config: ConsumerConfig, clock: CallersClock, side: ConsumerSide) -> None:
        super()._wire(config, clock, side)
        self._caller.look_again = self._background.nudge
        self._turns = Turns(clock.now)
        self._ending: Ending[None] = Ending()

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
        """As `prokurist.KafkaConsumer.subscribe`, without waiting.

        Methods of the listener, and functions, may be coroutine functions.

        Raises:
            ValueError: There is no topic: that is to `await unsubscribe()`.
        """
        if not self._subscribe(topics, listener, on_assigned, on_revoked, on_lost):
            raise ValueError("subscribe to no topics: to give up all, await unsubscribe()")

    def assign(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """As `prokurist.KafkaConsumer.assign`, without waiting.

        Raises:
            ValueError: There is no partition: that is to `await unsubscribe()`.
        """
        if not self._assign(partitions):
            raise ValueError("assign of no partitions: to give up all, await unsubscribe()")

    async def unsubscribe(self, timeout: float | timedelta | None = None) -> None:
        """As `prokurist.KafkaConsumer.unsubscribe`."""
        if timeout is not None:
            as_seconds(timeout)
        with self._caller.awaiting("unsubscribe"):
            await drive(self._unsubscribe(timeout), self._caller.now)

    # --- records ---------------------------------------------------------------------

    async def poll(
        self,
        timeout: float | timedelta,
        *,
        max_records: int | None = None,
    ) -> ConsumerRecords:
        """As `prokurist.KafkaConsumer.poll`; where records abound, other tasks get turns."""
        seconds, most = as_seconds(timeout), most_in(max_records)
        return await self._collected("poll", self._poll(seconds, most))

    async def poll_more(
        self,
        timeout: float | timedelta,
        *,
        max_records: int | None = None,
    ) -> ConsumerRecords:
        """As `prokurist.KafkaConsumer.poll_more`."""
        seconds, most = as_seconds(timeout), most_in(max_records)
        return await self._collected("poll_more", self._poll_more(seconds, most), begun=True)

    async def _collected(
        self, operation: str, steps: Steps[ConsumerRecords], *, begun: bool = False
    ) -> ConsumerRecords:
        """The records of a poll; of one that is cancelled they come again."""
        polls = self._collector.polls
        with self._caller.awaiting(operation):
            try:
                await self._turns.give_way()
                return await drive(steps, self._caller.now)
            except Exception:
                raise
            except BaseException:
                if begun or self._collector.polls != polls:
                    self._collector.take_back()
                raise

    async def next(self, timeout: float | timedelta) -> "ConsumerRecord | None":
        """As `prokurist.KafkaConsumer.next`."""
        record: ConsumerRecord | None = self._hand.step()
        if record is not None:
            return record
        return await self._slow_step("next", as_seconds(timeout))

    def __aiter__(self) -> AsyncIterator["ConsumerRecord"]:
        return self.records()

    def records(
        self, idle_timeout: float | timedelta | None = None
    ) -> AsyncIterator["ConsumerRecord"]:
        """As `prokurist.KafkaConsumer.records`, for `async for`."""
        return self._records(math.inf if idle_timeout is None else as_seconds(idle_timeout))

    async def _records(self, idle: float) -> AsyncIterator["ConsumerRecord"]:
        record: ConsumerRecord | None
        while (record := await self._slow_step("records", idle)) is not None:
            yield record
            step, steps = self._hand.step, 0
            while (record := step()) is not None:
                yield record
                # Before the next one is asked for: the work on this one may have taken long.
                steps += 1
                if steps % LOOK_AT_CLOCK == 0:
                    await self._turns.give_way()

    async def _slow_step(self, operation: str, seconds: float) -> "ConsumerRecord | None":
        """Make a slow step of an iteration, with all checks and a wait."""
        with self._caller.awaiting(operation):
            await self._turns.give_way()
            return await drive(self._next(operation, seconds), self._caller.now)

    async def wait_until_ready(
        self,
        timeout: float | timedelta | None = None,
    ) -> frozenset[TopicPartition]:
        """As `prokurist.KafkaConsumer.wait_until_ready`."""
        with self._caller.awaiting("wait_until_ready"):
            return await drive(self._await_ready(timeout), self._caller.now)

    def read_range(
        self,
        partition: TopicPartition,
        start: int,
        end: int,
        timeout: float | timedelta | None = None,
        *,
        stall_timeout: float | timedelta | None = None,
    ) -> AsyncIterator[ConsumerRecords]:
        """As `prokurist.KafkaConsumer.read_range`, for `async for`."""
        return self._read(self._range(partition, start, end, timeout, stall_timeout))

    async def _read(self, wanted: Range) -> AsyncIterator[ConsumerRecords]:
        if wanted.start == wanted.end:
            return
        with self._caller.awaiting(OPERATION):
            reading = self._begin_range(wanted)
        try:
            while not reading.is_over:
                with self._caller.awaiting(OPERATION):
                    await self._turns.give_way()
                    records = await drive(self._read_on(reading), self._caller.now)
                if records:
                    yield records
        finally:
            self._end_range(reading)

    # --- positions and commits -------------------------------------------------------

    async def position(
        self,
        partition: TopicPartition,
        timeout: float | timedelta | None = None,
    ) -> int:
        """As `prokurist.KafkaConsumer.position`."""
        tp = partition_in(partition)
        return await self._asked("position", self._position(tp, timeout))

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout: float | timedelta | None = None,
    ) -> None:
        """As `prokurist.KafkaConsumer.commit_sync`; callbacks run in the task that reads."""
        given = None if offsets is None else offsets_in(offsets)
        await self._asked("commit", self._commit_sync(given, timeout))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """As `prokurist.KafkaConsumer.commit_async`; the callback may be a coroutine function.

        It runs in the task that reads, within a later call of that.
        """
        given = None if offsets is None else offsets_in(offsets)
        if callback is not None and not callable(callback):
            raise TypeError(f"a commit callback is callable, not {callback!r}")
        with self._caller.inside("commit_async"):
            self._commits.later(self._to_commit("commit_async", given), callback)

    def track_offsets(
        self, *, max_outstanding: int = 1000, max_uncommitted: int = 10_000
    ) -> OffsetTracker:
        """As `prokurist.KafkaConsumer.track_offsets`."""
        self._track(max_outstanding, max_uncommitted)
        return OffsetTracker(self._caller, self._committable, self._background)

    # --- look-ups --------------------------------------------------------------------

    async def committed(
        self,
        partitions: TopicPartition | Iterable[TopicPartition],
        timeout: float | timedelta | None = None,
        *,
        stable: bool = True,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """As `prokurist.KafkaConsumer.committed`."""
        wanted = partitions_in(partitions)
        return await self._asked("committed", self._committed(wanted, timeout, stable=stable))

    async def beginning_offsets(
        self,
        partitions: TopicPartition | Iterable[TopicPartition],
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, int]:
        """As `prokurist.KafkaConsumer.beginning_offsets`."""
        wanted = edge_in(partitions, Edge.BEGINNING)
        return await self._asked_offsets("beginning_offsets", wanted, timeout)

    async def end_offsets(
        self,
        partitions: TopicPartition | Iterable[TopicPartition],
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, int]:
        """As `prokurist.KafkaConsumer.end_offsets`."""
        wanted = edge_in(partitions, Edge.END)
        return await self._asked_offsets("end_offsets", wanted, timeout)

    async def offsets_for_times(
        self,
        timestamps: Mapping[TopicPartition, int],
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """As `prokurist.KafkaConsumer.offsets_for_times`."""
        wanted = timestamps_in(timestamps)
        return await self._asked_offsets("offsets_for_times", wanted, timeout)

    async def partitions_for(
        self,
        topic: str,
        timeout: float | timedelta | None = None,
    ) -> list[PartitionInfo]:
        """As `prokurist.KafkaConsumer.partitions_for`."""
        name = topic_in(topic)
        return await self._asked("partitions_for", self._partitions_for(name, timeout))

    async def list_topics(
        self,
        timeout: float | timedelta | None = None,
        *,
        topics: Iterable[str] | None = None,
    ) -> dict[str, list[PartitionInfo]]:
        """As `prokurist.KafkaConsumer.list_topics`."""
        names = None if topics is None else topics_in(topics)
        return await self._asked("list_topics", self._list_topics(names, timeout))

    async def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """As `prokurist.KafkaConsumer.client_instance_id`."""
        as_seconds(timeout)
        require_push(on=self._built().telemetry is not None)
        asked = client_instance_id(self._caller, timeout)
        return await self._asked("client_instance_id", asked)

    async def _asked_offsets(
        self,
        operation: str,
        wanted: Mapping[TopicPartition, Any],
        timeout: float | timedelta | None,
    ) -> dict[TopicPartition, Any]:
        return await self._asked(operation, self._offsets(operation, wanted, timeout))

    async def _asked(self, operation: str, steps: Steps[T]) -> T:
        with self._caller.awaiting(operation):
            return await drive(steps, self._caller.now)

    # --- the end ---------------------------------------------------------------------

    async def close(
        self,
        timeout: float | timedelta | None = None,
        *,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """As `prokurist.KafkaConsumer.close`, in a task of its own.

        A call of another task that reads ends with an IllegalStateException. A task that is
        cancelled here leaves, and the consumer is closed by the deadline all the same; once
        more cancelled, the rest gets no time.
        """
        seconds = CLOSE if timeout is None else as_seconds(timeout)
        if not isinstance(membership, GroupMembershipOperation):
            raise TypeError(f"membership is a GroupMembershipOperation, not {membership!r}")
        await self._end(seconds, last_commit=True, membership=membership)

    async def _end(
        self,
        seconds: float,
        *,
        last_commit: bool,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        caller = self._caller
        if caller.closed:
            return
        caller.check_usable("close")
        caller.forget_ended_loop()
        caller.check_loop("close", binds=True)
        if caller.is_reading:
            raise IllegalStateException(
                "close inside a callback of the call that reads: close when that has returned"
            )
        counts = last_commit and sys.exception() is None

        async def close() -> None:
            began = caller.now()
            if not await caller.end_reading(seconds * SHARE_TO_LEAVE):
                # Its callback does not return: nothing waits for it.
                self._listeners.leave_callback()
            left = max(0.0, seconds - (caller.now() - began))
            await drive(
                self._close_steps(
                    left, last_commit=last_commit, counts=counts, membership=membership
                ),
                caller.now,
            )

        await self._ending.run(close, f"close of {self!r}")

    def _thread(self) -> Thread:
        return JoinedInLoop(super()._built().thread, self._caller.now)

    def _close(
        self,
        seconds: float,
        *,
        last_commit: bool,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Close at the interpreter's exit, in a loop of its own: the consumer's has ended."""
        steps = self._close_steps(
            seconds, last_commit=last_commit, counts=last_commit, membership=membership
        )
        asyncio.run(drive(steps, self._caller.now))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close()
            return
        try:
            # As at the end of `asyncio.run`: the program wants to end, and brokers may be dead.
            hurries = isinstance(error, asyncio.CancelledError)
            await self._end(HURRY if hurries else CLOSE, last_commit=False)
        except Exception as own:  # noqa: BLE001 - any error of the close; the first one goes on
            error.add_note(f"and closing the consumer failed: {own}")
