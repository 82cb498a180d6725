"""The ledger of a cancelled call.

Thread: the event loop's.
"""

from asyncio import CancelledError

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.errors import Attempt, Wait
from prokurist.events.call import Call
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import counted


@dataclass(frozen=True, slots=True)
class CallReport:
    """Ledger of a cancelled call, the attribute `report` of its CancelledError.

    Attributes:
        operation: The name of the call.
        elapsed: Seconds from its beginning to the cancellation.
        answered: True if it had ended when the cancellation came: its result is lost.
        may_have_happened: True if something may have changed on a broker.
        attempts: The requests that were written.
        waits: Its waits.
    """

    operation: str
    elapsed: float
    answered: bool
    may_have_happened: bool
    attempts: tuple[Attempt, ...]
    waits: tuple[Wait, ...]

    def __str__(self) -> str:
        tried = counted(len(self.attempts), "request")
        if self.answered:
            outcome = "it had been answered, and the answer is lost"
        elif self.may_have_happened:
            outcome = "it may have happened all the same"
        else:
            outcome = "it has not happened, and will not"
        return (
            f"{self.operation} was cancelled after {self.elapsed:.3f} s and {tried}: {outcome}"
        )


class ReportingRunner(CallRunner):
    """A runner that leaves the ledger of a cancelled call with the CancelledError."""

    def answer(self, call: Call) -> Steps[object]:
        """See `CallRunner.answer`."""
        try:
            return (yield from super().answer(call))
        except CancelledError as cancelled:
            # `answer` has withdrawn it: what had ended before is as it was.
            attempts, waits = call.ledger
            report = CallReport(
                call.operation,
                self.now() - call.began,
                call.has_answer,
                call.may_have_happened,
                attempts,
                waits,
            )
            cancelled.report = report  # type: ignore[attr-defined]
            cancelled.add_note(str(report))
            raise
