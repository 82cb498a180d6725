"""Begins, feeds and ends transactions with their coordinator.

Thread: the network thread alone.

- Ends wait until nothing of the transaction is on its way; a commit has everything delivered
  first, an abort fails all records not on the wire. So no batch follows the marker of its end.
- An end out of time is repeated with the same numbers. A coordinator answers a repetition like
  the first request, with the same next epoch.
- Coordinators alone say that another producer has the id: leaders refuse a batch of an epoch
  before in the same way after the coordinator's own abort, by
  `transaction.timeout.ms`. By the protocol of `transaction.version` 2 an abort then brings the
  next epoch; before, the producer is over.
"""

from copy import copy
from typing import Final, NamedTuple, TypeVar

from prokurist.errors import (
    ClusterAuthorizationException,
    InvalidPidMappingException,
    InvalidProducerEpochException,
    InvalidTxnStateException,
    KafkaException,
    OutOfOrderSequenceException,
    ProducerFencedException,
    TopicAuthorizationException,
    TransactionAbortableException,
    TransactionAbortedException,
    TransactionalIdAuthorizationException,
    TransactionTimedOutException,
    UnsupportedVersionException,
)
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.application_events import (
    EndTransaction,
    InitTransactions,
    SendOffsets,
)
from prokurist.events.call import Call
from prokurist.events.producer_log_events import TRANSACTION_FAILED
from prokurist.events.trace import Trace
from prokurist.network_thread.broker_errors import (
    TOPIC_AUTHORIZATION_FAILED,
    offsets_error,
    topics_of,
)
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.cluster.coordinators import Coordinator, Coordinators
from prokurist.network_thread.connections.features import Features
from prokurist.network_thread.error_actions import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_TRANSACTIONS,
    TXN_OFFSET_COMMIT,
    ErrorTable,
)
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.timer import Timer, nothing
from prokurist.network_thread.produce.endings import Endings
from prokurist.network_thread.produce.manager import ProduceManager
from prokurist.network_thread.produce.producer_ids import ProducerId
from prokurist.network_thread.produce.transactions.ids import TransactionalIds
from prokurist.network_thread.produce.transactions.open_time import OpenTransactionWatch
from prokurist.network_thread.produce.transactions.requests import (
    Failures,
    TransactionRequest,
)
from prokurist.network_thread.produce.transactions.writes import TransactionWrites
from prokurist.network_thread.wire.metadata import CoordinatorOf
from prokurist.network_thread.wire.produce import InitProducerId, ProducerIdAnswer
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnAnswer,
    TransactionalProducer,
    TxnOffsetCommit,
)

Response = TypeVar("Response")

FATAL: Final = (
    ClusterAuthorizationException,
    InvalidPidMappingException,
    ProducerFencedException,
    TransactionalIdAuthorizationException,
    UnsupportedVersionException,
)
"""Errors that end the producer, whatever they answer."""

RULED_OUT: Final = (
    *FATAL,
    InvalidProducerEpochException,
    InvalidTxnStateException,
    TransactionAbortableException,
)
"""Answers to the end of a transaction that no repetition changes."""


class TransactionTools(NamedTuple):
    """Parts of the network side that transactions use.

    Attributes:
        coordinators: The coordinators.
        attempts: Asks them.
        features: The features of the cluster.
        timer: The Timer.
        trace: The client's trace.
    """

    coordinators: Coordinators
    attempts: Attempts
    features: Features
    timer: Timer
    trace: Trace


