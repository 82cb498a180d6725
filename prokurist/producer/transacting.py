"""Calls of transactions: `init_transactions` to `abort_transaction`, and the `with` block.

Thread: any application thread, one at a time; `send` and `flush` may run beside them.

Invariants: the state is moved on this thread, when a call begins and when it ends, so the next
call finds it right. The ledger of a call out of time decides its state.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.application.single_thread_guard import GuardRules, SingleThreadGuard
from prokurist.errors import (
    IllegalStateException,
    KafkaException,
    ProducerFencedException,
    TimeoutException,
)
from prokurist.events.application_events import (
    ApplicationEvent,
    EndTransaction,
    InitTransactions,
    SendOffsets,
)
from prokurist.events.call import Call
from prokurist.events.clock import CallersClock, Deadline
from prokurist.events.transaction_state import (
    REASONS,
    Transaction,
    TransactionCall,
    TransactionState,
)
from prokurist.producer.flushing import Undelivered
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

KEY: Final = "max.block.ms"
Offsets = Mapping[TopicPartition, OffsetAndMetadata]

OPEN_AS_BEFORE: Final[Mapping[TransactionCall, str]] = {
    TransactionCall.COMMIT: "No end was written, so the transaction is open as before: call "
    "commit_transaction again, or abort_transaction, or send more.",
    TransactionCall.SEND_OFFSETS: "No offsets were written, so the transaction is open as "
    "before: call it again, or go on without them.",
}
"""Texts for calls out of time that leave the transaction open; else the state's `REASONS`."""

ENDS: Final = (TransactionCall.COMMIT, TransactionCall.ABORT)

RULES: Final = GuardRules(
    "calls of transactions are made one at a time, and a signal handler makes none meanwhile",
    "calls of transactions are made by one thread at a time; any may send, flush and close",
)
"""The rules of calls of transactions, for refusals."""

ENDABLE: Final = (
    TransactionState.OPEN,
    TransactionState.UNSURE,
    TransactionState.ABORTABLE,
    TransactionState.ABORTING,
)
"""States of a transaction that can be aborted."""


