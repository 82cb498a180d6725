"""One public call: its deadline, its ledger and its answer, under one lock.

The application thread makes a Call, posts an event that carries it, and waits at
its waiter. The network thread works for it. Three questions are settled here, and
each of them once:

- `claim`: may this attempt be written? The network thread asks in the same step in which it
  writes, and is refused when the caller has left. So no request goes out for a caller that has
  left, and `may_have_happened` is always right.
- `finish` and `fail`: the network thread ends the call, with an answer or an error.
- `leave`: the caller ends the call, at its deadline or because of a wake-up or
  an interrupt. It never waits for the network thread to notice the time.

Whichever end comes first counts; the others hear False and change nothing.

Thread: the caller's and the network thread. `_lock` guards everything below it;
nothing is called while it is held.
"""

import threading
from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from typing import Any, Final

from prokurist.errors import Attempt, TimeoutException, Wait
from prokurist.events.call_log_events import (
    ATTEMPT_BEGAN,
    ATTEMPT_ENDED,
    CALL_ABANDONED,
    CALL_BEGAN,
    CALL_FINISHED,
    CALL_WAITING,
)
from prokurist.events.clock import Deadline
from prokurist.events.trace import EventKind, Trace
from prokurist.events.waiter import Waiter
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition

UNANSWERED: Final = "unanswered"
DEFAULT_KEY: Final = "default.api.timeout.ms"
NOTHING: Final = frozenset[Hashable]()


class Stand(Enum):
    """The states of a call. Both ends are final."""

    OPEN = "open"
    FINISHED = "finished"
    """The network thread has ended it, with an answer or an error."""
    LEFT = "left"
    """The caller has ended it, and is gone."""


@dataclass(slots=True)
class Try:
    """An attempt while it lasts; the ledger shows it as an `Attempt`.

    Attributes:
        effect: True if it may have changed state on the broker, as a commit does.
        number: Its number among the call's attempts, from 1.
        began: When it was written, on the clock.
        ended: When it ended, or None.
        about: The items of an administrative call that it is about.
        undone: Those of them for which the broker has said that it did nothing.
    """

    request: str
    node: str
    effect: bool
    began: float
    ended: float | None = None
    outcome: str = UNANSWERED
    number: int = 0
    about: frozenset[Hashable] = NOTHING
    undone: frozenset[Hashable] = NOTHING


