"""The end of a consumer: one sequence, one budget.

Thread: the application's. Each phase may use the rest of the budget, and no phase is left out
because an earlier one failed, was late, or was interrupted: the first failure is raised at the
end, wrapped, when everything is closed. An interrupt outranks it and is raised as it is; it
means that the user waits no more, so the remaining phases get no time.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Final, Protocol

from prokurist.application.call_runner import LAST_TURN, CallRunner
from prokurist.application.caller_counters import CLOSED
from prokurist.application.driving import Run, Steps
from prokurist.application.telemetry import push_last
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.consumer.interceptors import Interceptors
from prokurist.errors import KafkaException
from prokurist.events.application_events import Close, CloseBegins
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.log_events import (
    CLIENT_CLOSED,
    CLOSE_ERROR_SUPPRESSED,
    CLOSE_INTERRUPTED,
    CLOSE_PHASE_ENDED,
)
from prokurist.lazy_dataclasses import dataclass

MOST_RESERVED: Final = 1.0
SHARE_RESERVED: Final = 0.25
"""Share of the budget reserved for the end itself: a quarter, and a second at most."""


class Thread(Protocol):
    """Interface of the network thread, for closing."""

    def join(self, seconds: float) -> object:
        """Wait for the end of the network thread, or return what waits for it."""
        ...


@dataclass
class Closing:
    """Closes a consumer: the phases in order, under one budget.

    Attributes:
        caller: The way to the network thread; it takes no calls once that ends.
        auto: The automatic commits, with a last one to make.
        commits: The asynchronous commits, to be ended.
        interceptors: The user's interceptors, to be closed.
        thread: The network thread.
        part: Calls the listener with the revoked partitions, in a client that is subscribed.
        tell: Passes the remaining events to `on_event`.
        leave: Leaves the group, by a call's deadline.
        pushes: Returns True if brokers want the last metrics.
    """

    caller: CallRunner
    auto: AutoCommitter
    commits: CommitQueue
    interceptors: Interceptors
    thread: Thread
    part: Callable[[], Steps[Exception | None]]
    tell: Callable[[], Steps[Exception | None]]
    leave: Callable[[Call], Steps[None]]
    pushes: Callable[[], bool]
    _failure: Exception | None = field(default=None, init=False)
    _interrupt: BaseException | None = field(default=None, init=False)
    _is_ending: bool = field(default=False, init=False)

    def run(self, budget: float, *, last_commit: bool) -> Steps[None]:
        """Close everything.

        Args:
            budget: Seconds.
            last_commit: True to commit returned positions, with auto-commit.

        Raises:
            KafkaException: A phase failed, with the error in the cause.
            BaseException: The interrupt that there was.
        """
        call = self.caller.call("close", budget)
        # Commits without an answer must not take the time that the end itself needs.
        reserved = min(MOST_RESERVED, budget * SHARE_RESERVED)
        commits_end = Deadline(call.deadline.at - reserved)
        self._begin(commits_end)
        yield from self._phase(
            "last commit", lambda: self.auto.close(self._by(commits_end), last=last_commit)
        )
        # What their answers say of the membership decides what the listener is to hear.
        yield from self._phase("commits", lambda: self.commits.finish(self._by(commits_end)))
        yield from self._phase("listener", self.part)
        if self.auto.has_newer:
            yield from self._phase(
                "stored offsets",
                lambda: self.auto.close(self._by(commits_end), last=last_commit),
            )
        if self.commits:
            # Those of the listener, and those that had no answer in time.
            yield from self._phase(
                "commits", lambda: self.commits.finish(self._by(commits_end))
            )
        yield from self._phase("callbacks", self.commits.give_up)
        # Always, and with the time that was kept for it: others wait for its partitions.
        if not (yield from self._phase("leave", lambda: self.leave(self._leaving(call)))):
            # An interrupt may have come before it was posted; of what has left this is nothing.
            yield from self._phase("leave", lambda: self.leave(self._leaving(call)))
        # While the callback may still call the consumer.
        yield from self._phase("events", self.tell)
        if self._interrupt is None and self.pushes():
            yield from self._phase(
                "telemetry", lambda: push_last(self.caller, call.began, call.deadline)
            )
        # The thread needs one turn to close everything. It is given that turn even if
        # the budget is used up, or was nothing.
        last = Deadline(max(call.deadline.at, self.caller.now() + LAST_TURN))
        while not self._is_ending:
            # Again if an interrupt came before it was told: this phase is never left out.
            yield from self._phase("network thread", lambda: self._end_thread(call, last))
        yield from self._phase("join", lambda: self._join(last))
        # Not before: an interrupt between two phases leaves a client that can be closed.
        self.caller.closed = True
        yield from self._phase("interceptors", self._close_interceptors)
        CLOSED.add(self.caller.counters)
        self.caller.trace.emit(CLIENT_CLOSED, seconds=self.caller.now() - call.began)
        self._raise()

    def _begin(self, commits_end: Deadline) -> None:
        """Have commits under way end before the time that leaving needs."""
        try:
            self.caller.post(CloseBegins(Call("close", self.caller.now(), commits_end)))
        except KafkaException:
            return  # The thread has ended by itself: nothing is under way.

    def _phase(self, name: str, work: Callable[[], Steps[Exception | None]]) -> Steps[bool]:
        """Run a phase, and note its error, its result and its time.

        Returns:
            False when an interrupt has ended it.
        """
        began = self.caller.now()
        try:
            failed = yield from work()
        except Exception as error:  # noqa: BLE001 - it is raised at the end
            failed = error
        except GeneratorExit:
            raise
        except BaseException as interrupt:  # noqa: BLE001 - as above
            self._interrupt = self._interrupt or interrupt
            return False
        finally:
            took = self.caller.now() - began
            self.caller.counters.closing.of(name).observe(took)
            self.caller.trace.emit(CLOSE_PHASE_ENDED, phase=name, seconds=took)
        if failed is not None and self._failure is not None:
            self.caller.trace.emit(CLOSE_ERROR_SUPPRESSED, error=failed)
        self._failure = self._failure or failed
        return True

    def _by(self, deadline: Deadline) -> Deadline:
        """The deadline of a phase; it has come once there was an interrupt."""
        return self._by_at(deadline, self.caller.now())

    def _by_at(self, deadline: Deadline, now: float) -> Deadline:
        return deadline if self._interrupt is None else deadline.earlier(Deadline(now))

    def _leaving(self, call: Call) -> Call:
        """Make the call of the leave; after an interrupt it has no time, so one turn.

        The clock is read once: a deadline a moment after the beginning would not mean that.
        """
        now = self.caller.now()
        return Call("close", now, self._by_at(call.deadline, now), trace=self.caller.tracing)

    def _end_thread(self, call: Call, last: Deadline) -> Steps[None]:
        try:
            self.caller.post(Close(call))
        except KafkaException:
            self._is_ending = True
            return  # The thread has ended by itself: its calls have heard so.
        self._is_ending = True
        yield from self.caller.wait_for_end(call, last)

    def _join(self, last: Deadline) -> Steps[None]:
        yield Run(self.thread.join, last.remaining(self.caller.now()))

    def _close_interceptors(self) -> Steps[None]:
        yield Run(self.interceptors.close)

    def _raise(self) -> None:
        if self._interrupt is not None:
            if self._failure is not None:
                self.caller.trace.emit(CLOSE_INTERRUPTED, error=self._failure)
            raise self._interrupt
        if self._failure is not None:
            name = type(self._failure).__name__
            raise KafkaException(
                f"closed, and on the way {name} was raised: {self._failure}"
            ) from self._failure
