"""The wake pair loses no ask, and spends one byte on many."""

import gc
import os
import select
import threading

import pytest

from prokurist.network_thread.io.wakeup import Wakeup


def readable(wakeup: Wakeup) -> bool:
    """Whether a selector would see it."""
    return bool(select.select([wakeup], [], [], 0)[0])


def test_many_asks_are_one_byte() -> None:
    """An ask wakes once, and taking it makes it quiet again."""
    wakeup = Wakeup()
    assert not readable(wakeup)
    for _ in range(1000):
        wakeup.ask()
    assert readable(wakeup)
    assert repr(wakeup) == "<Wakeup asked>"
    assert os.read(wakeup.fileno(), 100) == b"\0"
    wakeup.taken()
    assert not readable(wakeup)
    assert repr(wakeup) == "<Wakeup quiet>"
    wakeup.ask()
    assert readable(wakeup)


@pytest.mark.parametrize("before", [True, False])
def test_an_ask_while_the_byte_is_taken_is_not_the_last(
    monkeypatch: pytest.MonkeyPatch, *, before: bool
) -> None:
    """The race in the comment: asked just before or after the read, and again later."""
    wakeup = Wakeup()
    wakeup.ask()
    read = os.read

    def interrupted(descriptor: int, count: int) -> bytes:
        if before:
            wakeup.ask()  # the other thread
        data = read(descriptor, count)
        if not before:
            wakeup.ask()
        return data

    with monkeypatch.context() as patched:
        patched.setattr(os, "read", interrupted)
        wakeup.taken()
    wakeup.ask()
    assert readable(wakeup)


@pytest.mark.parametrize("before", [True, False])
def test_a_signal_handler_that_raises_within_an_ask_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, *, before: bool
) -> None:
    """Torn apart between flag and byte, the ask still wakes, and so do later ones."""
    wakeup = Wakeup()
    write = os.write
    interrupts = [KeyboardInterrupt()]

    def interrupted(descriptor: int, data: bytes) -> int:
        if before and interrupts:
            raise interrupts.pop()
        count = write(descriptor, data)
        if interrupts:
            raise interrupts.pop()
        return count

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            wakeup.ask()
    assert readable(wakeup)
    wakeup.taken()
    wakeup.ask()
    assert readable(wakeup)


def test_a_full_pipe_is_no_error() -> None:
    """In any state of the flag, an ask never blocks and never raises."""
    wakeup = Wakeup()
    for _ in range(70_000):
        wakeup._asked = False
        wakeup.ask()
    assert readable(wakeup)
    turns = 0
    while readable(wakeup):
        wakeup.taken()
        turns += 1
    assert 1 < turns < 100


def test_no_ask_of_several_threads_is_lost() -> None:
    """Each thread publishes under a lock and asks; the taker ends up with everything."""
    wakeup = Wakeup()
    lock = threading.Lock()
    published: list[int] = []
    seen: list[int] = []

    def publish(first: int) -> None:
        for number in range(first, first + 500):
            with lock:
                published.append(number)
            wakeup.ask()

    threads = [threading.Thread(target=publish, args=(1000 * each,)) for each in range(4)]
    for each in threads:
        each.start()
    while len(seen) < 2000:
        assert select.select([wakeup], [], [], 10)[0], "an ask was lost"
        wakeup.taken()
        with lock:
            seen += published
            published.clear()
    for each in threads:
        each.join()
    assert len(set(seen)) == 2000


def test_the_descriptors_end_with_the_object() -> None:
    """Not before: a late waker must not write into another file of that number."""
    wakeup = Wakeup()
    descriptor = wakeup.fileno()
    os.fstat(descriptor)
    assert not os.get_inheritable(descriptor)
    del wakeup
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
