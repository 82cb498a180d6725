"""A transaction that an `async with` block begins and ends.

Thread: the event loop's.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self

from prokurist.errors import KafkaException
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition


class Transacting(Protocol):
    """Interface of the producer, for a block."""

    @property
    def has_transaction(self) -> bool:
        """True while there is a transaction to abort."""
        ...

    def begin_transaction(self) -> None:
        """Begin one."""
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


class TransactionBlock:
    """A transaction that an `async with` block begins, and commits or aborts.

    Args:
        producer: The producer.
        timeout: Seconds for each call at the end of the block; None for `max.block.ms`.
    """

    __slots__ = ("_producer", "_timeout")

    def __init__(self, producer: Transacting, timeout: float | timedelta | None) -> None:
        self._producer = producer
        self._timeout = timeout

    async def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Add offsets of a consumer group; see `KafkaProducer.send_offsets_to_transaction`."""
        await self._producer.send_offsets_to_transaction(offsets, group_metadata, timeout)

    async def __aenter__(self) -> Self:
        self._producer.begin_transaction()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                await self._producer.commit_transaction(self._timeout)
                return
        except BaseException as failure:
            error = failure
            raise
        finally:
            if error is not None and self._producer.has_transaction:
                try:
                    await self._producer.abort_transaction(self._timeout)
                except KafkaException as own:
                    error.add_note(f"and aborting the transaction failed: {own}")

    def __repr__(self) -> str:
        return f"TransactionBlock({self._producer})"
