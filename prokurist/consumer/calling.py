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


class Caller:
    """Makes public calls.

    Args:
        clock: The clock of both threads.
        mailbox: The network thread's.
        default: Seconds for a call that is given no timeout.
    """

    def __init__(
        self, clock: CallersClock, mailbox: Mailbox[ApplicationEvent], default: float
    ) -> None:
        self._clock = clock
        self._mailbox = mailbox
        self._default = default
        self._inside = threading.Lock()
        self._who: tuple[int, str] | None = None
        self._calling_back = False
        self._woken = False
        self._waiting_at: Gate | None = None
        self._process = os.getpid()
        self.closed = False

    @contextmanager
    def inside(self, operation: str) -> Iterator[None]:
        """Be the one call that is inside.

        Raises:
            IllegalStateException: The client is closed, or the same thread is
                inside already.
            ConcurrentModificationException: Another thread is inside.
            ForkedClientError: This process is a copy of the one that built it.
        """
        self.check_usable(operation)
        outer = self._who
        if self._calling_back and outer is not None and outer[0] == threading.get_ident():
            # A callback of ours, which runs inside one call, makes another.
            self._calling_back = False
            try:
                yield
            finally:
                self._calling_back = True
            return
        if not self._inside.acquire(blocking=False):
            raise self._refusal(operation)
        self._who = (threading.get_ident(), operation)
        try:
            yield
        finally:
            self._who = None
            self._inside.release()

    @contextmanager
    def callback(self) -> Iterator[None]:
        """Let the user's code that runs within, inside a call, make calls of its own."""
        outer, self._calling_back = self._calling_back, True
        try:
            yield
        finally:
            self._calling_back = outer

    def check_usable(self, operation: str) -> None:
        """Refuse a call of a client that is closed or was copied by a fork.

        Raises:
            IllegalStateException: It is closed.
            ForkedClientError: It is a copy.
        """
        if os.getpid() != self._process:
            raise ForkedClientError(
                f"{operation} of a client that process {self._process} built, in process "
                f"{os.getpid()}: its thread and connections stayed there; build a client "
                f"after the fork"
            )
        if self.closed:
            raise IllegalStateException(f"{operation} of a client that is closed")

    def _refusal(self, operation: str) -> IllegalStateException:
        who = self._who
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
            f"only wakeup(), health() and repr() may come from others"
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
        self._mailbox.post(event)

    def answer(self, call: Call) -> Any:
        """Wait for a call whose event was posted, for as long as its deadline allows.

        Raises:
            WakeupException: `wakeup` was called.
            BaseException: What the call ended with.
        """
        until = call.began + TURN if call.without_time else call.deadline.at
        try:
            if not self._wait_until(call, until):
                call.leave(self._clock.now())
        except BaseException as why:
            if not self.withdraw(call, why) and isinstance(why, WakeupException):
                # It ended in the same moment: its result stands, and the wake-up
                # waits for the next call.
                self._woken = True
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
        call.leave(self._clock.now())
        call.result()
        raise AssertionError("a call that was left has an error")

    def withdraw(self, call: Call, why: BaseException) -> bool:
        """Leave a call before its deadline, and have the work for it stopped.

        Returns:
            False when it had ended before.
        """
        if not call.leave(self._clock.now(), why):
            return False
        try:
            self._mailbox.post(Withdraw(call))
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
        gate = self._waiting_at = call.watch()
        try:
            while call.is_open:
                if self._woken:
                    self._woken = False
                    raise WakeupException(f"wakeup() ended {call.operation}")
                if not self._clock.wait(gate, until):
                    return False
        finally:
            self._waiting_at = None
        return True

    def wait_for_end(self, call: Call, deadline: Deadline) -> bool:
        """The wait of `close`, which no wake-up ends: whether the call has ended."""
        return self._clock.wait(call.watch(), deadline.at) or not call.is_open

    def raise_if_woken(self) -> None:
        """A wake-up that came before this wait ends it.

        Raises:
            WakeupException: There was one.
        """
        if self._woken:
            self._woken = False
            raise WakeupException("wakeup() was called before this call")

    def wakeup(self) -> None:
        """End the present wait, or the next one; see the module."""
        self._woken = True
        gate = self._waiting_at
        if gate is not None:
            gate.open()

    def now(self) -> float:
        """The clock."""
        return self._clock.now()

    def __repr__(self) -> str:
        who = self._who
        return f"Caller({'closed' if self.closed else who[1] if who else 'idle'})"