class Transactions:
    """The calls of a producer with a transactional id.

    Args:
        transaction: The state.
        runner: Makes a runner for one call.
        clock: The clock of callers.
        max_block: `max.block.ms`, in seconds.
        note: Notes a callback that holds the network thread in a call's ledger.
        undelivered: Returns the records that are not delivered since a time.
    """

    def __init__(
        self,
        transaction: Transaction,
        runner: Callable[[], CallRunner],
        clock: CallersClock,
        max_block: float,
        note: Callable[[Call], None],
        undelivered: Callable[[float, float], Undelivered | None],
    ) -> None:
        self._transaction = transaction
        self._runner = runner
        self._clock = clock
        self._max_block = max_block
        self._note = note
        self._undelivered = undelivered
        self._guard = SingleThreadGuard(RULES)
        # The offsets in doubt, with their group.
        self._unsure: tuple[str, Offsets] = ("", {})

    def init(self, timeout: float | timedelta | None) -> None:
        """See `KafkaProducer.init_transactions`."""
        with self._guard.inside(TransactionCall.INIT.value):
            self._runner().drive(self.init_steps(timeout))

    def init_steps(self, timeout: float | timedelta | None) -> Steps[None]:
        """Take the steps of `init`; one such call is made at a time."""
        yield from self._ask(TransactionCall.INIT, timeout, InitTransactions)

    def begin(self) -> None:
        """See `KafkaProducer.begin_transaction`."""
        with self._guard.inside(TransactionCall.BEGIN.value):
            self._transaction.begin(TransactionCall.BEGIN)
            self._unsure = "", {}

    def send_offsets(
        self,
        offsets: Offsets,
        group: ConsumerGroupMetadata,
        timeout: float | timedelta | None,
    ) -> None:
        """See `KafkaProducer.send_offsets_to_transaction`."""
        require_offsets(offsets, group)
        with self._guard.inside(TransactionCall.SEND_OFFSETS.value):
            self._runner().drive(self.send_offsets_steps(offsets, group, timeout))

    def send_offsets_steps(
        self,
        offsets: Offsets,
        group: ConsumerGroupMetadata,
        timeout: float | timedelta | None,
    ) -> Steps[None]:
        """Take the steps of `send_offsets`."""
        kind, sent = TransactionCall.SEND_OFFSETS, dict(offsets)
        self._transaction.require(kind)
        self._require_those_in_doubt(sent, group.group_id)
        if not sent:
            return
        try:
            yield from self._ask(kind, timeout, lambda call: SendOffsets(call, group, sent))
        finally:
            if self._transaction.state is TransactionState.UNSURE:
                self._unsure = group.group_id, sent

    def commit(self, timeout: float | timedelta | None) -> None:
        """See `KafkaProducer.commit_transaction`."""
        self._end(TransactionCall.COMMIT, timeout)

    def abort(self, timeout: float | timedelta | None) -> None:
        """See `KafkaProducer.abort_transaction`."""
        self._end(TransactionCall.ABORT, timeout)

    def abort_to_close(self, deadline: Deadline) -> Steps[None]:
        """Abort an open transaction as far as the time of `close` allows.

        The coordinator aborts the rest itself, by `transaction.timeout.ms`.
        """
        if self._transaction.state in ENDABLE and not self._guard.is_taken:
            left = deadline.remaining(self._clock.now())
            with suppress(KafkaException):
                yield from self.end_steps(TransactionCall.ABORT, left)

    @property
    def is_endable(self) -> bool:
        """True if there is something to abort."""
        return self._transaction.state in ENDABLE

    @property
    def is_in_doubt(self) -> bool:
        """True if a commit has begun and has no known outcome."""
        return self._transaction.state in (
            TransactionState.COMMITTING,
            TransactionState.IN_DOUBT,
        )

    def require_begin(self) -> None:
        """Check that a transaction can begin; see `KafkaProducer.begin_transaction`."""
        self._transaction.require(TransactionCall.BEGIN)

    @property
    def is_over(self) -> bool:
        """True if the last transaction has ended, and none is open."""
        return self._transaction.state is TransactionState.READY

    def roll_back(self, error: BaseException, timeout: float | timedelta | None) -> None:
        """Abort the transaction for an error, if it can be; note a failure in the error."""
        if not self.is_endable:
            return
        try:
            self.abort(timeout)
        except KafkaException as own:
            error.add_note(f"and aborting the transaction failed: {own}")

    def _end(self, kind: TransactionCall, timeout: float | timedelta | None) -> None:
        with self._guard.inside(kind.value):
            self._runner().drive(self.end_steps(kind, timeout))

    def end_steps(
        self, kind: TransactionCall, timeout: float | timedelta | None
    ) -> Steps[None]:
        """Take the steps of `commit` or `abort`."""
        number, committed = self._transaction.number, kind is TransactionCall.COMMIT
        yield from self._ask(
            kind, timeout, lambda call: EndTransaction(call, number, committed)
        )

    def _ask(
        self,
        kind: TransactionCall,
        timeout: float | timedelta | None,
        event: Callable[[Call], ApplicationEvent],
    ) -> Steps[None]:
        """Make a call, and move the state by its end."""
        now = self._clock.now()
        deadline = Deadline.after(now, self._max_block if timeout is None else timeout)
        runner = self._runner()
        call = Call(kind.value, now, deadline, config_key=KEY, trace=runner.tracing)
        self._note(call)
        was_in_doubt = self._transaction.state is TransactionState.IN_DOUBT
        self._transaction.begin(kind)
        succeeded = False
        try:
            yield from runner.ask(call, event(call))
            succeeded = True
        except KafkaException as error:
            self._finish(kind, call, succeeded=False)
            self._tell(kind, call, error)
            if kind is TransactionCall.COMMIT and isinstance(error, ProducerFencedException):
                # A request before this answer may have committed; the id was taken behind it.
                error.may_have_happened = was_in_doubt or call.attempts > 1
            raise
        finally:
            self._finish(kind, call, succeeded=succeeded)

    def _finish(self, kind: TransactionCall, call: Call, *, succeeded: bool) -> None:
        """Move the state by the end of a call; a second time changes nothing."""
        self._transaction.end(kind, succeeded=succeeded, written=call.may_have_happened)

    def _tell(self, kind: TransactionCall, call: Call, error: KafkaException) -> None:
        """Name the state of the transaction in an error, and records that held its end up."""
        state = self._transaction.state
        if state in (TransactionState.IN_DOUBT, TransactionState.UNSURE):
            # Perhaps by the request of a call before.
            error.may_have_happened = True
        if isinstance(error, TimeoutException):
            if kind in ENDS and not call.attempts:
                self._name_undelivered(call, error)
            is_open = state is TransactionState.OPEN
            left = OPEN_AS_BEFORE.get(kind) if is_open else REASONS.get(state)
            error.args = (f"{error.args[0]} {left}",) if left else error.args

    def _name_undelivered(self, call: Call, error: TimeoutException) -> None:
        """Name the records for which the end of a transaction has waited in vain."""
        left = self._undelivered(call.began, self._clock.now())
        if left is not None:
            error.partitions = left.partitions
            error.waits = (*error.waits, *left.waits)
            error.__cause__ = error.last_error or left.last_error
            error.args = (f"{error.args[0]} {left.text}",)

    def _require_those_in_doubt(self, sent: Offsets, group_id: str) -> None:
        """Refuse offsets that leave others in doubt."""
        if self._transaction.state is not TransactionState.UNSURE:
            return
        group, unsure = self._unsure
        if group != group_id or any(sent.get(tp) != kept for tp, kept in unsure.items()):
            raise IllegalStateException(
                f"{TransactionCall.SEND_OFFSETS.value}: offsets of group {group} for "
                f"{len(unsure)} partitions are in doubt: send these again, with others if need "
                f"be, or call abort_transaction"
            )

    def __repr__(self) -> str:
        return f"Transactions({self._transaction})"


