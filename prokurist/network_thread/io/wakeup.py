"""The wake pair: a pipe that ends the network thread's wait from elsewhere.

Thread: `ask` from any thread and from signal handlers; the rest on the network
thread.
Invariants: a pipe with a byte in it, or a waker about to write one, stands
behind every `_asked` that is True; so a flag that is seen as set is a wake that
will be noticed. The descriptors live as long as the object does.
"""

import os
import weakref
from contextlib import suppress

DRAINED_AT_ONCE = 4096


class Wakeup:
    """A pipe that wakes the network thread, with at most one byte in it."""

    __slots__ = ("__weakref__", "_asked", "_reading", "_writing")

    def __init__(self) -> None:
        self._asked = False
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)
        # Closed when no thread can call `ask` any more, not at shutdown: a waker
        # that had the descriptor's number in hand would otherwise write its
        # byte into another file, opened under that number since.
        closing = weakref.finalize(self, _close, self._reading, self._writing)
        # Not at the interpreter's exit: a daemon thread may still be waiting.
        closing.atexit = False

    def fileno(self) -> int:
        """The descriptor that becomes readable."""
        return self._reading

    def ask(self) -> None:
        """Make the descriptor readable, unless it is already.

        The flag spares the system call, and with it the GIL, for all but the
        first. Two threads meet here, and neither a lock nor the GIL is needed:

        - The network thread takes the byte, this thread sees the flag still
          set and returns, the network thread clears the flag. No byte is left,
          and none is needed: that turn is not over. What was published (under
          its lock) before the flag was read is seen after the turn, because
          a reader that had taken the lock before the publisher had cleared the
          flag before that, and the publisher would have seen it cleared.
        - Were the flag cleared first and the byte taken after, a byte written
          in between would be taken with its flag left set, and every later
          wake lost. Hence the order in `taken`.
        - Two threads see the flag clear: two bytes, at worst one idle turn.
        - This thread set the flag and a signal handler asks before the byte is
          written: the handler's ask returns, and ours writes when it is back.
          If the handler raises instead, the byte would be missing: the clause below.
        """
        if self._asked:
            return
        try:
            self._asked = True
            self._write()
        except BaseException:
            # Setting the flag and writing were torn apart. A byte too many is
            # an idle turn; a flag without a byte would silence every later ask.
            self._asked = False
            self._write()
            raise

    def _write(self) -> None:
        # A full pipe is as readable as one can be.
        with suppress(BlockingIOError):
            os.write(self._writing, b"\0")

    def taken(self) -> None:
        """Take the byte, then clear the flag, in this order (see `ask`).

        One read: bytes of racing wakers beyond it are left to the next turn.
        """
        with suppress(BlockingIOError):
            os.read(self._reading, DRAINED_AT_ONCE)
        self._asked = False

    def __repr__(self) -> str:
        return f"<Wakeup {'asked' if self._asked else 'quiet'}>"


def _close(*descriptors: int) -> None:
    for each in descriptors:
        os.close(each)
