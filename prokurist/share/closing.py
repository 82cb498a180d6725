"""The end of a share consumer: one sequence, one budget.

Thread: the application's. Each phase may use the rest of the budget, and none is left out
because an earlier one failed or was interrupted. An interrupt is raised when everything is
closed, and means that the phases behind it get no time.
"""

from collections.abc import Callable
from typing import Final, Protocol

from prokurist.application.call_runner import LAST_TURN, CallRunner
from prokurist.application.caller_counters import CLOSED
from prokurist.application.driving import Run, Steps
from prokurist.application.telemetry import push_last
from prokurist.assembly.share import ShareSide
from prokurist.errors import KafkaException
from prokurist.events.application_events import Close, EndSharing, Leave
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.events.log_events import (
    CLIENT_CLOSED,
    CLOSE_ERROR_SUPPRESSED,
    CLOSE_PHASE_ENDED,
)
from prokurist.events.share_log_events import UNKNOWN_AT_CLOSE
from prokurist.share.acknowledging import Acknowledging

MOST_RESERVED: Final = 1.0
SHARE_RESERVED: Final = 0.25
"""Share of the budget reserved for leaving: a quarter, and a second at most."""


class Thread(Protocol):
    """Interface of the network thread, for closing."""

    def join(self, seconds: float) -> object:
        """Wait for the end of the network thread, or return what waits for it."""
        ...


class ShareClosing:
    """Closes a share consumer, or has it leave its group.

    Args:
        caller: The way to the network thread.
        side: The network side.
        acknowledging: Has callbacks that are to be told.
        thread: The network thread.
    """

    def __init__(
        self,
        caller: CallRunner,
        side: ShareSide,
        acknowledging: Acknowledging,
        thread: Thread,
    ) -> None:
        self._caller = caller
        self._side = side
        self._acknowledging = acknowledging
        self._thread = thread
        self._interrupt: BaseException | None = None

    def leave(self, call: Call) -> Steps[None]:
        """Send all marks, release the rest, and leave the group, by a call's deadline."""
        budget = max(0.0, call.deadline.at - call.began)
        reserved = min(MOST_RESERVED, budget * SHARE_RESERVED)
        ends = Deadline(call.deadline.at - reserved)
        yield from self._phase("acknowledge", lambda: self._acknowledge(ends))
        yield from self._phase("callbacks", self._callbacks)
        yield from self._phase("leave", lambda: self._leave(call))

    def run(self, budget: float) -> Steps[None]:
        """Close everything.

        Raises:
            BaseException: The interrupt that there was.
        """
        call = self._caller.call("close", budget)
        yield from self.leave(call)
        last = Deadline(max(call.deadline.at, self._caller.now() + LAST_TURN))
        telemetry = self._side.telemetry
        if telemetry is not None and telemetry.pushes:
            yield from self._phase(
                "telemetry",
                lambda: push_last(self._caller, call.began, self._within(call.deadline)),
            )
        yield from self._phase("network thread", lambda: self._end_thread(call, last))
        yield from self._phase("join", lambda: self._join(last))
        self._caller.closed = True
        CLOSED.add(self._caller.counters)
        self._caller.trace.emit(CLIENT_CLOSED, seconds=self._caller.now() - call.began)
        self.raise_interrupt()

    def raise_interrupt(self) -> None:
        """Raise the interrupt that there was."""
        if self._interrupt is not None:
            raise self._interrupt

    def _phase(self, name: str, work: Callable[[], Steps[None]]) -> Steps[None]:
        began = self._caller.now()
        try:
            yield from work()
        except Exception as error:  # noqa: BLE001 - closing goes on
            self._caller.trace.emit(CLOSE_ERROR_SUPPRESSED, error=error)
        except GeneratorExit:
            raise
        except BaseException as interrupt:  # noqa: BLE001 - raised at the end
            self._interrupt = self._interrupt or interrupt
        finally:
            took = self._caller.now() - began
            self._caller.counters.closing.of(name).observe(took)
            self._caller.trace.emit(CLOSE_PHASE_ENDED, phase=name, seconds=took)

    def _within(self, deadline: Deadline) -> Deadline:
        now = self._caller.now()
        return deadline if self._interrupt is None else deadline.earlier(Deadline(now))

    def _acknowledge(self, deadline: Deadline) -> Steps[None]:
        if not self._side.assigned.is_used:
            return
        now = self._caller.now()
        call = Call("close", now, self._within(deadline), trace=self._caller.tracing)
        outcome = AcknowledgeOutcome()
        marked = self._side.lent.marked()
        if not self._post(EndSharing(call, outcome)):
            return
        ended = yield from self._caller.wait_for_end(call, self._last_of(call))
        if not ended:
            self._caller.withdraw(call, KafkaException("the share sessions were left open"))
        unknown = marked - sum(map(len, outcome.done.values()))
        if unknown > 0:
            self._caller.trace.emit(UNKNOWN_AT_CLOSE, records=unknown)
        if outcome:
            self._side.lent.report(outcome)

    def _callbacks(self) -> Steps[None]:
        yield from self._acknowledging.run_callbacks()

    def _leave(self, call: Call) -> Steps[None]:
        if not self._side.assigned.is_used:
            return
        now = self._caller.now()
        leaving = Call(
            call.operation, now, self._within(call.deadline), trace=self._caller.tracing
        )
        self._side.assigned.unsubscribe()
        if not self._post(Leave(leaving)):
            return
        if not (yield from self._caller.wait_for_end(leaving, self._last_of(leaving))):
            self._caller.withdraw(leaving, KafkaException("the group has not heard of it"))
        self._side.background.forgive()

    def _last_of(self, call: Call) -> Deadline:
        """The end of a call's wait: with no time left it has one turn."""
        return Deadline(max(call.deadline.at, call.began + LAST_TURN))

    def _post(self, event: EndSharing | Leave) -> bool:
        try:
            self._caller.post(event)
        except KafkaException:
            return False  # The thread has ended by itself.
        return True

    def _end_thread(self, call: Call, last: Deadline) -> Steps[None]:
        try:
            self._caller.post(Close(call))
        except KafkaException:
            return
        yield from self._caller.wait_for_end(call, last)

    def _join(self, last: Deadline) -> Steps[None]:
        yield Run(self._thread.join, last.remaining(self._caller.now()))

    def __repr__(self) -> str:
        return f"ShareClosing({self._side})"
