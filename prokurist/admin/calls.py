"""Calls of an admin client: submitted to the network thread, and awaited, item by item.

Thread: any application thread; each call has a wait of its own.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

from prokurist.admin.results import Listing, Results, listing_of, value_of
from prokurist.application.call_runner import CallRunner
from prokurist.application.caller_counters import CallerCounters
from prokurist.application.driving import Steps
from prokurist.application.single_thread_guard import PROCESS
from prokurist.assembly.admin import AdminSide
from prokurist.errors import (
    ForkedClientError,
    IllegalStateException,
    KafkaException,
    TimeoutException,
)
from prokurist.events.admin.items_call import ItemsCall, Outcome
from prokurist.events.admin.work import Work
from prokurist.events.application_events import Administer
from prokurist.events.clock import CallersClock, Deadline

T = TypeVar("T")


class AdminCalls:
    """The part of `KafkaAdmin` that all its calls stand on."""

    _side: AdminSide | None
    _clock: CallersClock
    _counters: CallerCounters
    _closed: bool
    _process: int
    _default: float

    def _run(self, steps: Steps[T]) -> T:
        """Take the steps of a call on this thread; `aio.KafkaAdmin` takes them in a task.

        What a call makes of its answers belongs to its steps: behind this there is nothing.
        """
        return self._runner().drive(steps)

    def _results(
        self, operation: str, work: Work, timeout: float | timedelta | None
    ) -> Results[Any, Any]:
        """Do some work, and return the outcome of each item."""
        return self._run(self._ask_all(operation, work, timeout))

    def _one(self, operation: str, work: Work, timeout: float | timedelta | None) -> Any:
        """Do the work of a single item, and return its value.

        Raises:
            KafkaException: It has failed.
        """
        return self._run(self._ask_one(operation, work, timeout))

    def _listing(
        self,
        operation: str,
        work: Work,
        timeout: float | timedelta | None,
        *,
        partial: bool,
    ) -> Listing[Any]:
        """Ask all brokers, and return their parts as one list."""
        return self._run(self._ask_brokers(operation, work, timeout, partial=partial))

    # --- steps -----------------------------------------------------------------------------

    def _ask_all(
        self, operation: str, work: Work, timeout: float | timedelta | None
    ) -> Steps[Results[Any, Any]]:
        """Take the steps of some work, to the outcome of each item."""
        return Results(operation, (yield from self._ask(operation, work, timeout)))

    def _ask_each(
        self, operation: str, work: Work, timeout: float | timedelta | None
    ) -> Steps[Results[Any, Any]]:
        """Take the steps of some work whose items have outcomes of their own within."""
        outcomes = yield from self._ask(operation, work, timeout)
        return Results(
            operation,
            {
                item: found
                if found.error is not None
                else Outcome(Results(f"{operation} of {item}", found.value))
                for item, found in outcomes.items()
            },
        )

    def _ask_one(
        self, operation: str, work: Work, timeout: float | timedelta | None
    ) -> Steps[Any]:
        """Take the steps of the work of a single item, to its value.

        Raises:
            KafkaException: It has failed.
        """
        (outcome,) = (yield from self._ask(operation, work, timeout)).values()
        return value_of(outcome)

    def _ask_brokers(
        self,
        operation: str,
        work: Work,
        timeout: float | timedelta | None,
        *,
        partial: bool,
    ) -> Steps[Listing[Any]]:
        """Take the steps of a question to all brokers, to their parts as one list."""
        outcomes = yield from self._ask(operation, work, timeout)
        return listing_of(operation, outcomes, partial=partial)

    def _ask(
        self,
        operation: str,
        work: Work,
        timeout: float | timedelta | Deadline | None,
        began: float | None = None,
    ) -> Steps[Mapping[Any, Outcome]]:
        """Take the steps of some work, to its deadline.

        Args:
            operation: The public name of the call.
            work: The work.
            timeout: Seconds, or the deadline of a call of several requests.
            began: When that call began; None if it begins here.

        Raises:
            KafkaException: Nothing was asked, of any item.
        """
        self._check_usable(operation)
        runner = self._runner()
        now = runner.now()
        if isinstance(timeout, Deadline):
            deadline = timeout
        else:
            deadline = Deadline.after(now, self._default if timeout is None else timeout)
        started = now if began is None else began
        call = ItemsCall(operation, started, deadline, work.items, trace=runner.tracing)
        error: KafkaException | None = None
        try:
            if call.without_time:
                runner.refuse(call)
            yield from runner.ask(call, Administer(call, work))
        except TimeoutException as late:
            if not call.timed_out:
                raise
            error = late
        except KafkaException as failed:
            if not call.attempts:
                raise
            error = failed
        outcomes = call.outcomes(error)
        if error is not None and not outcomes:
            raise error
        return outcomes

    def _until(self, timeout: float | timedelta | None) -> Deadline:
        """Begin a call of several steps: from here on its deadline stands."""
        return Deadline.after(self._clock.now(), self._default if timeout is None else timeout)

    def _left(self, deadline: Deadline) -> float:
        """The seconds of the next step."""
        return deadline.remaining(self._clock.now())

    # --- within ----------------------------------------------------------------------------

    def _built(self) -> AdminSide:
        if self._side is None:
            raise AssertionError("an admin client that was never built")
        return self._side

    def _runner(self) -> CallRunner:
        """For one call: many threads may be inside, each with a wait of its own."""
        side = self._built()
        runner = CallRunner(self._clock, side.thread.mailbox, self._default, side.trace)
        runner.counters = self._counters
        return runner

    def _check_usable(self, operation: str) -> None:
        """Refuse a call of an admin client that is closed, or was copied by a fork."""
        if PROCESS.id != self._process:
            raise ForkedClientError(
                f"{operation} of an admin client that process {self._process} built, in "
                f"process {PROCESS.id}: its thread and connections stayed there; build one "
                f"after the fork"
            )
        if self._closed:
            raise IllegalStateException(
                f"{operation} of an admin client that is closed: build another"
            )
