"""Watches: how long a call takes, whom a consumer reads from, what the log says how often."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType, TracebackType
from typing import Final

import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.events.trace import EVERY
from prokurist.events.waiter import Waiter
from tests.processes_watch import ProcessesWatch
from tests.stopwatch import Stopwatch

LATE: Final = 1.0
"""Seconds behind a deadline of ours, what the machine gave to others not counted: far above
anything measured, far below any timeout of Kafka's."""

AT_ONCE: Final = 10.0
"""Seconds, likewise, in which a slow machine's broker has answered: far below what a call is
given, or a session, that must not be waited for."""


class Watch(Stopwatch):
    """Measures one call, and holds it against the time that it was given.

    Args:
        timeout: Which it lasts at the least.
        late: How much longer it may last.
    """

    def __init__(self, timeout: float, late: float = LATE) -> None:
        super().__init__()
        self._timeout = timeout
        self._late = late

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        assert self.seconds >= self._timeout - 0.01
        assert self.own < self._timeout + self._late, self.seconds


@contextmanager
def soon(within: float = AT_ONCE) -> Iterator[None]:
    """Hold what is done against what a broker takes that answers."""
    watch = ProcessesWatch()
    yield
    assert watch.fair() < within, watch.elapsed()


@contextmanager
def when(question: Callable[[], object], action: Callable[[], object]) -> Iterator[None]:
    """Have another thread do something as soon as something holds, if it ever does."""
    over = threading.Event()

    def ask() -> None:
        while not question():
            if over.wait(0.01):
                return
        action()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def after(seconds: float, action: Callable[[], object]) -> Iterator[None]:
    """Have another thread do something a little later."""
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@contextmanager
def handling(handler: Callable[[], object]) -> Iterator[None]:
    """Have a signal's handler do something; see `send`."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        handler()

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def send() -> None:
    """Have that signal interrupt the main thread."""
    os.kill(os.getpid(), signal.SIGUSR1)


def interrupt() -> None:
    """What Ctrl-C does to this process."""
    os.kill(os.getpid(), signal.SIGINT)


def waiting() -> bool:
    """Whether a call of the main thread's waits, as another thread sees it."""
    main = threading.main_thread().ident
    return sys._current_frames()[main or 0].f_code is Waiter.wait.__code__


def is_sent_to_a_replica(consumer: KafkaConsumer, tp: TopicPartition) -> bool:
    """Whether its leader has named a replica that is nearer."""
    side = consumer._side
    assert side is not None
    return tp in side.fetches._replicas._preferred


def once_a_minute(records: Sequence[logging.LogRecord]) -> list[str]:
    """Lines of the log about one continuing problem, of which none may have come too soon."""
    assert all(late.created - soon.created > EVERY - 1.0 for soon, late in pairwise(records))
    return [each.getMessage() for each in records]


def lines(caplog: pytest.LogCaptureFixture, event: str, about: str = "") -> list[str]:
    """What was logged of an event about one thing; it comes once a minute at the most."""
    logged = [each for each in caplog.records if vars(each).get("event") == event]
    return once_a_minute([each for each in logged if about in each.getMessage()])
