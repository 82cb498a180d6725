"""aiokafka's producer over ours.

Thread: the event loop's.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Self

from prokurist.aio import KafkaProducer
from prokurist.aio.driving import drive
from prokurist.compat.absent import Face
from prokurist.compat.aiokafka.batch import BatchBuilder, serialized
from prokurist.compat.aiokafka.bootstrapping import answered
from prokurist.compat.aiokafka.errors import (
    IllegalOperation,
    ProducerClosed,
    as_theirs,
)
from prokurist.compat.aiokafka.looking_up import as_ours, offsets_in
from prokurist.compat.aiokafka.settings import TokensOfLoop, producer_settings
from prokurist.compat.aiokafka.structs import RecordMetadata
from prokurist.config import ProducerConfig
from prokurist.errors import KafkaException, RecordTooLargeException, TimeoutException
from prokurist.errors.local_variables import without_locals
from prokurist.events.accumulator.record_metadata import RecordMetadata as OurMetadata
from prokurist.events.clock import epoch_milliseconds
from prokurist.types import ConsumerGroupMetadata, TopicPartition


class AIOKafkaProducer(Face):
    """A producer with the calls of aiokafka's.

    `send` and calls of transactions end by `request_timeout_ms`; what is sent, by twice that.

    Args:
        configs: Keys of aiokafka, or ours.

    Raises:
        KafkaConfigurationError: The configuration cannot be used.
        ValueError: A value is none of aiokafka's.
    """

    _left_out: ClassVar[MappingProxyType[str, str]] = MappingProxyType(
        {"client": "health() of a prokurist.aio.KafkaProducer"}
    )

    @without_locals
    def __init__(self, **configs: Any) -> None:
        keys, found = producer_settings(configs)
        self._tokens = keys.get("sasl_oauth_token_provider")
        self._wire(KafkaProducer(keys), found, configs)

    @classmethod
    def over(
        cls, producer: KafkaProducer, found: ProducerConfig, configs: Mapping[str, Any]
    ) -> Self:
        """The face of a producer that is there already."""
        self = cls.__new__(cls)
        self._tokens = None
        self._wire(producer, found, configs)
        return self

    def _wire(
        self, producer: KafkaProducer, found: ProducerConfig, configs: Mapping[str, Any]
    ) -> None:
        self._producer = producer
        self._key_serializer = configs.get("key_serializer")
        self._value_serializer = configs.get("value_serializer")
        self._batch_size = found.batch_size
        self._is_transactional = found.transactional_id is not None
        self._wait = found.delivery_timeout_ms / 1000
        self._is_told = found.acks != "0"
        self._closed = False
        self._ready = False

    # --- beginning and end -----------------------------------------------------------

    async def start(self) -> None:
        """Connect; with a `transactional_id`, fence earlier producers that have it.

        Raises:
            KafkaConnectionError: No broker can be reached.
            KafkaError: The transactional id cannot be used.
        """
        if isinstance(self._tokens, TokensOfLoop):
            self._tokens.loop = asyncio.get_running_loop()
        if self._ready:
            return
        asked: Coroutine[Any, Any, None]
        if self._is_transactional:
            asked = self._producer.init_transactions()
        else:
            inner = self._producer._inner
            asked = drive(inner.reach_steps(None), inner.now)
        with converted():
            await answered(asked, self._producer._inner.reachability)
        self._ready = True

    async def flush(self) -> None:
        """Wait until all that was sent is delivered or has failed.

        Raises:
            KafkaTimeoutError: The time of the records is over.
        """
        with converted():
            await self._producer.flush(self._wait)

    async def stop(self) -> None:
        """Flush and close."""
        if self._closed:
            return
        self._closed = True
        with converted():
            await self._producer.close(self._wait)

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self._producer.close(0)
            self._closed = True
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, asyncio.CancelledError) and not self._closed:
            # The program wants to end: what is left has a moment, and not the time of `stop`.
            self._closed = True
            await self._producer.__aexit__(kind, error, trace)
            return
        await self.stop()

    # --- sending ---------------------------------------------------------------------

    async def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic, by `request_timeout_ms`."""
        with converted():
            return {each.partition for each in await self._producer.partitions_for(topic)}

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> "asyncio.Future[RecordMetadata]":
        """Send a record: it is in a batch when this returns.

        Returns:
            What becomes of it.

        Raises:
            IllegalOperation: There is no transaction, with a `transactional_id`.
            KafkaTimeoutError: No metadata, or no room, by `request_timeout_ms`.
            MessageSizeTooLargeError: The record is larger than `max_request_size`.
            ProducerClosed: The producer was stopped.
            TypeError: A key or a value is no bytes.
            UnknownTopicOrPartitionError: There is no such topic by `request_timeout_ms`.
            ValueError: Neither a value nor a key.
        """
        if value is None and key is None:
            raise ValueError("send a value, or a key, or both")
        self._require_open()
        return await self._sent(
            topic,
            serialized("value", self._value_serializer, value),
            serialized("key", self._key_serializer, key),
            partition,
            epoch_milliseconds() if timestamp_ms is None else timestamp_ms,
            list(headers or ()),
        )

    async def _sent(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp: int,
        headers: Iterable[tuple[str, bytes | None]],
    ) -> "asyncio.Future[RecordMetadata]":
        sent = Sent(timestamp, is_told=self._is_told)
        with converted():
            delivery = await self._producer.send(
                topic, value, key, headers, partition, timestamp, sent
            )
            failure = delivery.exception(0) if delivery.done() else None
            if isinstance(failure, TimeoutException | RecordTooLargeException):
                sent.future.cancel()
                raise failure
        return sent.future

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> RecordMetadata:
        """Send a record, and wait until it is delivered.

        Raises:
            KafkaError: It has failed; see `send`.
        """
        sent = await self.send(topic, value, key, partition, timestamp_ms, headers)
        return await sent

    def create_batch(self) -> BatchBuilder:
        """Make an empty batch, for `send_batch`."""
        return BatchBuilder(self._batch_size, self._key_serializer, self._value_serializer)

    async def send_batch(
        self, batch: BatchBuilder, topic: str, *, partition: int
    ) -> "asyncio.Future[RecordMetadata]":
        """Send the records of a batch, in their order.

        Args:
            batch: It takes no more of them.
            topic: The topic.
            partition: The partition.

        Returns:
            What becomes of the last one; the offset is that of the first one.

        Raises:
            KafkaError: See `send`.
            ValueError: It is empty.
        """
        self._require_open()
        batch.close()
        if not batch.records:
            raise ValueError("the batch is empty: append records before it is sent")
        sent = [
            await self._sent(
                topic, each.value, each.key, partition, each.timestamp, each.headers
            )
            for each in batch.records
        ]
        return asyncio.ensure_future(first_of(sent))

    def _require_open(self) -> None:
        if self._closed:
            raise ProducerClosed("the producer was stopped")
        if self._is_transactional and not self._producer.has_transaction:
            raise IllegalOperation("Can't send messages while not in transaction")

    # --- transactions ----------------------------------------------------------------

    async def begin_transaction(self) -> None:
        """Begin a transaction; records sent from now on belong to it.

        Raises:
            IllegalOperation: There is no `transactional_id`.
            IllegalStateError: One is open.
            KafkaError: The producer is over.
        """
        self._require_transactional()
        await self.start()
        with converted():
            self._producer.begin_transaction()

    async def commit_transaction(self) -> None:
        """Have all records delivered, and commit them with the offsets.

        Raises:
            KafkaError: It was not possible; a KafkaTimeoutError where the same call goes on.
        """
        self._require_transactional()
        with converted():
            await self._producer.commit_transaction()

    async def abort_transaction(self) -> None:
        """Abort the transaction: records that are not on the wire fail.

        Raises:
            KafkaError: It was not possible; a KafkaTimeoutError where the same call goes on.
        """
        self._require_transactional()
        with converted():
            await self._producer.abort_transaction()

    def transaction(self) -> "TransactionContext":
        """A transaction that an `async with` block begins, and commits or aborts."""
        return TransactionContext(self)

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, Any], group_id: str
    ) -> None:
        """Add offsets of a consumer group, to be committed with the transaction or never.

        Args:
            offsets: For each partition the next offset to read, or a pair of that and a text.
            group_id: The name of the group. Offsets of a member that has lost its partitions
                are taken.

        Raises:
            IllegalOperation: No transaction is open.
            KafkaError: It was not possible.
            ValueError: `offsets` is no dict of such, or `group_id` no name.
        """
        self._require_transactional()
        if not self._producer.has_transaction:
            raise IllegalOperation("Not in the middle of a transaction")
        if not group_id or not isinstance(group_id, str):
            raise ValueError(f"group_id is the name of a group, not {group_id!r}")
        places = {tp: as_ours(each) for tp, each in offsets_in(offsets).items()}
        with converted():
            await self._producer.send_offsets_to_transaction(
                places, ConsumerGroupMetadata(group_id)
            )

    def _require_transactional(self) -> None:
        if not self._is_transactional:
            raise IllegalOperation("transactions need a transactional_id")

    def __repr__(self) -> str:
        return f"AIOKafkaProducer({self.__dict__.get('_producer')!r})"


