"""A queue from one thread to the other that wakes the reader once.

Thread: any posts, one drains. One lock guards the queue, the closed flag and the wake flag
together, with three effects:

- "closed" and "enqueued" exclude each other. `close` returns every event that
  was accepted, and a later post raises; nothing is lost between.
- A wake is sent for the first event after a drain and for no other. The poster appends and
  finds the flag down, raises it and wakes; a second poster finds it up and does not. The
  drainer lowers it in the same step in which it takes the queue, so an event left behind has a
  wake of its own.
- A drain is bounded: it takes the queue of its beginning. Events posted meanwhile wait for the
  next turn, in which the loop first serves the network.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Event = TypeVar("Event")


class Mailbox(Generic[Event]):
    """A queue of events in the order of their posting.

    Args:
        wake: Called, outside the lock, when the reader has something new.

    Attributes:
        posted: How many there were.
        drained: When the oldest of those that were drained last was posted, where the
            poster has said so; the reader's.
    """

    __slots__ = (
        "_closed",
        "_events",
        "_lock",
        "_since",
        "_wake",
        "_woken",
        "drained",
        "posted",
    )

    def __init__(self, wake: Callable[[], None]) -> None:
        # Reentrant: a signal handler that has interrupted a post may post, too.
        self._lock = threading.RLock()
        self._wake = wake
        self._events: list[Event] = []
        self._woken = False
        self._closed: Callable[[], BaseException] | None = None
        self._since: float | None = None
        self.posted: int = 0
        self.drained: float | None = None

    def post(self, event: Event, now: float | None = None) -> None:
        """Add an event, and wake the reader if it is the first since a drain.

        Args:
            event: The event.
            now: The clock, where the poster has one.

        Raises:
            BaseException: The error of `close`, once it was called.
        """
        try:
            self._post(event, now)
        except BaseException:
            # An interrupt may have come between the flag and the wake that goes with it,
            # and as long as the flag is up no other wake is sent.
            if self._woken and self._closed is None:
                self._wake()
            raise

    def _post(self, event: Event, now: float | None) -> None:
        with self._lock:
            if self._closed is not None:
                raise self._closed()
            if not self._events:
                self._since = now
            self._events.append(event)
            self.posted += 1
            wake, self._woken = not self._woken, True
        if wake:
            self._wake()

    @property
    def is_held_here(self) -> bool:
        """True if this thread is in a post that a signal handler has interrupted.

        The reader cannot drain meanwhile.
        """
        return self._lock._is_owned()  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001

    def drain(self) -> list[Event]:
        """Take all events posted so far."""
        with self._lock:
            taken, self._events = self._events, []
            self._woken = False
            self.drained = self._since
        return taken

    def close(self, why: Callable[[], BaseException]) -> list[Event]:
        """Accept no more events: every later post raises the error made by `why`.

        Returns:
            The accepted events that were not drained; the caller answers them.
        """
        with self._lock:
            if self._closed is None:
                self._closed = why
            taken, self._events = self._events, []
        return taken

    def __len__(self) -> int:
        return len(self._events)

    def __repr__(self) -> str:
        state = "closed" if self._closed is not None else "open"
        return f"Mailbox({state}, {len(self._events)} waiting, {self.posted} posted)"
