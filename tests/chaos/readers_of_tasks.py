"""The consumer of coroutines in a chaos run, with polls that are cancelled on their way.

Thread: the member's main one calls, and waits for the loop's. Listeners wait for a third one,
in which the member's code commits as another task.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar

from prokurist import OffsetAndMetadata, TopicPartition, errors
from prokurist.aio import KafkaConsumer
from tests.chaos.loop_thread import LoopThread
from tests.chaos.readers import (
    CALL,
    CLOSE,
    POLL,
    REFUSED,
    Came,
    Reader,
)

T = TypeVar("T")

CUT: Final = 0.2
"""Share of reads whose task is cancelled, before another one reads on."""
ONE: Final = 0.1
"""Share of reads that take one record."""


class TaskReader(Reader):
    """Our consumer of coroutines.

    It commits after some polls, only when it gives partitions up, by `enable.auto.commit`, in
    the middle of what a poll has returned, or without waiting. Some reads are of one record.
    """

    styles = ("sync", "listener", "auto", "explicit", "async")

    core: KafkaConsumer  # type: ignore[assignment]

    _fine: ClassVar = (*REFUSED, errors.RetriableCommitFailedException)

    @staticmethod
    def ours(error: BaseException) -> BaseException:
        """Return the error: it is ours."""
        return error

    def open(self, keys: Mapping[str, Any]) -> None:
        """See `Reader`."""
        self._lot = random.Random(self.style)  # noqa: S311 - a lot to be drawn again
        self._in_listener = False
        self._loop = LoopThread()
        self.core = KafkaConsumer(dict(keys))
        self._loop.run(self._subscribe())

    async def _subscribe(self) -> None:
        application = self.application
        self.core.subscribe(
            self.topic,
            on_assigned=self._beside(application.on_partitions_assigned),
            on_revoked=self._beside(application.on_partitions_revoked),
            on_lost=self._beside(application.on_partitions_lost),
        )

    def _beside(
        self, call: Callable[[frozenset[TopicPartition]], object]
    ) -> Callable[[frozenset[TopicPartition]], Awaitable[None]]:
        async def heard(partitions: frozenset[TopicPartition]) -> None:
            self._in_listener = True
            try:
                await asyncio.to_thread(call, partitions)
            finally:
                self._in_listener = False

        return heard

    def poll(self) -> Sequence[Came]:
        """See `Reader`."""
        one = self._lot.random() < ONE
        return self._loop.run(self._cut(self._next if one else self._poll))

    async def _cut(self, read: Callable[[float], Awaitable[T]]) -> T:
        """Read; where the task is cancelled on its way, another one reads on."""
        loop = asyncio.get_running_loop()
        until = loop.time() + POLL
        if self._lot.random() < CUT:
            reading = asyncio.ensure_future(read(POLL))
            for _ in range(self._lot.randrange(3)):
                await asyncio.sleep(0)
            await asyncio.wait((reading,), timeout=self._lot.choice((0.0, 0.002, POLL / 2)))
            # What the application has begun in a listener, it ends.
            if not self._in_listener:
                reading.cancel()
            try:
                return await reading
            except asyncio.CancelledError:
                pass
        return await read(max(0.0, until - loop.time()))

    async def _poll(self, seconds: float) -> Sequence[Came]:
        records = await self.core.poll(seconds)
        return [Came(each.partition, each.offset, each.value) for each in records]

    async def _next(self, seconds: float) -> Sequence[Came]:
        record = await self.core.next(seconds)
        if record is None:
            return []
        return [Came(record.partition, record.offset, record.value)]

    def commit(self, offsets: Mapping[int, int] | None) -> None:
        """See `Reader`."""
        given = None
        if offsets is not None:
            given = {self.of(each): OffsetAndMetadata(at) for each, at in offsets.items()}
        self._loop.run(self.core.commit(given, timeout=CALL))

    def commit_async(self) -> None:
        """See `Reader`."""

        async def done(_offsets: object, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, self._fine):
                self.application.commit_failed(error)

        async def commit() -> None:
            self.core.commit_async(callback=done)

        self._loop.run(commit())

    def committed(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """See `Reader`."""
        found = self._loop.run(self.core.committed(map(self.of, partitions), timeout=CALL))
        return {tp.partition: at.offset for tp, at in found.items() if at}

    def position(self, partition: int) -> object:
        """See `Reader`."""
        return self._loop.run(self.core.position(self.of(partition), timeout=CALL))

    def end_offsets(self, partitions: Sequence[int]) -> object:
        """See `Reader`."""
        return self._loop.run(self.core.end_offsets(map(self.of, partitions), timeout=CALL))

    def close(self) -> None:
        """See `Reader`."""
        try:
            self._loop.run(self.core.close(timeout=CLOSE))
        finally:
            self._loop.close()
