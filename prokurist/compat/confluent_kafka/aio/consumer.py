"""confluent-kafka's consumer for asyncio, over the face of that for threads.

Thread: the event loop's; each call is made on the consumer's worker.
"""

import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from prokurist.compat.absent import Face
from prokurist.compat.confluent_kafka.aio.worker import Worker, wrap_all
from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.consumer import Consumer
from prokurist.compat.confluent_kafka.values import Message, TopicPartition
from prokurist.errors import ConfigWarning, KafkaException

_HEARS: Final = ("on_assign", "on_revoke", "on_lost")


class AIOConsumer(Face):
    """A consumer with the calls of confluent-kafka's for asyncio.

    Calls are made one after the other; those that a callback awaits, within it. Callbacks may
    be coroutine functions, and are given this consumer.

    Args:
        consumer_conf: Keys of librdkafka, or ours.
        max_workers: Without effect: there is one thread.
        executor: Without effect.

    Raises:
        KafkaException: The configuration cannot be used.
        ValueError: It has no `group.id`.
    """

    _left_out: ClassVar[Mapping[str, str]] = Consumer._left_out

    def __init__(
        self, consumer_conf: dict[str, Any], max_workers: int = 100, executor: object = None
    ) -> None:
        if max_workers != 100 or executor is not None:
            warn_of("max_workers and executor")
        config = dict(consumer_conf)
        self._wire(lambda: Consumer(config), config)

    @classmethod
    def over(cls, make: Callable[[], Consumer], config: dict[str, Any]) -> Self:
        """One over a consumer that a test makes."""
        self = cls.__new__(cls)
        self._wire(make, config)
        return self

    def _wire(self, make: Callable[[], Consumer], config: dict[str, Any]) -> None:
        self._closed = False
        self._reads = 0
        self._worker = Worker("prokurist-aio-consumer")
        try:
            wrap_all(self._worker, config, "on_commit", "error_cb", "stats_cb", "throttle_cb")
            self._consumer = make()
        except BaseException:
            self._worker.end()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, call: Callable[..., Any], *given: Any, **keywords: Any) -> Any:
        if self._closed:
            raise RuntimeError("Consumer closed")
        return await self._worker.call(partial(call, *given, **keywords))

    async def _read(self, call: Callable[..., Any], *given: Any, **keywords: Any) -> Any:
        """Make a call that reads; where its task is cancelled, the messages come again."""
        if self._closed:
            raise RuntimeError("Consumer closed")
        number = 0

        def read() -> Any:
            nonlocal number
            self._reads = number = self._reads + 1
            return call(*given, **keywords)

        return await self._worker.call(
            read,
            stop=self._consumer._consumer.wakeup,
            undo=lambda: self._take_back(number),
        )

    def _take_back(self, number: int) -> None:
        """Take back what a call has read, unless another one has read since."""
        inner = self._consumer._consumer
        if number == self._reads:
            with suppress(KafkaException):
                inner.take_back()
        # The wake-up of a call that had ended by itself is for no other one.
        inner._caller.woken = False

    async def poll(self, *args: Any, **kwargs: Any) -> Message | None:
        """See `Consumer.poll`."""
        found: Message | None = await self._read(self._consumer.poll, *args, **kwargs)
        return found

    async def consume(self, *args: Any, **kwargs: Any) -> list[Message]:
        """See `Consumer.consume`."""
        found: list[Message] = await self._read(self._consumer.consume, *args, **kwargs)
        return found

    async def subscribe(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.subscribe`; callbacks may be coroutine functions."""
        for name in _HEARS:
            if kwargs.get(name) is not None:
                kwargs[name] = self._heard(kwargs[name])
        await self._call(self._consumer.subscribe, *args, **kwargs)

    def _heard(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        told = self._worker.wrap(callback)
        return lambda _consumer, partitions: told(self, partitions)

    async def unsubscribe(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.unsubscribe`."""
        await self._call(self._consumer.unsubscribe, *args, **kwargs)

    async def commit(self, *args: Any, **kwargs: Any) -> list[TopicPartition] | None:
        """See `Consumer.commit`."""
        found: list[TopicPartition] | None = await self._call(
            self._consumer.commit, *args, **kwargs
        )
        return found

    async def close(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.close`; the thread ends with it."""
        try:
            await self._call(self._consumer.close, *args, **kwargs)
        finally:
            self._closed = True
            self._worker.end()

    async def seek(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.seek`."""
        await self._call(self._consumer.seek, *args, **kwargs)

    async def pause(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.pause`."""
        await self._call(self._consumer.pause, *args, **kwargs)

    async def resume(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.resume`."""
        await self._call(self._consumer.resume, *args, **kwargs)

    async def store_offsets(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.store_offsets`."""
        await self._call(self._consumer.store_offsets, *args, **kwargs)

    async def committed(self, *args: Any, **kwargs: Any) -> list[TopicPartition]:
        """See `Consumer.committed`."""
        return await self._partitions(self._consumer.committed, *args, **kwargs)

    async def assign(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.assign`."""
        await self._call(self._consumer.assign, *args, **kwargs)

    async def unassign(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.unassign`."""
        await self._call(self._consumer.unassign, *args, **kwargs)

    async def incremental_assign(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.incremental_assign`."""
        await self._call(self._consumer.incremental_assign, *args, **kwargs)

    async def incremental_unassign(self, *args: Any, **kwargs: Any) -> None:
        """See `Consumer.incremental_unassign`."""
        await self._call(self._consumer.incremental_unassign, *args, **kwargs)

    async def assignment(self, *args: Any, **kwargs: Any) -> list[TopicPartition]:
        """See `Consumer.assignment`."""
        return await self._partitions(self._consumer.assignment, *args, **kwargs)

    async def position(self, *args: Any, **kwargs: Any) -> list[TopicPartition]:
        """See `Consumer.position`."""
        return await self._partitions(self._consumer.position, *args, **kwargs)

    async def consumer_group_metadata(self, *args: Any, **kwargs: Any) -> bytes:
        """See `Consumer.consumer_group_metadata`."""
        call = self._consumer.consumer_group_metadata
        found: bytes = await self._call(call, *args, **kwargs)
        return found

    async def list_topics(self, *args: Any, **kwargs: Any) -> ClusterMetadata:
        """See `Consumer.list_topics`."""
        found: ClusterMetadata = await self._call(self._consumer.list_topics, *args, **kwargs)
        return found

    async def get_watermark_offsets(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """See `Consumer.get_watermark_offsets`."""
        call = self._consumer.get_watermark_offsets
        found: tuple[int, int] = await self._call(call, *args, **kwargs)
        return found

    async def offsets_for_times(self, *args: Any, **kwargs: Any) -> list[TopicPartition]:
        """See `Consumer.offsets_for_times`."""
        return await self._partitions(self._consumer.offsets_for_times, *args, **kwargs)

    async def _partitions(
        self, call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> list[TopicPartition]:
        found: list[TopicPartition] = await self._call(call, *args, **kwargs)
        return found

    def __repr__(self) -> str:
        return f"AIOConsumer({self.__dict__.get('_consumer')!r})"


_told: set[str] = set()
_lock: Final = threading.Lock()


def warn_of(what: str) -> None:
    """Tell once that arguments have no effect."""
    with _lock:
        if what in _told:
            return
        _told.add(what)
    text = f"{what} are accepted without effect: each client has one thread, and no buffer"
    warnings.warn(text, ConfigWarning, stacklevel=3)