class Sent:
    """Outcome of a record, as a future of the running loop.

    Args:
        timestamp: The record's own timestamp.
        is_told: False where brokers do not answer (`acks=0`): the result is None, as there.
    """

    __slots__ = ("_is_told", "future", "timestamp")

    def __init__(self, timestamp: int, *, is_told: bool) -> None:
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.timestamp: int = timestamp
        self._is_told = is_told

    def __call__(self, metadata: OurMetadata, error: KafkaException | None) -> None:
        """Settle it."""
        if self.future.done():
            return
        if error is not None:
            theirs = as_theirs(error)
            theirs.__cause__ = error
            self.future.set_exception(theirs)
            return
        if not self._is_told:
            self.future.set_result(None)
            return
        topic, partition, offset, timestamp = metadata
        by_broker = int(timestamp != self.timestamp)
        place = TopicPartition(topic, partition)
        self.future.set_result(
            RecordMetadata(topic, partition, place, offset, timestamp, by_broker, None)
        )

    def __repr__(self) -> str:
        return f"Sent({self.future})"


async def first_of(sent: "list[asyncio.Future[RecordMetadata]]") -> RecordMetadata:
    """Wait for all records of a batch, and return where it begins."""
    return (await asyncio.gather(*sent))[0]


class TransactionContext:
    """A transaction that an `async with` block begins, and commits or aborts.

    Args:
        producer: The producer.
    """

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer

    async def __aenter__(self) -> Self:
        await self._producer.begin_transaction()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._producer.commit_transaction()
        elif self._producer._producer.has_transaction:
            await self._producer.abort_transaction()

    def __repr__(self) -> str:
        return f"TransactionContext({self._producer!r})"


@contextmanager
def converted() -> Iterator[None]:
    """Raise errors as aiokafka's.

    Raises:
        KafkaError: What the producer below has raised.
    """
    try:
        yield
    except KafkaException as error:
        raise as_theirs(error) from error
