"""Wake-ups and interrupts in the waits of a consumer whose real Kafka has frozen."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from prokurist import OffsetAndMetadata, WakeupException, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking, Ours
from tests.broker.watching import (
    AT_ONCE,
    Watch,
    after,
    handling,
    interrupt,
    send,
    soon,
    waiting,
    when,
)
from tests.every_call import ALL, TP, UNKNOWN, WAITING

pytestmark = pytest.mark.kafka


@contextmanager
def signalled(handler: Callable[[], object]) -> Iterator[None]:
    """Have a signal interrupt this thread as soon as a call waits."""
    with handling(handler), when(waiting, send):
        yield


def test_a_wakeup_from_another_thread_ends_every_wait(
    ours: Ours, orders: RealKafka, eventually: Asking
) -> None:
    """B167, B169, B173: within milliseconds, and nothing of the call is left."""
    consumer = ours()
    orders.freeze()
    for call in WAITING.values():
        with Watch(0.15), after(0.15, consumer.wakeup), pytest.raises(WakeupException):
            call(consumer, 25)
    consumer.unsubscribe()
    eventually(lambda: consumer.health().waiting_calls == 0)


def test_a_wakeup_from_a_signal_handler_ends_every_wait(ours: Ours, orders: RealKafka) -> None:
    """B168: in the middle of a call of the thread that it interrupts, without a deadlock."""
    consumer = ours()
    orders.freeze()
    for call in WAITING.values():
        with Watch(0.0), signalled(consumer.wakeup), pytest.raises(WakeupException):
            call(consumer, 25)


def test_wakeups_before_a_call_end_it_once(ours: Ours) -> None:
    """B168, B171: several are one; the call after it works, and so does all else."""
    consumer = ours()
    for call in WAITING.values():
        consumer.wakeup()
        consumer.wakeup()
        with Watch(0.0), pytest.raises(WakeupException):
            call(consumer, 20)
        assert TP in consumer.committed(TP, timeout=20)


def test_a_wakeup_in_the_wait_for_earlier_commits(ours: Ours, orders: RealKafka) -> None:
    """B169: the other phase of `commit_sync`; the earlier commit goes on."""
    consumer = ours()
    orders.freeze()
    told: list[object] = []
    consumer.commit_async({TP: OffsetAndMetadata(5)}, lambda _, error: told.append(error))
    with Watch(0.15), after(0.15, consumer.wakeup), pytest.raises(WakeupException):
        consumer.commit_sync({}, timeout=25)
    orders.thaw()
    consumer.commit_sync({}, timeout=20)
    assert told == [None]
    assert consumer.committed(TP, timeout=20) == {TP: OffsetAndMetadata(5)}


def test_a_result_that_is_there_is_kept_and_the_wakeup_waits(
    ours: Ours, orders: RealKafka
) -> None:
    """B172: answered while a signal handler held the caller, who was woken then."""
    consumer = ours()

    def hold_and_wake() -> None:
        orders.thaw()
        while consumer.health().waiting_calls:
            time.sleep(0.01)
        consumer.wakeup()

    orders.freeze()
    with (
        handling(hold_and_wake),
        when(lambda: waiting() and consumer.health().waiting_calls, send),
    ):
        assert consumer.committed(TP, timeout=60) == {TP: None}
    with pytest.raises(WakeupException):
        consumer.poll(20)
    assert not consumer.poll(0.05)


def test_neither_unsubscribe_nor_close_is_woken(ours: Ours, orders: RealKafka) -> None:
    """B170, B186: with a wake-up pending, and with one while close waits for a commit."""
    consumer = ours()
    consumer.wakeup()
    consumer.unsubscribe()
    orders.freeze()
    told: list[object] = []
    consumer.commit_async({TP: OffsetAndMetadata(5)}, lambda _, error: told.append(error))
    wake, thaw = after(0.1, consumer.wakeup), after(0.4, orders.thaw)
    with Watch(0.4, AT_ONCE), wake, thaw:
        consumer.close(20)
    assert told == [None]
    consumer.wakeup()


def test_an_interrupt_unwinds_every_wait(ours: Ours, orders: RealKafka) -> None:
    """B174: Ctrl-C ends it at once; the consumer goes on, and closes."""
    consumer = ours()
    orders.freeze()
    for call in WAITING.values():
        # Wherever this thread is by then: else it would end the test run.
        with pytest.raises(KeyboardInterrupt), Watch(0.15), after(0.15, interrupt):
            call(consumer, 25)
    orders.thaw()
    assert TP in consumer.committed(TP, timeout=20)
    assert consumer.position(UNKNOWN, timeout=20) == 0
    with soon():
        consumer.close()


def test_an_interrupt_in_close_is_raised_when_all_is_closed(
    ours: Ours, orders: RealKafka, eventually: Asking
) -> None:
    """B187: the wait is cut short, the resources are released, then it is raised."""
    consumer = ours()
    orders.freeze()
    consumer.commit_async({TP: OffsetAndMetadata(5)})
    with (
        pytest.raises(KeyboardInterrupt),
        Watch(0.0),
        when(waiting, interrupt),
    ):
        consumer.close(25)
    eventually(lambda: not consumer.health().alive)
    consumer.close()


def test_another_thread_is_refused(ours: Ours, orders: RealKafka) -> None:
    """B175: every call while a poll waits; the poll waits on, with real threads."""
    consumer = ours()
    orders.freeze()
    refused: list[str] = []

    def others() -> None:
        for name, call in ALL.items():
            try:
                call(consumer, 1)
            except errors.ConcurrentModificationException:
                refused.append(name)
        consumer.wakeup()

    with when(waiting, others), pytest.raises(WakeupException):
        consumer.poll(60)
    assert refused == list(ALL)


def test_a_handler_that_calls_anything_else_is_told_what_to_call(
    ours: Ours, orders: RealKafka
) -> None:
    """B175: one thread at a time, and one call of it: IllegalState that names `wakeup`."""
    consumer = ours()
    orders.freeze()
    told: list[str] = []

    def handler() -> None:
        try:
            consumer.close()
        except errors.IllegalStateException as error:
            told.append(str(error))

    with Watch(1.0), signalled(handler):
        assert not consumer.poll(1.0)
    assert told == [
        "close inside poll of the same thread: in a signal handler only wakeup() may be called"
    ]


def test_wakeups_by_the_thousand(ours: Ours) -> None:
    """B168, B173: from two threads, while calls begin and end; none is lost, none hangs."""
    consumer = ours()
    over = threading.Event()

    def wake() -> None:
        while not over.is_set():
            consumer.wakeup()
            time.sleep(0.0005)

    wakers = [threading.Thread(target=wake) for _ in range(2)]
    for each in wakers:
        each.start()
    woken = 0
    until = time.monotonic() + 120
    try:
        while woken < 200:
            try:
                consumer.committed(TP, timeout=20)
            except WakeupException:
                woken += 1
            assert time.monotonic() < until, woken
    finally:
        over.set()
        for each in wakers:
            each.join()
    consumer.wakeup()
    with pytest.raises(WakeupException):
        consumer.poll(20)
    assert TP in consumer.committed(TP, timeout=20)


def test_signals_do_not_stay_handled(ours: Ours) -> None:
    """B174: a consumer touches no signal handler of its user's."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    consumer = ours()
    consumer.poll(0)
    consumer.close()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
