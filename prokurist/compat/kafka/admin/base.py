"""Base of kafka-python's administrator: its time, its errors.

Thread: any.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prokurist.admin import AclOperation, KafkaAdmin, Results
from prokurist.compat.absent import Client
from prokurist.compat.kafka.errors import as_theirs
from prokurist.compat.waiting import seconds
from prokurist.errors import KafkaException
from prokurist.events.clock import CallersClock, Deadline

MILLISECOND = 0.001


class AdminBase(Client):
    """The part of a KafkaAdminClient that all its calls stand on."""

    _admin: KafkaAdmin
    _clock: CallersClock
    _wait: float

    def _until(self, timeout_ms: float | None = None) -> Deadline:
        """The deadline of a call; 0 stands for none there."""
        return Deadline.after(
            self._clock.now(), seconds(timeout_ms or None, self._wait, MILLISECOND)
        )

    def _left(self, until: Deadline) -> float:
        return until.remaining(self._clock.now())

    @contextmanager
    def _converted(self) -> Iterator[None]:
        """Raise errors as kafka-python's.

        Raises:
            KafkaError: What the client below has raised.
        """
        try:
            yield
        except KafkaException as error:
            raise as_theirs(error) from error


def code_of(error: KafkaException | None) -> int:
    """The broker's number for an error; 0 for none.

    Raises:
        KafkaException: It is not the broker's: no answer says what became of the item.
    """
    if error is None:
        return 0
    if error.error_code is None:
        raise error
    return error.error_code


def text_of(error: KafkaException | None) -> str | None:
    """The broker's text for an error; None for none."""
    return None if error is None else str(error)


def told(error: KafkaException) -> str:
    """An error as kafka-python writes it into results."""
    theirs = as_theirs(error)
    number = "" if error.error_code is None else f"[Error {error.error_code}] "
    return f"{number}{type(theirs).__name__}: {theirs}"


def raise_first(results: Results[Any, Any]) -> None:
    """Raise the first error of an item.

    Raises:
        KafkaException: An item has failed.
    """
    for error in results.errors.values():
        raise error


def names_of(operations: frozenset[AclOperation] | None) -> list[str]:
    """The names of operations that a user is authorized to."""
    return [
        AclOperation(each).name for each in sorted(operations or ()) if each > AclOperation.ALL
    ]
