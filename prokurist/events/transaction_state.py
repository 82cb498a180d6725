"""States of a producer's transaction, as one table: the effect of each call in each state.

    NEW ─► INITIALISING ─► READY ─► OPEN ─► COMMITTING ─► READY
                                     │          └─► IN_DOUBT ─► COMMITTING
                                     └─► UNSURE, ABORTABLE ─► ABORTING ─► READY
    each of them ─► FATAL

Thread: both, under the lock given to the `Transaction`; reading the state needs no lock.

- Rule A: calls of the application move the state when they begin (`begin`) and when they end
  (`end`), on the thread of the caller. So the state is right when a call returns, however late
  the network thread is.
- Rule B: the network thread moves the state by errors alone (`fail`). The end of a call changes
  nothing after a failure.
- Rule C: a call out of time leaves by its ledger, which is closed once the caller has left: an
  EndTxn not written by then is never written.
"""

import threading
from collections.abc import Callable, Mapping
from copy import copy
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.errors import (
    IllegalStateException,
    KafkaException,
    ProducerInDoubtException,
)


class TransactionState(Enum):
    """States of a transaction."""

    NEW = "without an id"
    """`init_transactions` was never called."""
    INITIALISING = "being initialised"
    """`init_transactions` has begun, and has not succeeded."""
    READY = "ready"
    """No transaction is open."""
    OPEN = "open"
    UNSURE = "open, with offsets in doubt"
    """A request with offsets was written and not answered in time."""
    COMMITTING = "being committed"
    IN_DOUBT = "in doubt"
    """A request for a commit was written and not answered in time."""
    ABORTING = "being aborted"
    ABORTABLE = "to be aborted"
    """An error rules a commit out."""
    FATAL = "over for good"
    """An error ended the producer."""


class TransactionCall(Enum):
    """Public calls with rules."""

    INIT = "init_transactions"
    BEGIN = "begin_transaction"
    SEND = "send"
    SEND_OFFSETS = "send_offsets_to_transaction"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"


class Verdict(Enum):
    """Effects of a call."""

    GO = "does its work"
    RAISE = "raises the error of the state"
    REFUSE = "raises IllegalStateException"
    DOUBT = "raises ProducerInDoubtException"


S, C, V = TransactionState, TransactionCall, Verdict

REASONS: Final[Mapping[TransactionState, str]] = MappingProxyType(
    {
        S.NEW: "init_transactions comes first, once for each producer",
        S.INITIALISING: "init_transactions has not succeeded: call init_transactions again",
        S.READY: "no transaction is open: call begin_transaction",
        S.OPEN: "a transaction is open: commit_transaction or abort_transaction ends it",
        S.UNSURE: "send_offsets_to_transaction ended without an answer to its request, "
        "so the offsets are in the transaction or not: call it again with the same offsets, "
        "or abort_transaction",
        S.COMMITTING: "the transaction is being committed",
        S.IN_DOUBT: "commit_transaction ended without an answer to its request, so the "
        "transaction is committed or will be: call commit_transaction again, or close",
        S.ABORTING: "abort_transaction has not succeeded: call abort_transaction again",
    }
)
"""Refusals of calls, by state."""

ALLOWED: Final[Mapping[TransactionState, frozenset[TransactionCall]]] = MappingProxyType(
    {
        S.NEW: frozenset({C.INIT}),
        S.INITIALISING: frozenset({C.INIT}),
        S.READY: frozenset({C.BEGIN}),
        S.OPEN: frozenset({C.SEND, C.SEND_OFFSETS, C.COMMIT, C.ABORT}),
        S.UNSURE: frozenset({C.SEND, C.SEND_OFFSETS, C.ABORT}),
        S.COMMITTING: frozenset({C.COMMIT}),
        S.IN_DOUBT: frozenset({C.COMMIT}),
        S.ABORTING: frozenset({C.ABORT}),
        S.ABORTABLE: frozenset({C.ABORT}),
        S.FATAL: frozenset(),
    }
)
"""The calls that do their work, by state.

Calls of transactions are made one at a time: a commit that finds `COMMITTING` follows one that
an interrupt has ended between two of its steps.
"""

DURING: Final[Mapping[TransactionCall, TransactionState]] = MappingProxyType(
    {
        C.INIT: S.INITIALISING,
        C.BEGIN: S.OPEN,
        C.COMMIT: S.COMMITTING,
        C.ABORT: S.ABORTING,
    }
)
"""The state of each call while it lasts; the others change nothing."""

DONE: Final[Mapping[TransactionCall, TransactionState]] = MappingProxyType(
    {C.INIT: S.READY, C.SEND_OFFSETS: S.OPEN, C.COMMIT: S.READY, C.ABORT: S.READY}
)
"""The state after a success."""