class TransactionManager:
    """Works for the calls of transactions.

    Args:
        timeout: `transaction.timeout.ms`, in seconds.
        writes: The requests of the present transaction.
        ids: The present id and epoch.
        produce: Sends batches.
        accumulator: Batches not yet delivered.
        endings: Ends of batches.
        tools: The network side.
    """

    def __init__(
        self,
        timeout: float,
        writes: TransactionWrites,
        ids: TransactionalIds,
        produce: ProduceManager,
        accumulator: RecordAccumulator,
        endings: Endings,
        tools: TransactionTools,
    ) -> None:
        self._transaction = writes.transaction
        self._timeout = timeout
        self._writes = writes
        self._ids = ids
        self._produce = produce
        self._accumulator = accumulator
        self._timer = tools.timer
        self._coordinators = tools.coordinators
        self._attempts = tools.attempts
        self._features = tools.features
        self._trace = tools.trace
        self._coordinator: Coordinator = tools.coordinators.of(
            CoordinatorOf.TRANSACTION, writes.transactional_id
        )
        self._watch = OpenTransactionWatch(timeout, writes, tools.timer, tools.trace)
        self._counters = endings.counters
        self._adding: Operation[None] | None = None
        # Ends that wait for deliveries; True for commits, which end with the first failure.
        self._draining: dict[Promise[None], bool] = {}
        # The number of the transaction that was ended last, by a request.
        self._ended = 0
        # The number of one that was aborted, and needs another epoch yet.
        self._aborted = 0
        endings.failed.connect(self._on_failed)
        ids.exhausted.connect(self._on_exhausted)

    def handlers(self) -> Handlers:
        """Return the events of transactions."""
        return {
            InitTransactions: lambda event: self._init(event.call),
            SendOffsets: self._send_offsets,
            EndTransaction: self._end,
        }

    def poll(self) -> None:
        """Fail records ruled out by an abort, have partitions added, and go on with ends."""
        transaction = self._transaction
        self._watch.look()
        if not transaction.writes_records:
            self._stop_adding()
            if not self._accumulator.is_empty:
                self._give_up_unsent()
        elif self._writes.missing and self._adding is None:
            adding = Operation(self._add(), "AddPartitionsToTxn", self._added)
            self._adding = None if adding.ended else adding
        for waiting, is_commit in tuple(self._draining.items()):
            if is_commit and transaction.error is not None:
                waiting.break_(copy(transaction.error))
            elif self._produce.is_idle:
                waiting.keep(None)

    def close(self) -> None:
        """Stop asking."""
        self._watch.close()
        self._stop_adding()

    # --- ids --------------------------------------------------------------------------------

    async def _init(self, call: Call) -> None:
        """Get an id and epoch; this fences former producers with the transactional id."""
        try:
            await self._ask_for_id(call, None)
        except UnsupportedVersionException as error:
            raise self._fail(self._without_transactions(error)) from error
        self._begin_again()

    def _without_transactions(self, error: KafkaException) -> KafkaException:
        """The error for brokers that have no transactions."""
        own = UnsupportedVersionException(
            f"transactional.id={self._writes.transactional_id} takes brokers with "
            f"transactions, Kafka 2.5 or newer: {error}"
        )
        own.fatal = True
        return own

    async def _ask_for_id(self, call: Call, own: ProducerId | None) -> None:
        """Get an id, or the next epoch of the own one.

        The coordinator answers a repetition with the own numbers by the same epoch.
        """
        request = InitProducerId(self._writes.transactional_id, self._timeout)
        if own is not None:
            request = InitProducerId(
                self._writes.transactional_id, self._timeout, own.id, own.epoch
            )
        answer: ProducerIdAnswer = await self._ask(call, request, INIT_TRANSACTIONS)
        self._ids.give(ProducerId(answer.producer_id, answer.epoch))

    @property
    def _producer(self) -> TransactionalProducer:
        """The producer, as requests name it."""
        own = self._ids.own
        if own is None:
            raise AssertionError(f"{self!r} has no producer id")
        return TransactionalProducer(self._writes.transactional_id, *own)

    def _begin_again(self) -> None:
        """Forget the transaction before, and choose the protocol of the next."""
        self._writes.begin_again(implicit=self._features.implicit_transactions)

    # --- records ----------------------------------------------------------------------------

    async def _add(self) -> None:
        """Add partitions with batches that wait; see `TransactionWrites`."""
        writes = self._writes
        while writes.missing:
            asked = dict(writes.missing)
            writes.written(self._timer.now)
            await self._ask(
                None,
                AddPartitionsToTxn(self._producer, tuple(asked)),
                ADD_PARTITIONS_TO_TXN,
            )
            writes.is_added = True
            writes.added.update(asked)
            for tp, partition in asked.items():
                writes.missing.pop(tp, None)
                self._produce.stir(partition)

    def _added(self, _nothing: None, error: KafkaException | None) -> None:
        self._adding = None
        if isinstance(error, Withdrawn):
            # A partition may be added all the same, after the end of this transaction.
            self._writes.numbers_lost = True
        elif error is not None:
            self._fail(self._judged(error))

    def _stop_adding(self) -> None:
        self._writes.missing.clear()
        if self._adding is not None:
            self._adding.throw(Withdrawn("the transaction is over"))

    def _give_up_unsent(self) -> None:
        """Fail records of a transaction that is not going to be committed.

        The application may have begun the next one since the caller of this has looked at the
        state. So the state is looked at behind the batches: what was sent before, in a state
        that writes no records, is of no transaction that can still be committed.
        """
        unsent = self._accumulator.snapshot()
        if not unsent or self._transaction.writes_records:
            return
        error = TransactionAbortedException("not sent: its transaction is aborted")
        if self._transaction.error is not None:
            error = TransactionAbortedException(
                f"not sent: its transaction has failed ({self._transaction.error})"
            )
            error.__cause__ = self._transaction.error
        self._produce.purge(error, everything=False, among=unsent)

    def _on_failed(self, batch: Batch, error: KafkaException) -> None:
        """A batch has failed: no commit may leave records out."""
        self._writes.numbers_lost |= batch.numbers is not None
        if self._transaction.writes_records:
            self._fail(self._judged(error))

    def _on_exhausted(self) -> None:
        self._writes.numbers_lost = True
        self._fail(OutOfOrderSequenceException("the numbers of a partition have a gap"))

    # --- offsets ----------------------------------------------------------------------------

    async def _send_offsets(self, event: SendOffsets) -> None:
        """Add offsets of a group; the group's coordinator keeps them until the end."""
        call, writes, group = event.call, self._writes, event.group.group_id
        began = self._timer.now
        try:
            if not writes.implicit and group not in writes.groups:
                await self._ask(
                    call,
                    AddOffsetsToTxn(self._producer, group),
                    ADD_OFFSETS_TO_TXN,
                    effect=False,
                    group=group,
                )
                writes.groups.add(group)
                writes.is_added = True
            await self._ask(
                call,
                TxnOffsetCommit(
                    self._producer,
                    event.group,
                    tuple(sorted(event.offsets.items())),
                    adds_group=writes.implicit,
                ),
                TXN_OFFSET_COMMIT,
                self._coordinators.of(CoordinatorOf.GROUP, group),
                group=group,
            )
            writes.is_added = True
        except Withdrawn:
            raise
        except KafkaException as error:
            failure = self._judged(error)
        else:
            return
        finally:
            if call.attempts:
                writes.written(began)
        raise self._fail(failure)

    # --- ends -------------------------------------------------------------------------------

    async def _end(self, event: EndTransaction) -> None:
        if self._ended == event.number:
            return  # The answer came in the moment in which its caller left.
        since = self._writes.open_since
        if event.committed:
            await self._commit(event.call, event.number)
        else:
            await self._abort(event.call, event.number)
        self._counters.transacted(
            "committed" if event.committed else "aborted",
            None if since is None else self._timer.now - since,
        )

    async def _commit(self, call: Call, number: int) -> None:
        """Have everything delivered, then commit."""
        await self._drain(call, is_commit=True)
        if self._writes.open_since is None:
            self._begin_again()
            return
        self._writes.is_added |= self._writes.has_records
        try:
            answer = await self._ask_to_end(call, committed=True)
        except RULED_OUT as error:
            failure = self._judged_end(error)
        else:
            self._take_next(answer, number)
            return
        raise self._fail(failure)

    async def _abort(self, call: Call, number: int) -> None:
        """Wait until nothing is on the wire, then abort; get another epoch where need is."""
        await self._drain(call, is_commit=False)
        writes = self._writes
        if writes.open_since is None:
            self._begin_again()
            return
        try:
            if self._aborted != number:
                try:
                    answer = await self._ask_to_end(call, committed=False)
                except InvalidTxnStateException:
                    # Nothing was ever added: without a transaction there is nothing to abort.
                    if writes.implicit or writes.is_added:
                        raise
                    answer = EndTxnAnswer(0)
                if writes.implicit or not writes.numbers_lost:
                    self._take_next(answer, number)
                    return
                self._aborted = number
            await self._ask_for_id(call, self._ids.own)
        except RULED_OUT as error:
            failure = self._fenced(error)
        else:
            self._ended = number
            self._begin_again()
            return
        raise self._fail(failure)

    async def _ask_to_end(self, call: Call, *, committed: bool) -> EndTxnAnswer:
        request = EndTxn(
            self._producer, committed=committed, raises_epoch=self._writes.implicit
        )
        return await self._ask(call, request, END_TXN)

    def _take_next(self, answer: EndTxnAnswer, number: int) -> None:
        """Go on with the epoch of the next transaction."""
        if answer.producer_id is not None and answer.epoch is not None:
            self._ids.give(ProducerId(answer.producer_id, answer.epoch))
        self._ended = number
        self._begin_again()

    async def _drain(self, call: Call, *, is_commit: bool) -> None:
        """Wait until no record of the transaction is on its way.

        Raises:
            KafkaException: A record has failed: no commit is possible.
        """
        waiting = Promise[None]()
        self._draining[waiting] = is_commit
        call.wait_begins("the records of the transaction", self._timer.now)
        # Nothing lingers meanwhile.
        self._accumulator.flushing.add(waiting)
        try:
            await waiting
        finally:
            self._accumulator.flushing.discard(waiting)
            del self._draining[waiting]
            call.wait_ends(self._timer.now)

    # --- errors -----------------------------------------------------------------------------

    async def _ask(
        self,
        call: Call | None,
        request: Request[Response],
        table: ErrorTable,
        route: Coordinator | None = None,
        *,
        effect: bool = True,
        group: str = "",
    ) -> Response:
        """Repeat a request until a coordinator has done it."""

        def explain(code: int, failed: Failures) -> KafkaException:
            if code == TOPIC_AUTHORIZATION_FAILED and not group:
                return topics_refused(failed, code)
            return offsets_error(table, code, failed, group)

        asked = TransactionRequest(
            request,
            table,
            route or self._coordinator,
            call,
            effect=effect,
            explain=explain,
        )
        try:
            await self._attempts.ask(route or self._coordinator, asked)
        except TransactionalIdAuthorizationException as error:
            raise self._without_right(error) from error
        return asked.answered

    def _without_right(self, error: KafkaException) -> KafkaException:
        """The error of a user without the right to the transactional id, which it names."""
        own = TransactionalIdAuthorizationException(
            f"not allowed to use transactional.id={self._writes.transactional_id}: the right "
            f"to write to it is missing"
        )
        own.__cause__ = error
        return own

    def _fail(self, error: KafkaException) -> KafkaException:
        """End the transaction, or the producer, by an error; return the error."""
        before = self._transaction.state
        if self._writes.open_since is not None:
            self._writes.numbers_lost = True
        self._transaction.fail(error)
        if self._transaction.state is not before:
            # An error met in writing comes behind `poll`, which fails records and commits.
            self._timer.after(0.0, "a transaction that has failed", nothing)
            self._trace.emit(
                TRANSACTION_FAILED,
                id=self._writes.transactional_id,
                error=error,
                way_out="close the producer" if error.fatal else "abort the transaction",
            )
        # The state keeps the error; the call has one of its own.
        return copy(error)

    def _judged(self, error: KafkaException) -> KafkaException:
        """The error of the transaction for that of a batch, a partition, or offsets."""
        if isinstance(error, ProducerFencedException):
            return self._fenced(error)
        if isinstance(error, InvalidProducerEpochException) and self._is_late:
            return self._timed_out(error, is_over=not self._writes.implicit)
        if error.retriable:
            own: KafkaException = TransactionAbortableException(
                f"part of the transaction was not written in time, so it cannot be committed: "
                f"{error}"
            )
            own.__cause__ = error
            return own
        own = copy(error)
        if isinstance(error, TransactionalIdAuthorizationException):
            own = self._without_right(error)
        own.fatal, own.may_have_happened = isinstance(error, FATAL), False
        return own

    def _judged_end(self, error: KafkaException) -> KafkaException:
        """The same for an answer to a commit.

        INVALID_TXN_STATE: the coordinator has aborted the transaction; or it never knew of any
        part, so only the commit is impossible.
        """
        if isinstance(error, InvalidTxnStateException) and self._writes.is_added:
            if self._is_late:
                return self._timed_out(error, is_over=not self._writes.implicit)
            return self._forgotten(error)
        if isinstance(error, InvalidTxnStateException | TransactionAbortableException):
            return self._judged(error)
        return self._fenced(error)

    def _fenced(self, error: KafkaException) -> KafkaException:
        """The error of a coordinator that ends the producer."""
        is_epoch = isinstance(error, ProducerFencedException | InvalidProducerEpochException)
        if is_epoch and self._is_late and not self._writes.implicit:
            return self._timed_out(error, is_over=True)
        own = copy(error)
        if is_epoch:
            own = ProducerFencedException(
                f"another producer has begun with transactional.id="
                f"{self._writes.transactional_id}: close this one, and give each producer that "
                f"runs an id of its own"
            )
        own.fatal = True
        return own

    @property
    def _is_late(self) -> bool:
        """True if the coordinator may have aborted the transaction by its timeout."""
        return self._open_for >= self._timeout

    @property
    def _open_for(self) -> float:
        """Seconds since the first request of the transaction."""
        since = self._writes.open_since
        return 0.0 if since is None else self._timer.now - since

    def _forgotten(self, error: KafkaException) -> KafkaException:
        """The error for a transaction unknown to its coordinator before its timeout."""
        own = InvalidTxnStateException(
            f"the coordinator of transactional.id={self._writes.transactional_id} knows of no "
            f"open transaction, and this one has begun {self._open_for:.1f} s ago: it was "
            f"ended from elsewhere, or the coordinator has lost it; `prokurist doctor` tells "
            f"whether it is still open in a topic"
        )
        own.__cause__ = error
        own.fatal = not self._writes.implicit
        return own

    def _timed_out(self, error: KafkaException, *, is_over: bool) -> KafkaException:
        """The error for a transaction that the coordinator has aborted."""
        way_out = "abort_transaction, and begin again"
        if is_over:
            way_out = (
                "the producer is over with it, as brokers below transaction.version 2 have it, "
                "or another producer has this transactional.id: close, and build another"
            )
        own = TransactionTimedOutException(
            f"the transaction was open for {self._open_for:.1f} s, longer than "
            f"transaction.timeout.ms={self._timeout * 1000:.0f} allows, and its coordinator "
            f"has aborted it, so nothing of it is visible: {way_out}",
            open_for=self._open_for,
            timeout=self._timeout,
        )
        own.__cause__ = error
        own.fatal = is_over
        return own

    def __repr__(self) -> str:
        return f"TransactionManager({self._transaction}, {self._writes})"


def topics_refused(failed: Failures, code: int) -> KafkaException:
    """The exception for partitions that a transaction may not write to."""
    topics = topics_of(tp for tp, each in failed.items() if each == code)
    return TopicAuthorizationException(
        f"not allowed to write to {', '.join(topics)}: the right to write is missing",
        topics=topics,
    )
