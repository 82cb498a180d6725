"""Read–process–write of tasks; see `prokurist/producer/read_process_write.py`.

Thread: the event loop's.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from types import TracebackType
from typing import Protocol

from prokurist.aio.driving import drive
from prokurist.producer.read_process_write import Reader, ReadingAndWriting
from prokurist.producer.transacting import Transactions
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition


class Transacting(Protocol):
    """Interface of the producer."""

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        ...

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Add offsets to it."""
        ...

    async def commit_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Commit it."""
        ...

    async def abort_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Abort it."""
        ...


class TransactionsOfTasks:
    """The calls of a producer's transactions, to be awaited.

    Args:
        producer: The producer of coroutines.
        state: The transactions beneath it.
    """

    def __init__(self, producer: Transacting, state: Transactions) -> None:
        self._state = state
        self.begin: Callable[[], None] = producer.begin_transaction
        self.send_offsets: Callable[..., Awaitable[None]] = producer.send_offsets_to_transaction
        self.commit: Callable[..., Awaitable[None]] = producer.commit_transaction
        self.abort: Callable[..., Awaitable[None]] = producer.abort_transaction

    @property
    def is_endable(self) -> bool:
        """True if there is something to abort."""
        return self._state.is_endable

    @property
    def is_in_doubt(self) -> bool:
        """True if a commit has begun and has no known outcome."""
        return self._state.is_in_doubt

    @property
    def is_over(self) -> bool:
        """True if the last transaction has ended, and none is open."""
        return self._state.is_over

    def require_begin(self) -> None:
        """Check that a transaction can begin."""
        self._state.require_begin()

    def __repr__(self) -> str:
        return f"TransactionsOfTasks({self._state})"


class ReadProcessWrite(ReadingAndWriting):
    """Reads with a consumer, and writes in transactions that commit what was read.

    `KafkaProducer.read_process_write` makes one; see `prokurist.ReadProcessWrite`.

    Args:
        transactions: The calls of the producer.
        consumer: The consumer.
        timeout: Seconds for each call at the end of a transaction; None for `max.block.ms`.
        now: Reads the producer's clock.
    """

    def __init__(
        self,
        transactions: TransactionsOfTasks,
        consumer: Reader,
        timeout: float | timedelta | None,
        now: Callable[[], float],
    ) -> None:
        super().__init__(transactions, consumer, timeout)
        self.now = now

    def poll(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> AbstractAsyncContextManager[ConsumerRecords]:
        """As `prokurist.ReadProcessWrite.poll`, for `async with`.

        A block that is cancelled aborts its transaction.
        """
        return PolledBlock(self, timeout, max_records)


class PolledBlock(AbstractAsyncContextManager[ConsumerRecords]):
    """One poll, and the transaction of its records.

    Args:
        work: Polls and commits.
        timeout: Seconds for the poll.
        max_records: See `KafkaConsumer.poll`.
    """

    def __init__(
        self, work: ReadProcessWrite, timeout: float | timedelta, max_records: int | None
    ) -> None:
        self._work = work
        self._timeout = timeout
        self._max_records = max_records
        self._records = ConsumerRecords()

    async def __aenter__(self) -> ConsumerRecords:
        entering = self._work.enter(self._timeout, self._max_records)
        self._records = await drive(entering, self._work.now)
        return self._records

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await drive(self._work.exit(self._records, error), self._work.now)

    def __repr__(self) -> str:
        return f"PolledBlock({self._work})"
