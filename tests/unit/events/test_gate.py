"""The gate: opened once, from anywhere, a signal handler included."""

import signal
import threading
from types import FrameType

from prokurist.events.gate import Gate


def test_it_is_closed_until_opened_and_open_from_then_on() -> None:
    """Waiting at a closed gate ends with the time, at an open one at once."""
    gate = Gate()
    assert repr(gate) == "Gate(closed)"
    assert not gate.wait(0)
    assert not gate.wait(-1)
    gate.open()
    gate.open()
    assert gate.is_open
    assert gate.wait(0)
    assert gate.wait(float("inf"))
    assert repr(gate) == "Gate(open)"


def test_another_thread_opens_it() -> None:
    """Whoever waits passes when somebody else opens."""
    gate = Gate()
    opener = threading.Thread(target=gate.open)
    opener.start()
    assert gate.wait(20)
    opener.join()


def test_many_openers_at_once() -> None:
    """Opening it from several threads while one passes leaves it open, without an error."""
    for _ in range(50):
        gate = Gate()
        start = threading.Barrier(5)
        failures: list[BaseException] = []

        def open_it(
            gate: Gate = gate,
            start: threading.Barrier = start,
            failures: list[BaseException] = failures,
        ) -> None:
            start.wait()
            try:
                gate.open()
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(error)

        openers = [threading.Thread(target=open_it) for _ in range(4)]
        for opener in openers:
            opener.start()
        start.wait()
        assert gate.wait(20)
        for opener in openers:
            opener.join()
        assert gate.is_open
        assert not failures


def test_a_signal_handler_opens_it_while_its_own_thread_waits() -> None:
    """B168: the interrupted thread holds nothing that opening needs."""
    gate = Gate()

    def handler(_number: int, _frame: FrameType | None) -> None:
        gate.open()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert gate.wait(20)
    finally:
        signal.signal(signal.SIGALRM, before)
