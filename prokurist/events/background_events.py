"""What the network thread has to tell `poll`: errors that belong to no call.

Thread: the network thread posts, the application thread takes; `_lock` guards
everything, and nothing is called while it is held.

A poll shows its call before it looks at what is here, and then waits for that
call. Whatever comes later ends it, so nothing that is posted in between is missed.

Invariants: of one cause there is one error, however often it was met; once closed,
every look raises what it was closed with.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from prokurist.errors import KafkaException
from prokurist.events.call import Call
from prokurist.events.subscription import Wanted


@dataclass(frozen=True, slots=True)
class BackgroundError:
    """An error for `poll` to raise.

    Attributes:
        about: The positions it belongs to. It is dropped when none of them is
            wanted any more; one about nothing in particular is always raised.
    """

    error: KafkaException
    about: frozenset[Wanted] = frozenset()


class BackgroundEvents:
    """See the module."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errors: list[BackgroundError] = []
        self._waiting: Call | None = None
        self._closed: KafkaException | None = None

    # --- the network thread ----------------------------------------------------------

    def post(self, event: BackgroundError) -> None:
        """Have an error raised by a poll; it takes the place of an older one of its cause."""
        with self._lock:
            self._errors = [each for each in self._errors if not same_cause(each, event)]
            self._errors.append(event)
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    def nudge(self) -> None:
        """Have a poll that waits look again for what it has to ask."""
        with self._lock:
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    def close(self, why: KafkaException) -> None:
        """The network thread has ended; a poll that waits hears so at once."""
        with self._lock:
            if self._closed is None:
                self._closed = why
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    # --- the application thread ------------------------------------------------------

    def watch(self, call: Call | None) -> None:
        """End this call as soon as something comes; of None, none any more."""
        with self._lock:
            self._waiting = call

    def check_open(self) -> None:
        """See that the network thread lives.

        Raises:
            KafkaException: What it ended with.
        """
        with self._lock:
            closed = self._closed
        if closed is not None:
            # Raised as often as one asks: without the traceback of the last time.
            raise closed.with_traceback(None)

    def take(self, still_wanted: Callable[[Wanted], bool]) -> KafkaException | None:
        """The next error, if there is one; those that nobody wants any more are dropped."""
        while True:
            with self._lock:
                if not self._errors:
                    return None
                event = self._errors.pop(0)
            if not event.about or any(map(still_wanted, event.about)):
                return event.error

    def __len__(self) -> int:
        return len(self._errors)

    def __repr__(self) -> str:
        state = "closed" if self._closed is not None else "open"
        waiting = ", a poll waits" * (self._waiting is not None)
        return f"BackgroundEvents({state}, {len(self._errors)} errors{waiting})"


def same_cause(old: BackgroundError, new: BackgroundError) -> bool:
    """Whether the newer of two errors says what the older one did."""
    return bool(old.about) and old.about <= new.about and type(old.error) is type(new.error)