class Call:
    """A public call, from its first line to its end.

    Args:
        operation: The public name, as the user called it.
        began: The clock when it was called.
        deadline: When it has to have ended.
        partitions: The partitions concerned, for the text of its TimeoutException.
        topic: The same.
        config_key: The key that bounds it where the user gave no timeout; None where it has to
            give one.
        trace: Receives the log events of the call; None where they are not read.

    Attributes:
        timed_out: True if it ended at its deadline.
    """

    __slots__ = (
        "_answer",
        "_error",
        "_last_error",
        "_lock",
        "_stand",
        "_tries",
        "_wait",
        "_waits",
        "began",
        "config_key",
        "deadline",
        "number",
        "operation",
        "partitions",
        "timed_out",
        "topic",
        "trace",
        "waiter",
    )

    def __init__(
        self,
        operation: str,
        began: float,
        deadline: Deadline,
        *,
        partitions: Sequence[TopicPartition] = (),
        topic: str | None = None,
        config_key: str | None = DEFAULT_KEY,
        trace: Trace | None = None,
    ) -> None:
        self.operation: str = operation
        self.began: float = began
        self.deadline: Deadline = deadline
        self.partitions: tuple[TopicPartition, ...] = tuple(partitions)
        self.topic: str | None = topic
        self.config_key: str | None = config_key
        self.waiter: Waiter = Waiter()
        self.timed_out: bool = False
        self._lock = threading.Lock()
        self._stand = Stand.OPEN
        self._answer: Any = None
        self._error: BaseException | None = None
        self._last_error: BaseException | None = None
        self._tries: list[Try] = []
        self._wait: tuple[str, float] | None = None
        self._waits: list[Wait] = []
        self.trace: Trace | None = trace
        self.number: int = 0
        if trace is not None:
            self.number = trace.number()
            self._tell(trace, CALL_BEGAN, timeout=deadline.at - began)

    def again(self, deadline: Deadline | None = None) -> "Call":
        """The same call, to be waited for once more, with an answer of its own.

        Args:
            deadline: Until when it is waited for; None for as long as there is time.
        """
        again = Call(self.operation, self.began, deadline or self.deadline)
        again.trace, again.number = self.trace, self.number
        return again

    # --- the network thread --------------------------------------------------------

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """Claim the right to write an attempt, in the moment of writing it.

        Returns:
            The attempt, entered into the ledger; None when the call has ended,
            and then nothing may be written for it.
        """
        return self._enter(Try(request, node, effect, now))

    def _enter(self, attempt: Try) -> Try | None:
        """Enter an attempt into the ledger, unless the call has ended."""
        with self._lock:
            if self._stand is not Stand.OPEN:
                return None
            self._close_wait(attempt.began)
            self._tries.append(attempt)
            attempt.number = len(self._tries)
        if self.trace is not None:
            self._tell_of(self.trace, ATTEMPT_BEGAN, attempt)
        return attempt

    def ended(
        self,
        attempt: Try,
        now: float,
        outcome: str,
        error: BaseException | None = None,
        *,
        undone: bool = False,
    ) -> None:
        """Say how an attempt ended; nothing changes once the call has.

        Args:
            attempt: The attempt.
            now: When.
            outcome: How, in a word.
            error: Its error.
            undone: The broker has said that it did nothing; without its word an
                attempt with an effect may have had it.
        """
        with self._lock:
            if self._stand is Stand.OPEN:
                attempt.ended = now
                attempt.outcome = outcome
                attempt.effect = attempt.effect and not undone
                if error is not None:
                    self._last_error = error
        if self.trace is not None:
            self._tell_of(self.trace, ATTEMPT_ENDED, attempt, outcome=outcome)

    def met(self, error: BaseException) -> None:
        """Keep an error that no attempt met as the last one."""
        with self._lock:
            self._last_error = error

    def wait_begins(self, reason: str, now: float) -> None:
        """Note the reason of a wait, while nothing of it is on the wire.

        It lasts until the next claim, the next wait, `wait_ends`, or the end of the
        call: whichever thread ends the call, the report names the wait it was in.
        """
        with self._lock:
            if self._stand is Stand.OPEN:
                self._close_wait(now)
                self._wait = (reason, now)
        if self.trace is not None:
            self._tell(self.trace, CALL_WAITING, reason=reason)

    def wait_ends(self, now: float) -> None:
        """Note that the wait of `wait_begins` is over."""
        with self._lock:
            if self._stand is Stand.OPEN:
                self._close_wait(now)

    def _close_wait(self, now: float) -> None:
        """End the wait that is open; the lock must be held."""
        if self._wait is not None:
            reason, since = self._wait
            self._wait = None
            if now > since:
                self._waits.append(Wait(reason, since - self.began, now - self.began))

    def finish(self, answer: Any = None) -> bool:
        """End the call with its answer."""
        with self._lock:
            if self._stand is not Stand.OPEN:
                return False
            self._stand, self._answer = Stand.FINISHED, answer
        self._end(CALL_FINISHED, "answered")
        return True

    def fail(self, error: BaseException) -> bool:
        """End the call with an error."""
        with self._lock:
            if self._stand is not Stand.OPEN:
                return False
            self._stand, self._error = Stand.FINISHED, error
        self._end(CALL_FINISHED, type(error).__name__)
        return True

    def expire(self, now: float) -> bool:
        """End the call because its time is over: the network thread's side of it."""
        with self._lock:
            if self._stand is not Stand.OPEN:
                return False
            self._stand, self._error = Stand.FINISHED, self._out_of_time(now)
        self._end(CALL_FINISHED, TimeoutException.__name__)
        return True

    # --- the caller ----------------------------------------------------------------

    def watch(self, waiter: Waiter | None = None) -> Waiter:
        """A fresh waiter for one wait, which opens when the call ends.

        Fresh, because a wake-up opens it too, and a waiter stays open: a call that
        is waited for twice must not find the waiter of its first wait.

        Args:
            waiter: The one to open; None for a new one of a thread.
        """
        # Nothing is called under the lock: a signal handler could come there and wait for the
        # network thread, which may want that lock.
        waiter = waiter or Waiter()
        with self._lock:
            self.waiter = waiter
            is_over = self._stand is not Stand.OPEN
        if is_over:
            # It ended before we came; the thread that ended it opened another waiter.
            waiter.open()
        return waiter

    def leave(self, now: float, why: BaseException | None = None) -> bool:
        """End the call from the caller's side.

        Args:
            now: The clock.
            why: The error that ends it; None for the time, which makes a TimeoutException.

        Returns:
            False when it had ended before: its result stands.
        """
        with self._lock:
            if self._stand is not Stand.OPEN:
                return False
            self._stand = Stand.LEFT
            self._error = why
        if why is None:
            # Outside the lock, as in `watch`: the ledger of a call that has ended stays.
            self._error = self._out_of_time(now)
        # No thread waits by now, and one that looks at the waiter later shall not.
        self._end(
            CALL_ABANDONED, TimeoutException.__name__ if why is None else type(why).__name__
        )
        return True

    def result(self) -> Any:
        """Return the answer or raise the error, without keeping it.

        Its traceback holds the frames of the caller, who holds this call: keeping
        it would make of every timeout a cycle for the garbage collector.

        Raises:
            BaseException: The error it ended with.
        """
        with self._lock:
            if self._stand is Stand.OPEN:
                raise AssertionError(f"{self!r} has no result yet")
            error, answer = self._error, self._answer
            if error is not None:
                self._error = AssertionError(f"the error of {self!r} has been raised")
        if error is None:
            return answer
        try:
            raise error
        finally:
            del error  # This frame is in the traceback, too.

    # --- either --------------------------------------------------------------------

    @property
    def stand(self) -> Stand:
        """The call's present state."""
        return self._stand

    @property
    def is_open(self) -> bool:
        """True while the call has not ended."""
        return self._stand is Stand.OPEN

    @property
    def on_the_wire(self) -> bool:
        """True while a request of the call is written and unanswered."""
        with self._lock:
            return any(attempt.ended is None for attempt in self._tries)

    @property
    def attempts(self) -> int:
        """Number of requests written for the call."""
        return len(self._tries)

    @property
    def may_have_happened(self) -> bool:
        """True if a request that was written may have changed something on a broker."""
        with self._lock:
            return any(attempt.effect for attempt in self._tries)

    @property
    def has_answer(self) -> bool:
        """True if the network thread has ended it."""
        return self._stand is Stand.FINISHED

    @property
    def ledger(self) -> tuple[tuple[Attempt, ...], tuple[Wait, ...]]:
        """Its attempts and waits so far, in seconds from its beginning."""
        with self._lock:
            return tuple(self._entry(attempt) for attempt in self._tries), tuple(self._waits)

    @property
    def without_time(self) -> bool:
        """True with timeout 0: one turn, and no waiting."""
        return self.deadline.at <= self.began

    def _end(self, kind: EventKind, outcome: str) -> None:
        """Open the waiter and emit the end; the lock must be free."""
        self.waiter.open()
        if self.trace is not None:
            self._tell(self.trace, kind, outcome=outcome)

    def _tell(self, trace: Trace, kind: EventKind, **values: object) -> None:
        trace.emit(kind, call=self.number, operation=self.operation, **values)

    def _tell_of(self, trace: Trace, kind: EventKind, attempt: Try, **values: object) -> None:
        trace.emit(
            kind,
            call=self.number,
            operation=self.operation,
            attempt=attempt.number,
            request=attempt.request,
            node=attempt.node,
            **values,
        )

    def _out_of_time(self, now: float) -> TimeoutException:
        """The TimeoutException with the ledger as it is now.

        Under the lock, or of a call that has ended.
        """
        self.timed_out = True
        self._close_wait(now)
        happened = any(attempt.effect for attempt in self._tries)
        return self._report(now, self._tries, happened=happened)

    def _report(
        self, now: float, tries: Iterable[Try], *, happened: bool, item: str | None = None
    ) -> TimeoutException:
        return TimeoutException(
            operation=self.operation,
            timeout=self.deadline.at - self.began,
            elapsed=now - self.began,
            partitions=self.partitions,
            topic=self.topic,
            attempts=[self._entry(attempt) for attempt in tries],
            waits=self._waits,
            last_error=self._last_error,
            config_key=self.config_key,
            may_have_happened=happened,
            item=item,
        )

    def _entry(self, attempt: Try) -> Attempt:
        ended = None if attempt.ended is None else attempt.ended - self.began
        return Attempt(
            attempt.request, attempt.node, attempt.began - self.began, ended, attempt.outcome
        )

    def __repr__(self) -> str:
        return f"Call({self.operation}, {self._stand.value}, {len(self._tries)} attempts)"


DISCONNECTED: Final = "disconnected"
