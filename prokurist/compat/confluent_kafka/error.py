"""confluent-kafka's errors: a value with a number, and the exception that holds it."""

from functools import total_ordering
from operator import index
from typing import Any, TypeAlias

from prokurist.compat.confluent_kafka.codes import NAMES, Codes
from prokurist.errors.codes import by_code

__all__ = ["KafkaError", "KafkaException"]

Text: TypeAlias = str
"""In a class that has a method of this name."""


@total_ordering
class KafkaError(Codes, Exception):
    """An error as a value: its number, and what it means.

    It equals its number. Calls raise `KafkaException` alone; this is an exception as well
    because programs name both in one `except`.

    Args:
        error: One of the numbers.
        reason: A text; None for the number's own.
        fatal: The client will not work again.
        retriable: Another try may succeed.
        txn_requires_abort: The transaction has to be aborted.
    """

    __slots__ = ("_code", "_fatal", "_reason", "_requires_abort", "_retriable")

    def __init__(
        self,
        error: int,
        reason: str | None = None,
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None:
        super().__init__(error, reason)
        self._code = index(error)
        self._reason = reason
        self._fatal = fatal
        self._retriable = retriable
        self._requires_abort = txn_requires_abort

    def code(self) -> int:
        """The number, as `KafkaError`'s constants have it."""
        return self._code

    def name(self) -> str:
        """The constant's name."""
        return NAMES.get(self._code, f"ERR_{self._code}?")

    def str(self) -> str:
        """Return its meaning in words."""
        if self._reason is not None:
            return self._reason
        known = by_code().get(self._code)
        if known is not None and known.__doc__:
            return f"Broker: {known.__doc__.partition(chr(10))[0].rstrip('.')}"
        side = "Local" if self._code < -1 else "Broker"
        return f"{side}: {self.name().strip('_').replace('_', ' ').lower()}"

    def fatal(self) -> bool:
        """Return True if the client will not work again."""
        return self._fatal

    def retriable(self) -> bool:
        """Return True if another try may succeed."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Return True if the transaction has to be aborted."""
        return self._requires_abort

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KafkaError):
            return self._code == other._code
        return self._code == other if isinstance(other, int) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self._code < (other._code if isinstance(other, KafkaError) else other)

    def __hash__(self) -> int:
        return hash(self._code)

    def __reduce__(self) -> tuple[type["KafkaError"], tuple[object, ...]]:
        return KafkaError, (
            self._code,
            self._reason,
            self._fatal,
            self._retriable,
            self._requires_abort,
        )

    def __str__(self) -> Text:
        return repr(self)

    def __repr__(self) -> Text:
        fatal = "FATAL," if self._fatal else ""
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self.str()}"}}'


class KafkaException(Exception):
    """Raised by calls; its one argument is a `KafkaError`, its cause our exception."""
