"""The gate: opened once, from anywhere, a signal handler included."""

import signal
import threading
from types import FrameType

from prokurist.events.waiter import Waiter


def test_it_is_closed_until_opened_and_open_from_then_on() -> None:
    """Waiting at a closed gate ends with the time, at an open one at once."""
    waiter = Waiter()
    assert repr(waiter) == "Waiter(closed)"
    assert not waiter.wait(0)
    assert not waiter.wait(-1)
    waiter.open()
    waiter.open()
    assert waiter.is_open
    assert waiter.wait(0)
    assert waiter.wait(float("inf"))
    assert repr(waiter) == "Waiter(open)"


def test_another_thread_opens_it() -> None:
    """A waiting thread passes when another thread opens."""
    waiter = Waiter()
    opener = threading.Thread(target=waiter.open)
    opener.start()
    assert waiter.wait(20)
    opener.join()


def test_many_openers_at_once() -> None:
    """Opening it from several threads while one passes leaves it open, without an error."""
    for _ in range(50):
        waiter = Waiter()
        start = threading.Barrier(5)
        failures: list[BaseException] = []

        def open_it(
            waiter: Waiter = waiter,
            start: threading.Barrier = start,
            failures: list[BaseException] = failures,
        ) -> None:
            start.wait()
            try:
                waiter.open()
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(error)

        openers = [threading.Thread(target=open_it) for _ in range(4)]
        for opener in openers:
            opener.start()
        start.wait()
        assert waiter.wait(20)
        for opener in openers:
            opener.join()
        assert waiter.is_open
        assert not failures


def test_a_signal_handler_opens_it_while_its_own_thread_waits() -> None:
    """B168: the interrupted thread holds nothing that opening needs."""
    waiter = Waiter()

    def handler(_number: int, _frame: FrameType | None) -> None:
        waiter.open()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert waiter.wait(20)
    finally:
        signal.signal(signal.SIGALRM, before)