class TransactionBlock:
    """A transaction that a `with` block begins and ends.

    Args:
        transactions: The calls of the producer.
        timeout: Seconds for each call at the end of the block; None for `max.block.ms`.
    """

    __slots__ = ("_timeout", "_transactions")

    def __init__(
        self, transactions: Transactions, timeout: float | timedelta | None = None
    ) -> None:
        self._transactions = transactions
        self._timeout = timeout

    def send_offsets(
        self,
        offsets: Offsets,
        group_metadata: ConsumerGroupMetadata,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Add offsets of a consumer group; see `KafkaProducer.send_offsets_to_transaction`."""
        self._transactions.send_offsets(offsets, group_metadata, timeout)

    def __enter__(self) -> Self:
        self._transactions.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._transactions.commit(self._timeout)
                return
        except KafkaException as failure:
            error = failure
            raise
        finally:
            if error is not None:
                self._transactions.roll_back(error, self._timeout)

    def __repr__(self) -> str:
        return f"TransactionBlock({self._transactions})"


def require_offsets(offsets: object, group: object) -> None:
    """Check the arguments of `send_offsets_to_transaction`.

    Raises:
        TypeError: An argument is of a wrong type.
    """
    if not isinstance(offsets, Mapping):
        raise TypeError(f"offsets are a mapping of partitions, not {offsets!r}")
    for tp, offset in offsets.items():
        if not isinstance(tp, TopicPartition) or not isinstance(offset, OffsetAndMetadata):
            raise TypeError(
                f"offsets are OffsetAndMetadata by TopicPartition, not {offset!r} by {tp!r}"
            )
    if not isinstance(group, ConsumerGroupMetadata):
        raise TypeError(
            f"group_metadata is what consumer.group_metadata() returns, not {group!r}: without "
            f"the member, offsets of a consumer that has lost its partitions would be committed"
        )
