"""confluent-kafka's producer for asyncio, over the face of that for threads.

Thread: the event loop's. Messages are handed to the worker in the order of `produce`, as many
as there are by then; their ends are told on the loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from prokurist.compat.absent import Face
from prokurist.compat.confluent_kafka.aio.consumer import warn_of
from prokurist.compat.confluent_kafka.aio.worker import Worker, wrap_all
from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.producer import Producer
from prokurist.compat.confluent_kafka.sent import Sent
from prokurist.compat.confluent_kafka.values import Message

MANY: Final = 1000
"""Messages for the worker beyond which `produce` waits until it has taken them."""


class AIOProducer(Face):
    """A producer with the calls of confluent-kafka's for asyncio.

    Args:
        producer_conf: Keys of librdkafka, or ours.
        max_workers: Without effect: there is one thread.
        executor: Without effect.
        batch_size: Without effect: the client below batches.
        buffer_timeout: Without effect: nothing is held back.

    Raises:
        KafkaException: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = Producer._left_out

    def __init__(
        self,
        producer_conf: dict[str, Any],
        max_workers: int = 4,
        executor: object = None,
        batch_size: int = 1000,
        buffer_timeout: float = 1.0,
    ) -> None:
        if (max_workers, executor, batch_size, buffer_timeout) != (4, None, 1000, 1.0):
            warn_of("max_workers, executor, batch_size and buffer_timeout")
        config = dict(producer_conf)
        self._wire(lambda: Producer(config), config)

    @classmethod
    def over(cls, make: Callable[[], Producer], config: dict[str, Any]) -> Self:
        """One over a producer that a test makes."""
        self = cls.__new__(cls)
        self._wire(make, config)
        return self

    def _wire(self, make: Callable[[], Producer], config: dict[str, Any]) -> None:
        self._closed = False
        self._line: deque[tuple[Callable[[], None], asyncio.Future[Message]]] = deque()
        self._handing: asyncio.Task[None] | None = None
        self._worker = Worker("prokurist-aio-producer")
        try:
            wrap_all(self._worker, config, "error_cb", "stats_cb", "throttle_cb")
            self._producer = make()
        except BaseException:
            self._worker.end()
            raise
        self._producer._ended = Ended(self._tell)

    def _tell(self) -> None:
        """Tell the futures of the messages that have ended."""
        self._producer._serve()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Flush and close; the thread ends with it."""
        if self._closed:
            return
        try:
            await self._hand_over()
            self._closed = True
            await self._worker.call(self._producer.close)
        finally:
            self._closed = True
            self._worker.end()

    def __len__(self) -> int:
        return 0 if self._closed else len(self._line) + len(self._producer)

    def __bool__(self) -> bool:
        return True

    async def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> "asyncio.Future[Message]":
        """Send a message, with headers if there are any; see `Producer.produce`.

        Returns:
            The message, when it is delivered; a KafkaException where it has failed, or
            BufferError where there was no room for it.

        Raises:
            RuntimeError: The producer is closed.
        """
        self._require_open()
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        kwargs["on_delivery"] = partial(settle, future)
        send = partial(self._producer.produce, topic, value, key, *args, **kwargs)
        self._line.append((send, future))
        handing = self._handing
        if handing is None:
            handing = self._handing = asyncio.create_task(self._hand())
        if len(self._line) >= MANY:
            await asyncio.shield(handing)
        return future

    async def _hand(self) -> None:
        """Hand over what is in line, until nothing is."""
        try:
            while self._line:
                line = tuple(self._line)
                self._line.clear()
                await self._worker.call(partial(send_all, line))
        finally:
            self._handing = None

    async def _hand_over(self) -> None:
        """Wait until what was produced is handed over."""
        if (handing := self._handing) is not None:
            await asyncio.shield(handing)

    async def poll(
        self,
        timeout: float = 0,  # noqa: ASYNC109 - as there
        *args: Any,
        **kwargs: Any,
    ) -> int:
        """See `Producer.poll`; futures are told without it."""
        await self._hand_over()
        found: int = await self._call(self._producer.poll, timeout, *args, **kwargs)
        return found

    async def flush(self, *args: Any, **kwargs: Any) -> int:
        """See `Producer.flush`."""
        await self._hand_over()
        found: int = await self._call(self._producer.flush, *args, **kwargs)
        return found

    async def purge(self, *args: Any, **kwargs: Any) -> None:
        """See `Producer.purge`."""
        await self._hand_over()
        await self._call(self._producer.purge, *args, **kwargs)

    async def list_topics(self, *args: Any, **kwargs: Any) -> ClusterMetadata:
        """See `Producer.list_topics`."""
        found: ClusterMetadata = await self._call(self._producer.list_topics, *args, **kwargs)
        return found

    async def init_transactions(self, *args: Any, **kwargs: Any) -> None:
        """See `Producer.init_transactions`."""
        await self._call(self._producer.init_transactions, *args, **kwargs)

    async def begin_transaction(self, *args: Any, **kwargs: Any) -> None:
        """See `Producer.begin_transaction`."""
        await self._call(self._producer.begin_transaction, *args, **kwargs)

    async def send_offsets_to_transaction(self, *args: Any, **kwargs: Any) -> None:
        """See `Producer.send_offsets_to_transaction`."""
        await self._call(self._producer.send_offsets_to_transaction, *args, **kwargs)

    async def commit_transaction(self, *args: Any, **kwargs: Any) -> None:
        """See `Producer.commit_transaction`."""
        await self._hand_over()
        await self._call(self._producer.commit_transaction, *args, **kwargs)

    async def abort_transaction(self, *args: Any, **kwargs: Any) -> None:
        """See `Producer.abort_transaction`."""
        await self._hand_over()
        await self._call(self._producer.abort_transaction, *args, **kwargs)

    async def _call(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._require_open()
        return await self._worker.call(partial(call, *args, **kwargs))

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("Producer has been closed")

    def __repr__(self) -> str:
        return f"AIOProducer({self.__dict__.get('_producer')!r})"


class Ended(SimpleQueue[Sent]):
    """The queue of ended messages, of which the loop is told once for all of them.

    Args:
        tell: Takes them from the queue; called on the loop.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._tell = tell
        self._is_woken = False

    def put(self, item: Sent, block: bool = True, timeout: float | None = None) -> None:
        """Put it, on any thread."""
        super().put(item, block, timeout)
        if self._is_woken:
            return
        self._is_woken = True
        try:
            self._loop.call_soon_threadsafe(self._take)
        except RuntimeError:
            return  # The loop was closed: nobody waits.

    def _take(self) -> None:
        self._is_woken = False
        self._tell()


def send_all(line: "tuple[tuple[Callable[[], None], asyncio.Future[Message]], ...]") -> None:
    """Send messages, on the worker; what `produce` raises is the future's."""
    for send, future in line:
        try:
            send()
        except Exception as error:  # noqa: BLE001 - it is the sender's
            future.get_loop().call_soon_threadsafe(fail, future, error)


def settle(
    future: "asyncio.Future[Message]", error: KafkaError | None, message: Message
) -> None:
    """Tell a future, wherever a poll has told of its message."""
    if asyncio._get_running_loop() is not future.get_loop():
        future.get_loop().call_soon_threadsafe(settle, future, error, message)
    elif future.done():
        return
    elif error is None:
        future.set_result(message)
    else:
        future.set_exception(KafkaException(error))


def fail(future: "asyncio.Future[Message]", error: Exception) -> None:
    """Tell a future that its message was refused."""
    if not future.done():
        future.set_exception(error)
