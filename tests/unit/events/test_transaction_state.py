"""The table of a transaction's states: each call in each state, and each end of each call."""

import threading
from itertools import product

import pytest

from prokurist.errors import (
    IllegalStateException,
    InvalidTxnStateException,
    KafkaException,
    ProducerFencedException,
    ProducerInDoubtException,
)
from prokurist.events.transaction_state import (
    REASONS,
    Transaction,
    TransactionCall,
    TransactionState,
    Verdict,
    verdict,
)

S, C, V = TransactionState, TransactionCall, Verdict
CALLS = (C.INIT, C.BEGIN, C.SEND, C.SEND_OFFSETS, C.COMMIT, C.ABORT)

TABLE = {
    #               init      begin     send      offsets   commit    abort
    S.NEW: (V.GO, V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE),
    S.INITIALISING: (V.GO, V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE),
    S.READY: (V.REFUSE, V.GO, V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE),
    S.OPEN: (V.REFUSE, V.REFUSE, V.GO, V.GO, V.GO, V.GO),
    S.UNSURE: (V.REFUSE, V.REFUSE, V.GO, V.GO, V.REFUSE, V.GO),
    S.COMMITTING: (V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE, V.GO, V.REFUSE),
    S.IN_DOUBT: (V.DOUBT, V.DOUBT, V.DOUBT, V.DOUBT, V.GO, V.DOUBT),
    S.ABORTING: (V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE, V.REFUSE, V.GO),
    S.ABORTABLE: (V.REFUSE, V.REFUSE, V.RAISE, V.RAISE, V.RAISE, V.GO),
    S.FATAL: (V.RAISE, V.RAISE, V.RAISE, V.RAISE, V.RAISE, V.RAISE),
}

ENDS = {
    # (state before, call): after a success, a failure unwritten, a failure written
    (S.NEW, C.INIT): (S.READY, S.INITIALISING, S.INITIALISING),
    (S.INITIALISING, C.INIT): (S.READY, S.INITIALISING, S.INITIALISING),
    (S.READY, C.BEGIN): (S.OPEN, S.OPEN, S.OPEN),
    (S.OPEN, C.SEND): (S.OPEN, S.OPEN, S.OPEN),
    (S.UNSURE, C.SEND): (S.UNSURE, S.UNSURE, S.UNSURE),
    (S.OPEN, C.SEND_OFFSETS): (S.OPEN, S.OPEN, S.UNSURE),
    (S.UNSURE, C.SEND_OFFSETS): (S.OPEN, S.UNSURE, S.UNSURE),
    (S.OPEN, C.COMMIT): (S.READY, S.OPEN, S.IN_DOUBT),
    (S.COMMITTING, C.COMMIT): (S.READY, S.IN_DOUBT, S.IN_DOUBT),
    (S.IN_DOUBT, C.COMMIT): (S.READY, S.IN_DOUBT, S.IN_DOUBT),
    (S.OPEN, C.ABORT): (S.READY, S.ABORTING, S.ABORTING),
    (S.UNSURE, C.ABORT): (S.READY, S.ABORTING, S.ABORTING),
    (S.ABORTING, C.ABORT): (S.READY, S.ABORTING, S.ABORTING),
    (S.ABORTABLE, C.ABORT): (S.READY, S.ABORTING, S.ABORTING),
}


def in_state(state: TransactionState) -> Transaction:
    """Make a transaction in a state, by the error of that where there is one."""
    made = Transaction(threading.RLock())
    made.state = state
    if state is S.ABORTABLE:
        made.error = InvalidTxnStateException("lost")
    if state is S.FATAL:
        made.error = ProducerFencedException("fenced")
    return made


@pytest.mark.parametrize("state", S)
def test_each_call_has_its_effect_in_each_state(state: TransactionState) -> None:
    """B540: the table says for each call in each state whether it works, and what it raises."""
    assert tuple(verdict(state, call) for call in CALLS) == TABLE[state]


@pytest.mark.parametrize(("state", "call"), [*product(S, CALLS)], ids=str)
def test_a_refused_call_changes_nothing(state: TransactionState, call: TransactionCall) -> None:
    """B540: it raises the error of the state, or one that names the call and the way out."""
    transaction = in_state(state)
    expected = {
        V.REFUSE: IllegalStateException,
        V.DOUBT: ProducerInDoubtException,
        V.RAISE: type(transaction.error),
    }
    effect = verdict(state, call)
    if effect is V.GO:
        transaction.require(call)
        return
    with pytest.raises(KafkaException) as raised:
        transaction.begin(call)
    assert type(raised.value) is expected[effect]
    assert raised.value is not transaction.error
    assert (transaction.state, transaction.number) == (state, 0)
    if effect is not V.RAISE:
        assert str(raised.value).startswith(f"{call.value}: ")
        assert REASONS.get(state, "abort_transaction") in str(raised.value)


