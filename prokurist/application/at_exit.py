"""Consumers that are still open when the interpreter ends: they are closed, in short time.

Thread: whichever ends the interpreter, after all other threads that keep it alive. The
network threads are daemons and still run then.

A program that ends by an uncaught exception is like a `with` block left by one: the application
may not have processed the last returned records, so the last automatic commit is left out. In
an interactive session any error shown before counts as one: a commit too few costs a second
reading, a commit too many costs a record.

A consumer that another thread is using just then, and one that a parent process built,
are left as they are: the process takes their sockets with it.
"""

import atexit
import sys
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from prokurist.errors import IllegalStateException, KafkaException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.events.log_events import CLOSE_AT_EXIT_FAILED
from prokurist.events.trace import Trace

AT_MOST: Final = 5.0
"""Seconds for all consumers together."""


class Close(Protocol):
    """Closes a consumer, within some seconds."""

    def __call__(self, consumer: Any, /, seconds: float, *, last_commit: bool) -> None:
        """Close the client."""
        ...


OPEN: Final = WeakKeyDictionary[object, tuple[Close, Trace]]()
"""Held weakly: one without other references is collected, with its ResourceWarning."""


def remember(consumer: object, close: Close, trace: Trace) -> None:
    """Close a consumer at the exit of the interpreter, if it is still open then."""
    OPEN[consumer] = close, trace


@atexit.register
def close_all() -> None:
    """Close all clients that are still open, as the interpreter exits."""
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), AT_MOST)
    uncaught = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    left = list(OPEN.items())
    while left:
        # A share for each: one whose brokers are silent must not take all the time.
        share = deadline.remaining(clock.now()) / len(left)
        consumer, (close, trace) = left.pop()
        try:
            close(consumer, share, last_commit=uncaught is None)
        except IllegalStateException:
            continue  # Another process's, or another thread is inside.
        except KafkaException as error:
            trace.emit(CLOSE_AT_EXIT_FAILED, error=error)
