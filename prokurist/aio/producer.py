"""The public producer of coroutines.

Thread: that of any event loop; several loops may use one producer. Each method is described at
its namesake of `prokurist`; here stand the differences.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import GeneratorType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from prokurist.aio.consumer import KafkaConsumer
from prokurist.aio.driving import Turns, drive
from prokurist.aio.ending import Ending
from prokurist.aio.loop_callback import in_loop
from prokurist.aio.read_process_write import ReadProcessWrite, TransactionsOfTasks
from prokurist.aio.task_producer import TaskProducer
from prokurist.aio.transaction_block import TransactionBlock
from prokurist.assembly.producer import ProducerSide
from prokurist.config import ProducerConfig
from prokurist.errors import ConcurrentModificationException
from prokurist.errors.local_variables import without_locals
from prokurist.events.accumulator.deliveries import Deliveries
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import OnDelivery
from prokurist.events.clock import CallersClock
from prokurist.events.transaction_state import TransactionCall
from prokurist.producer.columns import Columns
from prokurist.producer.ending_calls import AT_EXIT
from prokurist.producer.health import ProducerHealth
from prokurist.types import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    PartitionInfo,
    TopicPartition,
)

if TYPE_CHECKING:
    from typing import Unpack
    from uuid import UUID

    from prokurist.config.typed import ProducerKeywords
    from prokurist.events.accumulator.appending import Headers


LOOK_AT_CLOCK: Final = 64
"""Sends between two looks at the clock, whether other tasks are due for a turn."""


class KafkaProducer:
    """A producer for coroutines, in which every call answers by its deadline.

    Any number of tasks may use one, of several loops. A record is in a batch when `await
    send(...)` returns. That suspends only for the topic's metadata and for room in
    `buffer.memory`; `await` of its `Delivery` returns its metadata. Delivery callbacks run
    on the loop of the task that sent, in the context of its `send`.

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two contradict each
            other.
    """

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ProducerKeywords]",
    ) -> None:
        self._over(TaskProducer(config, **keywords))

    @classmethod
    def wired(cls, config: ProducerConfig, clock: CallersClock, side: ProducerSide) -> Self:
        """A producer on side that something else runs: a simulation, in virtual time."""
        self = cls.__new__(cls)
        self._over(TaskProducer.wired(config, clock, side))
        return self

    def _over(self, inner: TaskProducer) -> None:
        self._inner = inner
        self._append = inner.quick_append or inner.append
        self._sent = 0
        self._turns = Turns(inner.now)
        self._ending: Ending[int] = Ending()
        self._ends_in: asyncio.AbstractEventLoop | None = None
        self._transacting: str | None = None

    # --- sending -----------------------------------------------------------------------

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: "Headers" = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """As `prokurist.KafkaProducer.send`; a task that is cancelled in it sends nothing."""
        if on_delivery is not None:
            on_delivery = self._heard(on_delivery)
        self._sent += 1
        if self._sent % LOOK_AT_CLOCK == 0:
            # Before the record is in a batch: a task that is cancelled here has sent nothing.
            await self._turns.give_way()
        made = self._append(topic, value, key, headers, partition, timestamp, on_delivery)
        while isinstance(made, GeneratorType):
            made = await drive(made, self._inner.now)
        sent: Delivery = made
        return sent

    def _heard(self, on_delivery: OnDelivery | None) -> OnDelivery | None:
        if on_delivery is None or not callable(on_delivery):
            return on_delivery
        return in_loop(on_delivery, asyncio.get_running_loop())

    async def send_many(
        self,
        topic: str,
        values: Iterable[Any],
        *,
        keys: Iterable[Any] | None = None,
        headers: "Headers" = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Deliveries:
        """As `prokurist.KafkaProducer.send_many`."""
        heard = self._heard(on_delivery)
        return await drive(
            self._inner.send_many_steps(
                topic, values, keys, headers, partition, timestamp, heard
            ),
            self._inner.now,
        )

    async def send_batch(
        self,
        topic: str,
        data: Any,
        *,
        value: str = "value",
        key: str = "key",
        headers: str | None = None,
        partition: int | None = None,
        timestamp: str | int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Deliveries:
        """As `prokurist.KafkaProducer.send_batch`."""
        columns = Columns(value, key, headers, timestamp)
        heard = self._heard(on_delivery)
        return await drive(
            self._inner.send_batch_steps(topic, data, columns, partition, heard),
            self._inner.now,
        )

    async def flush(self, timeout: float | timedelta | None = None) -> None:
        """As `prokurist.KafkaProducer.flush`; a task that is cancelled ends its wait alone."""
        await drive(self._inner.flush_steps(timeout), self._inner.now)

    async def purge(self, timeout: float | timedelta | None = None) -> int:
        """As `prokurist.KafkaProducer.purge`."""
        return await drive(self._inner.purge_steps(timeout), self._inner.now)

    async def partitions_for(
        self,
        topic: str,
        timeout: float | timedelta | None = None,
    ) -> list[PartitionInfo]:
        """As `prokurist.KafkaProducer.partitions_for`."""
        return await drive(self._inner.partitions_steps(topic, timeout), self._inner.now)

    async def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """As `prokurist.KafkaProducer.client_instance_id`."""
        return await drive(self._inner.instance_id_steps(timeout), self._inner.now)

    # --- transactions --------------------------------------------------------------------

    async def init_transactions(
        self,
        timeout: float | timedelta | None = None,
    ) -> None:
        """As `prokurist.KafkaProducer.init_transactions`."""
        with self._alone(TransactionCall.INIT.value):
            await drive(self._inner.init_steps(timeout), self._inner.now)

    def begin_transaction(self) -> None:
        """As `prokurist.KafkaProducer.begin_transaction`, without waiting."""
        with self._alone(TransactionCall.BEGIN.value):
            self._inner.begin_transaction()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata,
        timeout: float | timedelta | None = None,
    ) -> None:
        """As `prokurist.KafkaProducer.send_offsets_to_transaction`."""
        with self._alone(TransactionCall.SEND_OFFSETS.value):
            steps = self._inner.send_offsets_steps(offsets, group_metadata, timeout)
            await drive(steps, self._inner.now)

    async def commit_transaction(
        self,
        timeout: float | timedelta | None = None,
    ) -> None:
        """As `prokurist.KafkaProducer.commit_transaction`.

        Where `report.may_have_happened` of its CancelledError is true, the end was written:
        then only another commit is left, or `close`.
        """
        with self._alone(TransactionCall.COMMIT.value):
            await drive(self._inner.end_steps(TransactionCall.COMMIT, timeout), self._inner.now)

    async def abort_transaction(
        self,
        timeout: float | timedelta | None = None,
    ) -> None:
        """As `prokurist.KafkaProducer.abort_transaction`."""
        with self._alone(TransactionCall.ABORT.value):
            await drive(self._inner.end_steps(TransactionCall.ABORT, timeout), self._inner.now)

    def transaction(self, timeout: float | timedelta | None = None) -> TransactionBlock:
        """As `prokurist.KafkaProducer.transaction`, for `async with`."""
        self._inner.transactions_of("transaction")
        return TransactionBlock(self, timeout)

    def read_process_write(
        self, consumer: KafkaConsumer, timeout: float | timedelta | None = None
    ) -> ReadProcessWrite:
        """As `prokurist.KafkaProducer.read_process_write`, with a consumer of coroutines."""
        transactions = TransactionsOfTasks(
            self, self._inner.transactions_of("read_process_write")
        )
        return ReadProcessWrite(transactions, consumer, timeout, self._inner.now)

    @property
    def has_transaction(self) -> bool:
        """True while a transaction is open, or has failed and is to be aborted."""
        return self._inner.has_transaction

    @contextmanager
    def _alone(self, operation: str) -> Iterator[None]:
        """Refuse a call of transactions while another one is under way."""
        if self._transacting is not None:
            raise ConcurrentModificationException(
                f"{operation} while {self._transacting} of another task is under way: one task "
                f"begins and ends transactions"
            )
        self._transacting = operation
        try:
            yield
        finally:
            self._transacting = None

    # --- what it is doing ----------------------------------------------------------------

    def health(self) -> ProducerHealth:
        """As `prokurist.KafkaProducer.health`."""
        return self._inner.health()

    def metrics(self) -> dict[str, float]:
        """As `prokurist.KafkaProducer.metrics`."""
        return self._inner.metrics()

    # --- the end -------------------------------------------------------------------------

    async def close(self, timeout: float | timedelta | None = None) -> int:
        """As `prokurist.KafkaProducer.close`, in a task of its own.

        A task that is cancelled in it leaves, and the producer is closed by its time all the
        same; once more cancelled, the rest fails at once.
        """
        if self._inner.is_closed:
            return 0
        loop = asyncio.get_running_loop()
        if self._ends_in is not None and self._ends_in is not loop:
            return await asyncio.to_thread(self._inner.close, timeout)

        async def close() -> int:
            try:
                return await drive(self._inner.close_steps(timeout), self._inner.now)
            finally:
                self._ends_in = None

        self._ends_in = loop
        return await self._ending.run(close, f"close of {self!r}")

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
            await self.close(min(AT_EXIT, self._inner.delivery_timeout))
        except Exception as own:  # noqa: BLE001 - whatever it is, the first error goes on
            error.add_note(f"and closing the producer failed: {own}")

    def __repr__(self) -> str:
        inner: TaskProducer | None = self.__dict__.get("_inner")
        return f"aio.{inner!r}" if inner is not None else "aio.KafkaProducer(not built)"
