"""The operations that callers wait for, from their start to their end.

Thread: the network thread alone.

Each has an entry in the Timer for its deadline. Whichever comes first (its answer,
its error, its deadline, its caller's withdrawal) ends it, and the others find
nothing left: a call that has ended has no operation here.
"""

from collections.abc import Coroutine
from typing import Any

from prokurist.errors import KafkaException
from prokurist.errors.security import name_credentials
from prokurist.events.call import Call
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.timer import Due, Timer


class Expired(Withdrawn):
    """Thrown into an operation at its deadline; never seen by a user."""


class Calls:
    """The calls that are worked on, with their operations.

    Args:
        timer: The Timer.
        credentials: The client's identity to brokers, for errors of authorization.
    """

    def __init__(self, timer: Timer, credentials: str | None = None) -> None:
        self._timer = timer
        self._credentials = credentials
        self._running: dict[Call, Operation[Any]] = {}

    def start(self, call: Call, work: Coroutine[Any, Any, Any]) -> None:
        """Start an operation for a call, which ends at the deadline at the latest."""
        if not call.is_open:
            # Its caller left while the event lay in the mailbox.
            work.close()
            return
        due = self._timer.at(
            call.deadline.at, f"deadline of {call.operation}", lambda: self._expire(call)
        )
        operation = Operation(
            work,
            call.operation,
            lambda answer, error: self._ended(call, due, answer, error),
        )
        if not operation.ended:
            self._running[call] = operation

    def _ended(self, call: Call, due: Due, answer: Any, error: KafkaException | None) -> None:
        self._timer.cancel(due)
        self._running.pop(call, None)
        if error is None:
            call.finish(answer)
        elif isinstance(error, Withdrawn):
            # By its deadline, or because its caller has left: the report is then
            # made already, and this changes nothing.
            call.expire(self._timer.now)
        else:
            name_credentials(error, self._credentials)
            call.fail(error)

    def _expire(self, call: Call) -> None:
        operation = self._running.get(call)
        if operation is not None:
            # First the report, which tells of the wait that the operation is in;
            # then the end, which cleans that wait up.
            call.expire(self._timer.now)
            operation.throw(Expired("the deadline has come"))

    def withdraw(self, call: Call) -> None:
        """Stop working on a call whose caller has left before its deadline."""
        operation = self._running.get(call)
        if operation is not None:
            operation.throw(Withdrawn("the caller has left"))

    def fail(self, error: KafkaException) -> None:
        """End all calls with an error."""
        # First every report, then every clean-up: should one of those meet a bug of
        # ours, no caller waits any more. What it has not come to is left for a second try.
        for call in self._running:
            call.fail(error)
        while self._running:
            _, operation = self._running.popitem()
            operation.throw(Withdrawn(str(error)))

    def oldest(self) -> Call | None:
        """The call that has been worked on for longest."""
        return min(self._running, key=lambda call: call.began, default=None)

    def __len__(self) -> int:
        return len(self._running)

    def __repr__(self) -> str:
        return f"Calls({len(self._running)} running)"
