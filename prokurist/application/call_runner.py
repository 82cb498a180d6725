"""The application thread's side of every call: the event, the wait, the end.

Thread: the application's, once it is inside (`guard`). `wakeup` alone may come
from anywhere, and from a signal handler that has interrupted the call itself.

- The wait has a bound of its own: the caller leaves at its deadline, by its own clock, even if
  the network thread is late, stuck or dead.
- `wakeup` sets a flag and opens the waiter of the present wait. The flag comes
  first, and the waiter looks at it after it has shown its waiter: whichever of the
  two is earlier, the wake-up is seen. It stays set until a wait has raised for it.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, NoReturn

from prokurist.application.caller_counters import CallerCounters
from prokurist.application.driving import Steps, T, Until, drive
from prokurist.application.single_thread_guard import SingleThreadGuard
from prokurist.errors import KafkaException, WakeupException
from prokurist.events.application_events import ApplicationEvent, Withdraw
from prokurist.events.call import Call
from prokurist.events.call_log_events import CALL_POSTED, CALLER_WAITING, CALLER_WOKE
from prokurist.events.clock import CallersClock, Deadline
from prokurist.events.mailbox import Mailbox
from prokurist.events.trace import UNREAD, Trace
from prokurist.events.waiter import Waiter
from prokurist.types import TopicPartition

TURN: Final = 0.25
"""Bound on the one turn of a call with timeout 0, in seconds.

The network thread ends the call after that turn, in well under a millisecond where the
interpreter is free; this bound is for a busy one.
"""

LAST_TURN: Final = 0.02
"""The same in a `close` with time, for the last commit and for the thread's end.

`close` is never late: where the interpreter is busy, the caller leaves after this time, and its
request is handled a little later.
"""


class CallRunner(SingleThreadGuard):
    """Makes public calls: posts events, waits for their calls, ends them at their deadlines.

    Args:
        clock: The clock of both threads.
        mailbox: The network thread's.
        default: Seconds for a call that is given no timeout.
        trace: The client's, also for the parts that are given this runner.

    Attributes:
        woken: True if a wake-up waits for a wait to end.
        closing: True while the client is in `close`: then wake-ups end neither its own waits
            nor those of its callbacks.
        counters: Counters of its calls.
        wait_at: Waits on a waiter, by the same clock.
        new_waiter: Makes a waiter for one wait.
    """

    new_waiter: Callable[[], Waiter] = Waiter

    def __init__(
        self,
        clock: CallersClock,
        mailbox: Mailbox[ApplicationEvent],
        default: float,
        trace: Trace = UNREAD,
    ) -> None:
        super().__init__()
        self.trace: Trace = trace
        self._clock = clock
        self._mailbox = mailbox
        self._default = default
        self.woken: bool = False
        self.closing: bool = False
        self._waiting_at: Waiter | None = None
        self.counters: CallerCounters = CallerCounters()
        self.wait_at: Callable[[Waiter, float], bool] = clock.wait

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
        return Call(
            operation, now, deadline, partitions=partitions, topic=topic, trace=self.tracing
        )

    @property
    def tracing(self) -> Trace | None:
        """The trace for a call that begins now; None while no reader wants single calls."""
        return self.trace if self.trace.fine else None

    def drive(self, steps: Steps[T]) -> T:
        """Take steps to their end, on this thread."""
        return drive(steps, self.wait_at)

    def ask(self, call: Call, event: ApplicationEvent) -> Steps[Any]:
        """Post an event and wait for its call, for as long as its deadline allows.

        Raises:
            WakeupException: `wakeup` was called.
            BaseException: The error of the call.
        """
        self.raise_if_woken()
        try:
            self.post(event)
            return (yield from self.answer(call))
        except BaseException:
            # An interrupt may have come between the two.
            self.abandon(call)
            raise

    def post(self, event: ApplicationEvent) -> None:
        """Post an event, and wait for nothing.

        Raises:
            KafkaException: The network thread has ended.
        """
        if self.trace.fine:
            call = event.call.number
            self.trace.emit(CALL_POSTED, call=call, posted=type(event).__name__)
        self._mailbox.post(event, self._clock.now())

    def answer(self, call: Call) -> Steps[Any]:
        """Wait for a call whose event was posted, for as long as its deadline allows.

        Raises:
            WakeupException: `wakeup` was called.
            BaseException: The error of the call.
        """
        try:
            return (yield from self._awaited(call))
        finally:
            self.counters.ended(call, self._clock.now())

    def _awaited(self, call: Call) -> Steps[Any]:
        """The answer of a call, or its error; see `answer`."""
        until = call.began + TURN if call.without_time else call.deadline.at
        try:
            if not (yield from self._wait_until(call, until)):
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
        """End a call with timeout 0 before anything is asked.

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
            return True  # The thread has ended, and works on no call any more.
        return True

    def wait(self, call: Call, deadline: Deadline) -> Steps[bool]:
        """Wait for a call without ending it; return True if it has ended.

        Raises:
            WakeupException: `wakeup` was called.
        """
        return (yield from self._wait_until(call, deadline.at))

    def _wait_until(self, call: Call, until: float) -> Steps[bool]:
        """Wait for a call until a moment; return True if it has ended.

        Raises:
            WakeupException: `wakeup` was called, and the call had not ended.
        """
        try:
            while True:
                # A waiter of its own for each round. A waker sets the flag; a call that
                # this thread begins next finds it and raises; the one after that shows
                # its waiter, and only now the waker comes to open it. With that waiter
                # this loop would turn without waiting, and past its deadline.
                waiter = self._waiting_at = call.watch(self.new_waiter())
                if not call.is_open:
                    return True
                if self.woken and not self.closing:
                    self.woken = False
                    raise WakeupException(f"wakeup() ended {call.operation}")
                if not (yield from self._wait_at(waiter, call, until)):
                    return False
                self.counters.wakeups += 1
        finally:
            self._waiting_at = None

    def wait_for_end(self, call: Call, deadline: Deadline) -> Steps[bool]:
        """Wait for a call in `close`, without wake-ups; return True if it has ended."""
        waiter = call.watch(self.new_waiter())
        return (yield from self._wait_at(waiter, call, deadline.at)) or not call.is_open

    def _wait_at(self, waiter: Waiter, call: Call, until: float) -> Steps[bool]:
        """Wait on a waiter; return True if it has opened."""
        opened: bool
        if not self.trace.fine:
            opened = yield Until(waiter, until)
            return opened
        number, operation = call.number, call.operation
        self.trace.emit(CALLER_WAITING, call=number, operation=operation)
        opened = yield Until(waiter, until)
        why = "its waiter was opened" if opened else "its time was over"
        self.trace.emit(CALLER_WOKE, call=number, operation=operation, reason=why)
        return opened

    def raise_if_woken(self) -> None:
        """Raise if `wakeup` was called before this wait.

        Raises:
            WakeupException: There was one.
        """
        if self.woken and not self.closing:
            self.woken = False
            raise WakeupException("wakeup() was called before this call")

    def wakeup(self) -> None:
        """End the present wait, or the next one, with a WakeupException."""
        self.woken = True
        self.steady.off()
        waiter = self._waiting_at
        if waiter is not None:
            waiter.open()

    def now(self) -> float:
        """The present time of the client's clock."""
        return self._clock.now()

    def __repr__(self) -> str:
        return f"CallRunner({'closed' if self.closed else self.present or 'idle'})"
