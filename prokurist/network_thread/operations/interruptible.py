"""A wait for a promise that can be ended from outside its operation.

Thread: the network thread alone.
"""

from typing import Generic, TypeVar

from prokurist.errors import KafkaException
from prokurist.network_thread.operations.operation import Promise

Value = TypeVar("Value")


class Interruptible(Generic[Value]):
    """Awaits a promise, unless the wait is interrupted before.

    Args:
        awaited: The promise; it is forsaken when the wait is.

    Attributes:
        outcome: What to await.
    """

    __slots__ = ("_awaited", "outcome")

    def __init__(self, awaited: Promise[Value]) -> None:
        self._awaited = awaited
        self.outcome: Promise[Value] = Promise()
        if awaited.is_kept:
            self._step()
            return
        awaited.add(self._step)
        self.outcome.on_forsaken = self._leave

    def interrupt(self, error: KafkaException) -> None:
        """End the wait with an error, and forsake what is awaited."""
        if not self.outcome.is_kept:
            self._leave()
            self.outcome.break_(error)

    def _step(self) -> None:
        if self._awaited.error is not None:
            self.outcome.break_(self._awaited.error)
        else:
            self.outcome.keep(self._awaited.value)

    def _leave(self) -> None:
        self._awaited.remove(self._step)

    def __repr__(self) -> str:
        return f"Interruptible({self._awaited})"
