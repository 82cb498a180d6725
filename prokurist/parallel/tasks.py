"""Workers in tasks of an event loop, fed by the task that polls.

Thread: the event loop's.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from inspect import isawaitable
from typing import Any

from prokurist.aio.consumer import KafkaConsumer
from prokurist.consumer.listeners import ConsumerRebalanceListener
from prokurist.events.clock import as_seconds
from prokurist.parallel.core import MOST_BYTES, DeadLetterOffice, WorkersCore
from prokurist.parallel.policies import Order, Retries
from prokurist.parallel.schedule import Work
from prokurist.parallel.threads import Partitions, require_number
from prokurist.records.consumer_records import ConsumerRecord


class TaskWorkers(WorkersCore):
    """Works on records in tasks, and has the consumer commit finished ones.

    See `Workers`. A task whose partition goes is cancelled after `drain_timeout`, and one whose
    partition is lost at once.

    Args:
        consumer: The consumer, of `prokurist.aio`.
        topics: The topics to subscribe to.
        handler: A coroutine function of the record; an exception is a failure.
        tasks: How many run at most.
        order: As in `Workers`, as are the rest.
        retries: Further attempts.
        dead_letters: Takes a record that has failed for the last time.
        max_outstanding: Records in hand at most.
        max_bytes: Bytes in hand before partitions are paused.
        max_uncommitted: Records of one partition behind one that is not done, at most.
        drain_timeout: Seconds for the work that runs.
        listener: A rebalance listener of your own.

    Raises:
        IllegalStateException: The consumer stores offsets by itself, or has partitions.
        TypeError: An argument is of a wrong type.
        ValueError: A number is too small.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        topics: str | Iterable[str],
        handler: Callable[[ConsumerRecord], Awaitable[object]],
        *,
        tasks: int = 100,
        order: Order = Order.KEY,
        retries: Retries | None = None,
        dead_letters: DeadLetterOffice | None = None,
        max_outstanding: int = 1000,
        max_bytes: int = MOST_BYTES,
        max_uncommitted: int = 10_000,
        drain_timeout: float | timedelta = 10.0,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        if not callable(handler):
            raise TypeError(f"handler is a coroutine function of the record, not {handler!r}")
        require_number("tasks", tasks)
        super().__init__(
            consumer,
            order=order,
            retries=retries,
            dead_letters=dead_letters,
            max_bytes=max_bytes,
            drain_timeout=drain_timeout,
            listener=listener,
        )
        self._consumer = consumer
        self._handler = handler
        self._most = tasks
        self._tasks: dict[asyncio.Task[None], Work] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False
        self._tracker = consumer.track_offsets(
            max_outstanding=max_outstanding, max_uncommitted=max_uncommitted
        )
        consumer.subscribe(topics, TaskListener(self))

    async def run(
        self,
        stop: asyncio.Event | None = None,
        *,
        idle_timeout: float | timedelta | None = None,
    ) -> None:
        """As `Workers.run`; a task that is cancelled in it drains as well."""
        idle = math.inf if idle_timeout is None else as_seconds(idle_timeout)
        self._begin()
        self._stopping = False
        try:
            while not self._is_over(stop):
                records = await self._consumer.poll(self._bound())
                self._schedule.add(records)
                self._dispatch()
                if self._is_idle(idle, came=bool(records)):
                    break
        finally:
            await self._end()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End `run`, within half a second and the time to drain."""
        self._stopping = True

    def _is_over(self, stop: asyncio.Event | None) -> bool:
        asked = stop is not None and stop.is_set()
        return asked or self._stopping or self._failure is not None

    async def _end(self) -> None:
        """Wait for running work, and give up the rest."""
        self._schedule.close()
        self._schedule.drop()
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._drain(None)
        finally:
            self._give_up_running(None)
            self._paused = frozenset()
            self._runs = False

    # --- tasks -------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Begin tasks for records that may be worked on."""
        while self._running < self._most:
            work = self._schedule.take(self._now())
            if work is None:
                break
            task = asyncio.get_running_loop().create_task(self._work_on(work))
            self._tasks[task] = work
            task.add_done_callback(self._ended)
        due = self._schedule.next_due
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None and self._running < self._most:
            pause = max(0.0, due - self._now())
            self._timer = asyncio.get_running_loop().call_later(pause, self._dispatch)

    @property
    def _running(self) -> int:
        return len(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        work = self._tasks.pop(task)
        if task.cancelled() and work.lane.running is work:
            # It was cancelled before its first step.
            self._schedule.finish(work, "given_up", 0.0)
        if self._runs:
            self._dispatch()

    async def _work_on(self, work: Work) -> None:
        """Work on a record, once."""
        began = self._now()
        try:
            with self._block(work.record):
                await self._handler(work.record)
        except BaseException as error:  # noqa: BLE001 - the user's own code
            seconds = self._now() - began
            if self._failed(work, error, seconds):
                await self._bury(work, error, seconds)
        else:
            self._succeeded(work, self._now() - began)

    async def _bury(self, work: Work, error: BaseException, seconds: float) -> None:
        """Write a dead letter, and wait for its delivery."""
        office: Any = self._dead_letters
        try:
            sent = office.send(work.record, error, work.failures)
            # A producer's `send` is awaited, and then the delivery.
            while isawaitable(sent):
                sent = await sent
        except BaseException as raised:  # noqa: BLE001 - the record is not done
            self._ends_with(work, raised, seconds)
        else:
            self._settle(work, "dead", seconds)

    # --- rebalances --------------------------------------------------------------------

    async def give_away(self, partitions: Partitions) -> None:
        """Partitions are about to go: wait for their running work, and begin none."""
        self._schedule.drop(partitions)
        await self._drain(partitions)
        self._give_up_running(partitions)
        self._paused -= partitions

    def give_up(self, partitions: Partitions) -> None:
        """Partitions are gone: their work counts no more."""
        self._schedule.drop(partitions)
        self._give_up_running(partitions)
        self._paused -= partitions

    async def _drain(self, partitions: Partitions | None) -> None:
        tasks = [
            task
            for task, work in self._tasks.items()
            if (partitions is None or work.partition in partitions) and not work.is_lost
        ]
        if tasks:
            await asyncio.wait(tasks, timeout=self._drain_timeout)

    def _give_up_running(self, partitions: Partitions | None) -> None:
        lost = self._schedule.lose(partitions)
        for task, work in tuple(self._tasks.items()):
            if work in lost:
                task.cancel()


class TaskListener:
    """Tells workers of partitions that go, and then the user's listener.

    Args:
        workers: The workers.
    """

    def __init__(self, workers: TaskWorkers) -> None:
        self._workers = workers
        self._own = workers._listener  # noqa: SLF001 - of this very module

    async def on_partitions_assigned(self, partitions: Partitions) -> None:
        """See `ConsumerRebalanceListener`."""
        if self._own is not None:
            await finished(self._own.on_partitions_assigned(partitions))

    async def on_partitions_revoked(self, partitions: Partitions) -> None:
        """See `ConsumerRebalanceListener`."""
        await self._workers.give_away(partitions)
        if self._own is not None:
            await finished(self._own.on_partitions_revoked(partitions))

    async def on_partitions_lost(self, partitions: Partitions) -> None:
        """See `ConsumerRebalanceListener`."""
        self._workers.give_up(partitions)
        if self._own is not None:
            told = getattr(self._own, "on_partitions_lost", self._own.on_partitions_revoked)
            await finished(told(partitions))


async def finished(answer: object) -> None:
    """Await what a listener has returned, where it is to be awaited."""
    if isawaitable(answer):
        await answer
