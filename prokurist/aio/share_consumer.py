"""The share consumer of coroutines, over the steps of that of threads.

Thread: the event loop's; records may be marked from any. Each method is described at its
namesake of `prokurist`; here stand the differences.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from prokurist.aio.acknowledging import TaskAcknowledging
from prokurist.aio.consumer import HURRY, LOOK_AT_CLOCK, SHARE_TO_LEAVE
from prokurist.aio.driving import JoinedInLoop, Turns, drive
from prokurist.aio.ending import Ending
from prokurist.aio.task_runner import TaskRunner
from prokurist.application.telemetry import client_instance_id, require_push
from prokurist.assembly.share import ShareSide
from prokurist.config import ShareConsumerConfig
from prokurist.errors import IllegalStateException
from prokurist.events.clock import CallersClock, as_seconds
from prokurist.share.acknowledging import AcknowledgeCallback, Offsets
from prokurist.share.closing import Thread
from prokurist.share.core import CLOSE, ShareCore, most_in, topics_in
from prokurist.share.records import ShareRecord, ShareRecords

if TYPE_CHECKING:
    from uuid import UUID


class KafkaShareConsumer(ShareCore):
    """A member of a share group for coroutines, in which every call answers by its deadline.

    One task reads (`poll`, `async for`, `unsubscribe`); others may commit meanwhile, and any
    task and thread may mark records. Callbacks of acknowledgements run in the task that reads,
    before its call returns, and may be coroutine functions.

    A consumer may be built before a loop runs. It belongs to the loop of its first await.

    A task that is cancelled loses no record: those that were collected come again. What becomes
    of the acknowledgements of a cancelled commit is told by the next one, or to
    `on_acknowledged`; its CancelledError has a `report` (`CallReport`).

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two contradict each
            other.
    """

    _runner_type = TaskRunner
    _acknowledging_type = TaskAcknowledging
    _caller: TaskRunner

    def _wire(self, config: ShareConsumerConfig, clock: CallersClock, side: ShareSide) -> None:
        super()._wire(config, clock, side)
        self._caller.look_again = side.background.nudge
        self._turns = Turns(clock.now)
        self._ending: Ending[None] = Ending()

    # --- topics --------------------------------------------------------------------------

    def subscribe(self, topics: str | Iterable[str]) -> None:
        """As `prokurist.KafkaShareConsumer.subscribe`, without waiting."""
        self._subscribe(topics_in(topics))

    async def unsubscribe(self, timeout: float | timedelta | None = None) -> None:
        """As `prokurist.KafkaShareConsumer.unsubscribe`."""
        if timeout is not None:
            as_seconds(timeout)
        with self._caller.awaiting("unsubscribe"):
            call = self._caller.call("unsubscribe", timeout)
            await drive(self._unsubscribe(call), self._caller.now)

    # --- records -------------------------------------------------------------------------

    async def poll(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> ShareRecords:
        """As `prokurist.KafkaShareConsumer.poll`; where records abound, others get turns."""
        seconds, most = as_seconds(timeout), most_in(max_records)
        return await self._collected("poll", seconds, most)

    def __aiter__(self) -> AsyncIterator[ShareRecord]:
        return self.records()

    def records(
        self, idle_timeout: float | timedelta | None = None
    ) -> AsyncIterator[ShareRecord]:
        """As `prokurist.KafkaShareConsumer.records`, for `async for`.

        A loop that is left by `break` releases its last record when its iterator is closed:
        use `contextlib.aclosing` to have that at once.
        """
        return self._records(math.inf if idle_timeout is None else as_seconds(idle_timeout))

    async def _records(self, idle: float) -> AsyncIterator[ShareRecord]:
        while records := await self._collected("records", idle, None):
            pieces = self._collector.last
            for nth, record in enumerate(records, 1):
                handed = True
                try:
                    yield record
                    handed = False
                finally:
                    if handed:
                        self._leave(record, pieces)
                if record.mark is None:
                    record.accept()
                if nth % LOOK_AT_CLOCK == 0:
                    await self._turns.give_way()

    async def _collected(
        self, operation: str, seconds: float, most: int | None
    ) -> ShareRecords:
        """The records of a poll; of one that is cancelled they come again."""
        with self._caller.awaiting(operation):
            await self._turns.give_way()
            self._collector.begin()
            try:
                return await drive(self._poll(operation, seconds, most), self._caller.now)
            except Exception:
                raise
            except BaseException:
                self._collector.take_back()
                raise

    # --- acknowledgements ----------------------------------------------------------------

    async def commit(self, timeout: float | timedelta | None = None) -> Offsets:
        """As `prokurist.KafkaShareConsumer.commit_sync`; the task that reads runs callbacks."""
        with self._caller.awaiting("commit"):
            call = self._caller.call("commit", timeout)
            return await drive(self._commit(call), self._caller.now)

    def commit_async(self, callback: AcknowledgeCallback | None = None) -> None:
        """As `prokurist.KafkaShareConsumer.commit_async`; it may be a coroutine function.

        The callback runs in the task that reads, within a later call of that.
        """
        with self._inside("commit_async"):
            self._acknowledging.commit_async(callback)

    async def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """As `prokurist.KafkaShareConsumer.client_instance_id`."""
        as_seconds(timeout)
        require_push(on=self._built().telemetry is not None)
        with self._caller.awaiting("client_instance_id"):
            return await drive(client_instance_id(self._caller, timeout), self._caller.now)

    # --- the end -------------------------------------------------------------------------

    async def close(self, timeout: float | timedelta | None = None) -> None:
        """As `prokurist.KafkaShareConsumer.close`, in a task of its own.

        A call of another task that reads ends with an IllegalStateException. A task that is
        cancelled here leaves, and the consumer is closed by the deadline all the same; once
        more cancelled, the rest gets no time.
        """
        await self._end(CLOSE if timeout is None else as_seconds(timeout))

    async def _end(self, seconds: float) -> None:
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

        async def close() -> None:
            began = caller.now()
            await caller.end_reading(seconds * SHARE_TO_LEAVE)
            left = max(0.0, seconds - (caller.now() - began))
            await drive(self._close_steps(left), caller.now)

        await self._ending.run(close, f"close of {self!r}")

    def _thread(self) -> Thread:
        return JoinedInLoop(super()._built().thread, self._caller.now)

    def _close(self, seconds: float) -> None:
        """Close at the interpreter's exit, in a loop of its own: the consumer's has ended."""
        asyncio.run(drive(self._close_steps(seconds), self._caller.now))

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
            await self._end(HURRY if hurries else CLOSE)
        except Exception as own:  # noqa: BLE001 - any error of the close; the first one goes on
            error.add_note(f"and closing the share consumer failed: {own}")
