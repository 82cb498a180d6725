"""Ends of a producer: by a call, by a `with` block, at the interpreter's exit, or forgotten.

Thread: any application thread; the collector's may be any.
"""

import os
import threading
import warnings
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

from prokurist.application import at_exit
from prokurist.application.call_runner import LAST_TURN
from prokurist.application.driving import Steps, Until
from prokurist.application.open_clients import OPEN
from prokurist.application.single_thread_guard import PROCESS
from prokurist.assembly.producer import ProducerSide
from prokurist.errors import KafkaException
from prokurist.events.application_events import DeliverAndEnd
from prokurist.events.call import Call
from prokurist.events.clock import Deadline, as_seconds
from prokurist.events.waiter import Waiter
from prokurist.producer.closing import Closing, Thread
from prokurist.producer.producer_counters import CountedProducer
from prokurist.producer.transacting import Transactions
from prokurist.producer.user_code import UserCode
from prokurist.producer.waiting_calls import WaitingCalls

AT_EXIT: Final = 1.0
"""Seconds in which a producer that was not closed is flushed when the interpreter ends, and
for what is on the wire when a `with` block is left by an exception."""


class EndingCalls(WaitingCalls):
    """Calls that end a `KafkaProducer`."""

    _is_closing: bool
    _ended: bool
    _close_ended: Waiter
    _closed_by: int
    _counted: CountedProducer
    _user_code: UserCode | None
    _transactions: Transactions | None

    def close(self, timeout: float | timedelta | None = None) -> int:
        """Close the producer, by its time, and never later.

        An open transaction is aborted; without one, what was sent is flushed. What is left when
        the time is nearly over fails, and its handles and callbacks tell whether it may have
        been written all the same. Called in a delivery callback it waits for nothing. A call
        while another thread closes waits for that by its own time; once closed, a call does
        nothing. An interrupt (Ctrl-C) ends the wait, and closes all the same.

        Args:
            timeout: Seconds; None for `delivery.timeout.ms`.

        Returns:
            How many records were given up; if there are any, the log has an error. While
            another thread closes yet, how many are left.
        """
        return self._drive(self._close_steps(timeout))

    def _close_steps(self, timeout: float | timedelta | None) -> Steps[int]:
        seconds = self._delivery_timeout if timeout is None else as_seconds(timeout)
        if PROCESS.id != self._process:
            self._check_usable("close")
        closing = None
        try:
            with self._closing:
                if self._ended:
                    return 0
                if self._is_closing:
                    other = self._close_ended
                else:
                    self._close_ended = other = Waiter()
                    self._closed_by = threading.get_ident()
                    closing = Closing(
                        self._accumulator,
                        self._runner(),
                        self._thread(),
                        self._may_wait(),
                        self._pushes(),
                        self._transactions,
                    )
                    self._is_closing = self._closed = True
            if closing is None:
                return (yield from self._await_close(other, seconds))
            return (yield from closing.run(seconds))
        finally:
            if closing is not None:
                self._is_closing, self._ended = False, closing.is_ending
                self._close_ended.open()
                OPEN.remove(self._counted)
                vars(self).pop("send", None)
                if self._user_code is not None:
                    self._user_code.close()

    def _thread(self) -> Thread:
        """The network thread, for `close`."""
        return self._built().thread

    def _await_close(self, ended: Waiter, seconds: float) -> Steps[int]:
        """Wait until another thread has closed the producer; return what is left of records.

        The network thread does not wait, nor does a signal handler that has interrupted
        `close` on its own thread.
        """
        if self._may_wait() and self._closed_by != threading.get_ident():
            yield Until(ended, Deadline.after(self._clock.now(), seconds).at)
        batches = self._accumulator.snapshot()
        return sum(batch.count for batch in batches if not batch.ended)

    def _close_at_exit(self, seconds: float, *, last_commit: bool) -> None:
        """Flush for a moment at the end of the interpreter."""
        del last_commit
        self.close(min(seconds, AT_EXIT))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close(min(AT_EXIT, self._delivery_timeout))
        except Exception as own:  # noqa: BLE001 - whatever it is, the first error goes on
            error.add_note(f"and closing the producer failed: {own}")

    def __del__(self) -> None:
        # Of a half-built producer there may be nothing; of a forked one, nothing is ours.
        side = getattr(self, "_side", None)
        if side is None or self._ended or os.getpid() != self._process:
            return
        unclosed = (
            f"{self!r} was never closed: close it, or use it in a with statement; what was "
            f"sent is still delivered, if the process lives for long enough"
        )
        self._closed = self._ended = True
        leave(side)
        warnings.warn(unclosed, ResourceWarning, source=self, stacklevel=2)


def leave(side: ProducerSide) -> None:
    """Have the records of a forgotten producer delivered, and its network thread ended then.

    The thread alone keeps what that needs; `delivery.timeout.ms` bounds it.
    """
    thread = side.thread
    at_exit.remember(thread, await_end, side.trace)
    now = side.timer.now
    try:
        thread.mailbox.post(DeliverAndEnd(Call("close", now, Deadline(now))))
    except KafkaException:
        return  # It has ended by itself.


def await_end(thread: Thread, seconds: float, *, last_commit: bool) -> None:
    """Give the thread of a forgotten producer a moment at the end of the interpreter."""
    del last_commit
    if not thread.join(min(seconds, AT_EXIT)):
        # What is left fails, each batch with a line in the log.
        thread.abandon()
        thread.join(LAST_TURN)
