"""The application thread's side of every call: the way in, the wait, the way out.

Thread: the application's. One call is inside at a time; `wakeup` alone may come
from anywhere, and from a signal handler that has interrupted the call itself.

- The way in is one lock that is only ever tried, never waited for. A second
  thread that finds it taken is refused, and the first is unaffected. The same
  thread can find it taken only in a signal handler: it is told to use `wakeup`.
- The wait has a bound of its own. Whether the network thread is late, stuck or
  dead, the caller goes at his deadline, by his own clock.
- `wakeup` sets a flag and opens the gate of the present wait. The flag comes
  first, and the waiter looks at it after it has shown its gate: whichever of the
  two is earlier, the wake-up is seen. It stays set until a wait has raised for it.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, NoReturn

from prokurist.consumer.counters import CallerCounters
from prokurist.errors import (
    ConcurrentModificationException,
    ForkedClientError,
    IllegalStateException,
    KafkaException,
    WakeupException,
)
from prokurist.events.application_events import ApplicationEvent, Withdraw
from prokurist.events.call import Call
from prokurist.events.clock import CallersClock, Deadline
from prokurist.events.gate import Gate
from prokurist.events.mailbox import Mailbox
from prokurist.types import TopicPartition

TURN: Final = 0.25
"""How long a call with timeout 0 waits for the one turn it is given, in seconds.

The network thread ends it after that turn, in well under a millisecond where the
interpreter is free; this is the bound for when it is not.
"""

LAST_TURN: Final = 0.02
"""The same in `close`, which is never late: for the last commit, and for the thread's end.