def test_each_call_that_works_has_its_ends() -> None:
    """The table of ends has a row for each call that does its work."""
    assert set(ENDS) == {
        (state, call) for state, call in product(S, CALLS) if verdict(state, call) is V.GO
    }


@pytest.mark.parametrize(("state", "call"), ENDS, ids=str)
@pytest.mark.parametrize("end", range(3), ids=("succeeded", "unwritten", "written"))
def test_each_end_of_a_call_leads_to_its_state(
    state: TransactionState, call: TransactionCall, end: int
) -> None:
    """B541: a commit unwritten leaves the transaction open, and one written in doubt."""
    transaction = in_state(state)
    transaction.begin(call)
    transaction.end(call, succeeded=end == 0, written=end == 2)
    assert transaction.state is ENDS[state, call][end]
    assert (transaction.error is None) == (transaction.state not in (S.ABORTABLE, S.FATAL))


@pytest.mark.parametrize("state", S)
def test_an_abortable_error_counts_while_a_transaction_is_open(state: TransactionState) -> None:
    """B542: it rules the commit out; outside of an open transaction it changes nothing."""
    transaction = in_state(state)
    before = transaction.error
    error = InvalidTxnStateException("late")
    transaction.fail(error)
    if state in (S.OPEN, S.UNSURE, S.COMMITTING, S.IN_DOUBT):
        assert (transaction.state, transaction.error) == (S.ABORTABLE, error)
        assert error.abortable
        with pytest.raises(InvalidTxnStateException) as raised:
            transaction.require_send()
        assert (raised.value.abortable, raised.value.fatal) == (True, False)
    else:
        assert (transaction.state, transaction.error) == (state, before)


@pytest.mark.parametrize("state", S)
def test_a_fatal_error_ends_the_producer_in_each_state(state: TransactionState) -> None:
    """B543: every later call raises it; the first one stays."""
    transaction = in_state(state)
    first = transaction.error if state is S.FATAL else ProducerFencedException("fenced")
    transaction.fail(first or ProducerFencedException("fenced"))
    transaction.fail(ProducerFencedException("again"))
    assert (transaction.state, transaction.error) == (S.FATAL, first)
    assert first is not None
    assert not first.abortable
    for call in CALLS:
        with pytest.raises(ProducerFencedException) as raised:
            transaction.begin(call)
        assert raised.value.fatal


@pytest.mark.parametrize("call", [C.INIT, C.SEND_OFFSETS, C.COMMIT, C.ABORT])
@pytest.mark.parametrize("fatal", [False, True])
def test_an_error_during_a_call_outlives_its_end(call: TransactionCall, fatal: bool) -> None:  # noqa: FBT001
    """B542: whichever end the call has then, the state is that of the error."""
    for succeeded, written in product((False, True), repeat=2):
        transaction = in_state(S.NEW if call is C.INIT else S.OPEN)
        transaction.begin(call)
        error = ProducerFencedException("no") if fatal else InvalidTxnStateException("no")
        transaction.fail(error)
        transaction.end(call, succeeded=succeeded, written=written)
        if fatal:
            assert transaction.state is S.FATAL
        elif call in (C.SEND_OFFSETS, C.COMMIT):
            assert transaction.state is S.ABORTABLE


def test_transactions_are_numbered() -> None:
    """Each begin counts, and nothing else does."""
    transaction = in_state(S.READY)
    for number in (1, 2):
        transaction.begin(C.BEGIN)
        transaction.end(C.BEGIN, succeeded=True)
        assert (transaction.number, transaction.state) == (number, S.OPEN)
        transaction.begin(C.COMMIT)
        transaction.end(C.COMMIT, succeeded=True)


def test_each_change_is_told_under_the_lock() -> None:
    """The gate of `send` is set before a call returns, and for changes alone."""
    told = []
    lock = threading.RLock()
    transaction = Transaction(lock, lambda: told.append((transaction.state, lock._is_owned())))  # type: ignore[attr-defined]
    transaction.begin(C.INIT)
    transaction.end(C.INIT, succeeded=False)
    transaction.begin(C.INIT)
    transaction.end(C.INIT, succeeded=True)
    transaction.begin(C.BEGIN)
    transaction.begin(C.SEND_OFFSETS)
    transaction.end(C.SEND_OFFSETS, succeeded=True)
    assert told == [(S.INITIALISING, True), (S.READY, True), (S.OPEN, True)]


def test_records_are_taken_and_written_by_state() -> None:
    """Sends of open transactions alone; a commit writes what was sent before."""
    takes = {each for each in S if in_state(each).takes_records}
    writes = {each for each in S if in_state(each).writes_records}
    assert takes == {S.OPEN, S.UNSURE}
    assert writes == {S.OPEN, S.UNSURE, S.COMMITTING, S.IN_DOUBT}
