"""How long a call takes, and who calls off its wait."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LATE: Final = 1.0
"""Far above anything measured, far below any timeout of Kafka's: these machines are shared."""


class Watch:
    """Measures one call, and holds it against the time that it was given."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        elapsed = time.monotonic() - self.began
        assert self.timeout - 0.01 <= elapsed < self.timeout + LATE, elapsed


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
def signalled(seconds: float, handler: Callable[[], object]) -> Iterator[None]:
    """Have a signal interrupt this thread a little later, and its handler do something."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        handler()

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with after(seconds, lambda: os.kill(os.getpid(), signal.SIGUSR1)):
            yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def interrupt() -> None:
    """What Ctrl-C does to this process."""
    os.kill(os.getpid(), signal.SIGINT)
