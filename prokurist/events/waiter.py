"""The one thing the application thread waits at.

A waiter is opened once and stays open. Opening it takes no lock that another thread can hold,
so a signal handler may do it while its own thread waits here: so it may call `wakeup()`.

Thread: one waits, any opens, as often as it likes.
"""

import threading

# What `Lock.acquire` takes at most; a longer wait is made of several.
LONGEST_WAIT = threading.TIMEOUT_MAX


class Waiter:
    """A latch: closed until it is opened, then open for good."""

    __slots__ = ("_bolt",)

    def __init__(self) -> None:
        # The bolt is a lock that is held while the waiter is closed. Waiting for it
        # is one system call with a timeout, and signal handlers run meanwhile.
        self._bolt = threading.Lock()
        self._bolt.acquire()

    def open(self) -> None:
        """Let every thread through that waits, now and from now on."""
        try:
            self._bolt.release()
        except RuntimeError:
            # Open already. Two openers at once: `release` is atomic, one of them
            # frees the bolt and the other comes here.
            return

    def wait(self, seconds: float) -> bool:
        """Wait until the waiter is open or the time is over.

        Returns:
            True if it is open.
        """
        if self._bolt.acquire(timeout=min(max(seconds, 0.0), LONGEST_WAIT)):
            # A thread that passes leaves it open behind it; by `open`, because a second
            # opener may have freed the bolt while it was ours.
            self.open()
            return True
        return False

    @property
    def is_open(self) -> bool:
        """True once it has been opened."""
        return not self._bolt.locked()

    def __repr__(self) -> str:
        return f"Waiter({'open' if self.is_open else 'closed'})"