UNWRITTEN: Final[Mapping[TransactionCall, TransactionState]] = MappingProxyType(
    {C.COMMIT: S.OPEN}
)
"""The state after a call without success and without a written request.

The others keep the state of the call: the next one goes on.
"""

WRITTEN: Final[Mapping[TransactionCall, TransactionState]] = MappingProxyType(
    {C.COMMIT: S.IN_DOUBT, C.SEND_OFFSETS: S.UNSURE}
)
"""The same after a request was written."""

FAILS: Final = frozenset({S.OPEN, S.UNSURE, S.COMMITTING, S.IN_DOUBT})
"""The states that an abortable error ends."""


def verdict(state: TransactionState, call: TransactionCall) -> Verdict:
    """Return the effect of a call in a state."""
    if call in ALLOWED[state]:
        return V.GO
    if state in (S.ABORTABLE, S.FATAL):
        ends_nothing = state is S.ABORTABLE and call in (C.INIT, C.BEGIN)
        return V.REFUSE if ends_nothing else V.RAISE
    return V.DOUBT if state is S.IN_DOUBT else V.REFUSE


class Transaction:
    """The present transaction of a producer.

    Args:
        lock: Guards the state.
        changed: Called with the lock after each change.

    Attributes:
        state: Its state.
        error: The error of `ABORTABLE` and `FATAL`; None in other states.
        number: Number of the transaction, from 1; 0 before the first.
    """

    def __init__(
        self, lock: threading.RLock, changed: Callable[[], object] = lambda: None
    ) -> None:
        self._lock = lock
        self._changed = changed
        self._before = S.NEW
        self.state: TransactionState = S.NEW
        self.error: KafkaException | None = None
        self.number: int = 0

    # --- application threads ----------------------------------------------------------------

    def begin(self, call: TransactionCall) -> None:
        """Begin a call.

        Raises:
            IllegalStateException: The state rules the call out; the text has the way out.
            KafkaException: The error that ended the transaction, or the producer.
        """
        with self._lock:
            self.require(call)
            self._before = self.state
            if call is C.BEGIN:
                self.number += 1
            self._move(DURING.get(call, self.state))

    def end(self, call: TransactionCall, *, succeeded: bool, written: bool = False) -> None:
        """End a call.

        Args:
            call: The call.
            succeeded: True for a return, False for an exception.
            written: True if a request of it was written, and may have had an effect.
        """
        with self._lock:
            if self.state is not DURING.get(call, self._before):
                return  # Rule B: an error came first.
            if succeeded:
                self._move(DONE.get(call, self.state))
            elif written or self._before in (S.IN_DOUBT, S.COMMITTING):
                self._move(WRITTEN.get(call, self.state))
            else:
                self._move(UNWRITTEN.get(call, self.state))

    def require(self, call: TransactionCall) -> None:
        """Check that the state allows a call.

        Raises:
            IllegalStateException: The state rules the call out; the text has the way out.
            KafkaException: The error that ended the transaction, or the producer.
        """
        state, error = self.state, self.error
        match verdict(state, call):
            case V.GO:
                return
            case V.RAISE if error is not None:
                raise copy(error)
            case V.DOUBT:
                raise ProducerInDoubtException(f"{call.value}: {REASONS[state]}")
            case _:
                reason = REASONS.get(state) or (
                    f"the transaction has failed ({error}): abort_transaction ends it"
                )
                raise IllegalStateException(f"{call.value}: {reason}")

    def require_send(self) -> None:
        """Check that records may be sent; see `require`."""
        self.require(C.SEND)

    @property
    def takes_records(self) -> bool:
        """True if records may be sent."""
        return C.SEND in ALLOWED[self.state]

    @property
    def writes_records(self) -> bool:
        """True if records that were sent may be written to brokers."""
        return self.state in FAILS

    # --- the network thread -----------------------------------------------------------------

    def fail(self, error: KafkaException) -> None:
        """Note an error of the transaction, or of the producer if the error is fatal."""
        with self._lock:
            if self.state is S.FATAL or (not error.fatal and self.state not in FAILS):
                return
            error.abortable = not error.fatal
            self.error = error
            self._move(S.FATAL if error.fatal else S.ABORTABLE)

    def _move(self, state: TransactionState) -> None:
        """Change the state; the lock is held."""
        if state is self.state:
            return
        if state not in (S.ABORTABLE, S.FATAL):
            self.error = None
        self.state = state
        self._changed()

    def __repr__(self) -> str:
        return f"Transaction({self.number}, {self.state.value})"
