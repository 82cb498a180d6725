"""Read–process–write: each poll's records and their offsets in one transaction.

Thread: the one of the consumer and of the transaction calls; the event loop's in
`aio/read_process_write.py`.

- Rule A: offsets go into the transaction in the name of the membership that read the records
  (`KafkaConsumer.group_metadata`), and nothing is polled between the two. So a member that has
  lost its partitions commits nothing.
- Rule B: records whose transaction has failed are taken back, unless its commit is in doubt.
- Rule C: nothing is polled before the last transaction has ended. A commit in doubt is repeated
  by the next `poll`, and its records are taken back only if it fails after all.
"""

from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Protocol

from prokurist.application.driving import Run, Steps, drive
from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException, KafkaException
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition


class Reader(Protocol):
    """The part of a `KafkaConsumer` that a transaction needs."""

    _config: ConsumerConfig

    def poll(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> ConsumerRecords | Awaitable[ConsumerRecords]:
        """See `KafkaConsumer`."""
        ...

    def take_back(self) -> None:
        """See `KafkaConsumer`."""
        ...

    def group_metadata(self) -> ConsumerGroupMetadata:
        """See `KafkaConsumer`."""
        ...


class Transacting(Protocol):
    """Calls of transactions; those that wait may return what is awaited."""

    @property
    def is_endable(self) -> bool:
        """True if there is something to abort."""
        ...

    @property
    def is_in_doubt(self) -> bool:
        """True if a commit has begun and has no known outcome."""
        ...

    @property
    def is_over(self) -> bool:
        """True if the last transaction has ended, and none is open."""
        ...

    def require_begin(self) -> None:
        """Check that a transaction can begin."""
        ...

    def begin(self) -> None:
        """Begin one."""
        ...

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        timeout: float | timedelta | None,
    ) -> object:
        """Add offsets to it."""
        ...

    def commit(self, timeout: float | timedelta | None) -> object:
        """Commit it."""
        ...

    def abort(self, timeout: float | timedelta | None) -> object:
        """Abort it."""
        ...


class ReadingAndWriting:
    """Steps of polls and of the transactions of their records, for threads and for tasks.

    Args:
        transactions: The calls of the producer.
        consumer: The consumer.
        timeout: Seconds for each call at the end of a transaction; None for `max.block.ms`.

    Raises:
        ConfigException: The consumer has no group, or commits automatically.
    """

    def __init__(
        self,
        transactions: Transacting,
        consumer: Reader,
        timeout: float | timedelta | None,
    ) -> None:
        require_group(consumer)
        self._transactions = transactions
        self._consumer = consumer
        self._timeout = timeout
        # True from the end of a poll until its transaction has ended.
        self._is_open = False
        self._commits = False

    def enter(
        self, timeout: float | timedelta, max_records: int | None
    ) -> Steps[ConsumerRecords]:
        """Settle the last transaction, poll, and begin the next."""
        yield from self._settle()
        self._transactions.require_begin()
        records: ConsumerRecords = yield Run(
            partial(self._consumer.poll, timeout, max_records=max_records)
        )
        try:
            self._is_open, self._commits = True, False
            self._transactions.begin()
        except BaseException as error:
            yield from self._undo(error)
            raise
        return records

    def exit(self, records: ConsumerRecords, error: BaseException | None) -> Steps[None]:
        """Commit, or abort for an error."""
        if error is not None:
            yield from self._undo(error)
            return
        try:
            yield Run(
                self._transactions.send_offsets,
                records.next_offsets(),
                self._consumer.group_metadata(),
                self._timeout,
            )
            self._commits = True
            yield Run(self._transactions.commit, self._timeout)
            self._is_open = False
        except BaseException as failure:
            yield from self._undo(failure)
            raise

    def _settle(self) -> Steps[None]:
        """End the last transaction."""
        if not self._is_open:
            return
        if self._transactions.is_in_doubt:
            try:
                yield Run(self._transactions.commit, self._timeout)
            except BaseException as error:
                yield from self._undo(error)
                raise
        elif not self._is_committed:
            self._consumer.take_back()
            if self._transactions.is_endable:
                yield Run(self._transactions.abort, self._timeout)
        self._is_open = False

    def _undo(self, error: BaseException) -> Steps[None]:
        """Take the records back and abort, but for a commit in doubt."""
        if self._transactions.is_in_doubt or self._is_committed:
            return
        self._commits = False
        self._consumer.take_back()
        if self._transactions.is_endable:
            try:
                yield Run(self._transactions.abort, self._timeout)
            except KafkaException as own:
                error.add_note(f"and aborting the transaction failed: {own}")
        self._is_open = self._transactions.is_endable

    @property
    def _is_committed(self) -> bool:
        """True after a commit that an interrupt has cut off behind its end."""
        return self._commits and self._transactions.is_over

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transactions}, {self._consumer})"


class ReadProcessWrite(ReadingAndWriting):
    """Reads with a consumer, and writes in transactions that commit what was read.

    `KafkaProducer.read_process_write` makes one.

    Args:
        transactions: The calls of the producer.
        consumer: The consumer.
        timeout: Seconds for each call at the end of a transaction; None for `max.block.ms`.

    Raises:
        ConfigException: The consumer has no group, or commits automatically.
    """

    def poll(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> AbstractContextManager[ConsumerRecords]:
        """Return a context manager that polls, and runs its block in a transaction.

        The transaction is committed at the end of the block, with the offsets of the records;
        there is one also where no records have come. After an exception it is aborted, the
        records come again with the next poll, and the exception goes on. After a commit in
        doubt the next poll settles it first. The block itself polls nothing.

        Args:
            timeout: Seconds for the poll.
            max_records: The most that it returns; None for `max.poll.records`.

        Raises:
            CommitFailedException: The member has lost its partitions; others read on.
            KafkaException: The poll, the commit or an abort has failed. It is `fatal` where
                the producer is over; else go on with the next poll.
        """
        return PolledBlock(self, timeout, max_records)


class PolledBlock:
    """One poll, and the transaction of its records.

    Args:
        work: Polls and commits.
        timeout: Seconds for the poll.
        max_records: See `KafkaConsumer.poll`.
    """

    __slots__ = ("_max_records", "_records", "_timeout", "_work")

    def __init__(
        self, work: ReadProcessWrite, timeout: float | timedelta, max_records: int | None
    ) -> None:
        self._work = work
        self._timeout = timeout
        self._max_records = max_records
        self._records = ConsumerRecords()

    def __enter__(self) -> ConsumerRecords:
        self._records = drive(self._work.enter(self._timeout, self._max_records), wait_is_over)
        return self._records

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        drive(self._work.exit(self._records, error), wait_is_over)

    def __repr__(self) -> str:
        return f"PolledBlock({self._work})"


def wait_is_over(_waiter: object, _until: float) -> bool:
    """Never called: each wait is inside a call of the consumer or of the producer."""
    return True


def require_group(consumer: Reader) -> None:
    """Check that offsets can be committed by transactions, and by nothing else.

    Raises:
        ConfigException: They cannot.
    """
    config = consumer._config  # noqa: SLF001 - of the same package
    if config.group_id is None:
        raise ConfigException(
            "read_process_write commits offsets of a group, and the consumer has none: set "
            "group.id"
        )
    if config.enable_auto_commit:
        raise ConfigException(
            "read_process_write commits offsets in its transactions, and the consumer would "
            "commit them by itself as well: set enable.auto.commit=False"
        )
