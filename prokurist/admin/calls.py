"""Calls of an admin client: submitted to the network thread, and awaited, item by item.

Thread: any application thread; each call has a wait of its own.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from prokurist.admin.results import Listing, Results, listing_of, value_of
from prokurist.application.call_runner import CallRunner
from prokurist.application.caller_counters import CallerCounters
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


class AdminCalls:
    """The part of `KafkaAdmin` that all its calls stand on."""

    _side: AdminSide | None
    _clock: CallersClock
    _counters: CallerCounters
    _closed: bool
    _process: int
    _default: float

    def _results(
        self, operation: str, work: Work, timeout: float | timedelta | None
    ) -> Results[Any, Any]:
        """Do some work, and return the outcome of each item."""
        return Results(operation, self._ended(operation, work, timeout))

    def _one(self, operation: str, work: Work, timeout: float | timedelta | None) -> Any:
        """Do the work of a single item, and return its value.

        Raises:
            KafkaException: It has failed.
        """
        (outcome,) = self._ended(operation, work, timeout).values()
        return value_of(outcome)

    def _listing(
        self,
        operation: str,
        work: Work,
        timeout: float | timedelta | None,
        *,
        partial: bool,
    ) -> Listing[Any]:
        """Ask all brokers, and return their parts as one list."""
        return listing_of(operation, self._ended(operation, work, timeout), partial=partial)

    def _ended(
        self, operation: str, work: Work, timeout: float | timedelta | None
    ) -> Mapping[Any, Outcome]:
        """Do some work until its deadline.

        Raises:
            KafkaException: Nothing was asked, of any item.
        """
        self._check_usable(operation)
        runner = self._runner()
        now = runner.now()
        deadline = Deadline.after(now, self._default if timeout is None else timeout)
        call = ItemsCall(operation, now, deadline, work.items, trace=runner.tracing)
        error: KafkaException | None = None
        try:
            if call.without_time:
                runner.refuse(call)
            runner.drive(runner.ask(call, Administer(call, work)))
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