Where the interpreter is not free the caller goes when this is over, and what he asked
for happens a little later.
"""


class Process:
    """Which process this is; a fork says so, since to ask the system takes its time."""

    def __init__(self) -> None:
        self.id: int = os.getpid()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.id = os.getpid()


PROCESS: Final = Process()


class Inside:
    """The one call that is inside; a `with` statement, and again.

    An iteration goes in and out for each record, so this is written for speed.

    Args:
        caller: Whose calls they are.
        operation: Which call it is.

    Raises:
        IllegalStateException: The client is closed, or the same thread is inside
            already.
        ConcurrentModificationException: Another thread is inside.
        ForkedClientError: This process is a copy of the one that built it.
    """

    __slots__ = ("_caller", "_is_nested", "_operation")

    def __init__(self, caller: "Caller", operation: str) -> None:
        self._caller = caller
        self._operation = operation
        self._is_nested = False

    def enter(self) -> None:
        """Go in; `leave` has to follow, whatever happens in between."""
        caller = self._caller
        if caller.closed or PROCESS.id != caller.process:
            caller.check_usable(self._operation)
        me = threading.get_ident()
        if caller.calling_back and caller.who is not None and caller.who[0] == me:
            # A callback of ours, which runs inside one call, makes another.
            caller.calling_back, self._is_nested = False, True
            return
        if not caller.lock.acquire(False):
            raise caller.refusal(self._operation)
        caller.who = me, self._operation

    def leave(self) -> None:
        """Go out."""
        caller = self._caller
        if self._is_nested:
            caller.calling_back, self._is_nested = True, False
            return
        caller.who = None
        caller.lock.release()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()


class Caller:
    """Makes public calls.

    Args:
        clock: The clock of both threads.
        mailbox: The network thread's.
        default: Seconds for a call that is given no timeout.

    Attributes:
        lock: Held by the call that is inside; only ever tried.
        who: The thread and the name of that call.
        calling_back: Whether it is running the user's code.
        woken: Whether a wake-up waits for a wait to end.
        process: The process that built the client.
        closed: Whether it is closed.
        counters: What is counted of its calls.
    """

    def __init__(
        self, clock: CallersClock, mailbox: Mailbox[ApplicationEvent], default: float
    ) -> None:
        self._clock = clock
        self._mailbox = mailbox
        self._default = default
        self.lock: threading.Lock = threading.Lock()
        self.who: tuple[int, str] | None = None
        self.calling_back: bool = False
        self.woken: bool = False
        self._waiting_at: Gate | None = None
        self.process: int = PROCESS.id
        self.closed = False
        self.counters: CallerCounters = CallerCounters()

    def inside(self, operation: str) -> "Inside":
        """Be the one call that is inside, for as long as the `with` lasts; see `Inside`."""
        return Inside(self, operation)

    @contextmanager
    def callback(self) -> Iterator[None]:
        """Let the user's code that runs within, inside a call, make calls of its own."""
        outer, self.calling_back = self.calling_back, True
        try:
            yield
        finally:
            self.calling_back = outer

    def check_usable(self, operation: str) -> None:
        """Refuse a call of a client that is closed or was copied by a fork.

        Raises:
            IllegalStateException: It is closed.
            ForkedClientError: It is a copy.
        """
        if PROCESS.id != self.process:
            raise ForkedClientError(
                f"{operation} of a client that process {self.process} built, in process "
                f"{PROCESS.id}: its thread and connections stayed there; build a client "
                f"after the fork"
            )
        if self.closed:
            raise IllegalStateException(
                f"{operation} of a client that is closed: build another"
            )

    def refusal(self, operation: str) -> IllegalStateException:
        """Why a call cannot go in."""
        who = self.who
        if who is not None and who[0] == threading.get_ident():
            return IllegalStateException(
                f"{operation} inside {who[1]} of the same thread: in a signal handler only "
                f"wakeup() may be called"
            )
        inside = (
            f"{who[1]} of another thread" if who is not None else "a call of another thread"
        )
        return ConcurrentModificationException(
            f"{operation} while {inside} is inside: a client is used by one thread at a time; "
            f"only wakeup(), health(), metrics() and repr() may come from others"
        )

    def call(
        self,
        operation: str,
        timeout: float | timedelta | None,
        *,
        partitions: Sequence[TopicPartition] = (),
        topic: str | None = None,
    ) -> Call:
        """Begin a call: from here on its deadline stands.

        Raises:
            TypeError: The timeout is of no type that one can be.
            ValueError: It is negative or NaN.
        """
        now = self._clock.now()
        deadline = Deadline.after(now, self._default if timeout is None else timeout)
        return Call(operation, now, deadline, partitions=partitions, topic=topic)

    def ask(self, call: Call, event: ApplicationEvent) -> Any:
        """Post an event and wait for its call, for as long as its deadline allows.

        Raises:
            WakeupException: `wakeup` was called.
            BaseException: What the call ended with.
        """
        self.raise_if_woken()
        self.post(event)
        return self.answer(call)

    def post(self, event: ApplicationEvent) -> None:
        """Post an event, and wait for nothing.

        Raises:
            KafkaException: The network thread has ended.
        """
        self._mailbox.post(event, self._clock.now())

    def answer(self, call: Call) -> Any:
        """Wait for a call whose event was posted, for as long as its deadline allows.

        Raises:
            WakeupException: `wakeup` was called.
            BaseException: What the call ended with.
        """
        try:
            return self._awaited(call)
        finally:
            self.counters.ended(call, self._clock.now())

    def _awaited(self, call: Call) -> Any:
        """The answer of a call, or why there is none; see `answer`."""
        until = call.began + TURN if call.without_time else call.deadline.at
        try:
            if not self._wait_until(call, until):
                call.leave(self._clock.now())
        except BaseException as why:
            if not self.abandon(call) and isinstance(why, WakeupException):
                # It ended in the same moment: its result stands, and the wake-up
                # waits for the next call.
                self.woken = True
                return call.result()
            raise
        return call.result()

    def refuse(self, call: Call) -> NoReturn:
        """Leave a call that has no time, before anything is asked.

        Raises:
            WakeupException: `wakeup` was called before.
            TimeoutException: Always.
        """
        self.raise_if_woken()
        now = self._clock.now()
        call.leave(now)
        self.counters.ended(call, now)
        call.result()
        raise AssertionError("a call that was left has an error")

    def abandon(self, call: Call) -> bool:
        """Withdraw a call for an exception that is on its way to the user.

        The call does not keep that: its traceback leads back to the call.

        Returns:
            False when it had ended before.
        """
        return self.withdraw(call, KafkaException("its caller was woken or interrupted"))

    def withdraw(self, call: Call, why: BaseException) -> bool:
        """Leave a call before its deadline, and have the work for it stopped.

        Returns:
            False when it had ended before.
        """
        if not call.leave(self._clock.now(), why):
            return False
        try:
            self.post(Withdraw(call))
        except KafkaException:
            return True  # The thread has ended; nobody works for anybody any more.
        return True

    def wait(self, call: Call, deadline: Deadline) -> bool:
        """Wait for a call that goes on without us: whether it has ended.

        Raises:
            WakeupException: `wakeup` was called.
        """
        return self._wait_until(call, deadline.at)

    def _wait_until(self, call: Call, until: float) -> bool:
        """Whether the call ended before the moment came.

        Raises:
            WakeupException: `wakeup` was called, and the call had not ended.
        """
        try:
            while True:
                # A gate of its own for each round. A waker sets the flag; a call that
                # this thread begins next finds it and raises; the one after that shows
                # its gate, and only now the waker comes to open it. With that gate
                # this loop would turn without waiting, and past its deadline.
                gate = self._waiting_at = call.watch()
                if not call.is_open:
                    return True
                if self.woken:
                    self.woken = False
                    raise WakeupException(f"wakeup() ended {call.operation}")
                if not self._clock.wait(gate, until):
                    return False
                self.counters.wakeups += 1
        finally:
            self._waiting_at = None

    def wait_for_end(self, call: Call, deadline: Deadline) -> bool:
        """The wait of `close`, which no wake-up ends: whether the call has ended."""
        return self._clock.wait(call.watch(), deadline.at) or not call.is_open

    def raise_if_woken(self) -> None:
        """A wake-up that came before this wait ends it.

        Raises:
            WakeupException: There was one.
        """
        if self.woken:
            self.woken = False
            raise WakeupException("wakeup() was called before this call")

    def wakeup(self) -> None:
        """End the present wait, or the next one; see the module."""
        self.woken = True
        gate = self._waiting_at
        if gate is not None:
            gate.open()

    def now(self) -> float:
        """The clock."""
        return self._clock.now()

    def __repr__(self) -> str:
        who = self.who
        return f"Caller({'closed' if self.closed else who[1] if who else 'idle'})"
