"""Choices for parallel work: the order, and further attempts.

Thread: any; frozen values.
"""

import random
from collections.abc import Callable
from dataclasses import field
from enum import Enum

from prokurist.events.backoff import Backoff
from prokurist.lazy_dataclasses import dataclass


class Order(Enum):
    """Records that are worked on one after the other."""

    KEY = "key"
    """Those with equal keys, of one partition; without a key, none."""
    PARTITION = "partition"
    """Those of one partition."""
    NONE = "none"
    """None."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Further attempts after a failure, with pauses between them.

    A pause is doubled with each failure of the record, with a jitter of a fifth to both sides.
    Meanwhile only the records wait that come after it by the `Order`.

    Attributes:
        attempts: How often a record is tried at most, the first time included.
        first: The first pause, in seconds.
        most: The longest pause.
        hopeless: Exceptions after which no attempt is made.
        random: A number from 0 up to 1, for the jitter.

    Raises:
        TypeError: A number is none, or `hopeless` is no tuple of exceptions.
        ValueError: A number is too small.
    """

    attempts: int = 3
    first: float = 1.0
    most: float = 60.0
    hopeless: tuple[type[Exception], ...] = ()
    random: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int):
            raise TypeError(f"attempts is an int, not {self.attempts!r}")
        if self.attempts < 1:
            raise ValueError(f"attempts is at least 1, the first one, not {self.attempts}")
        pauses: tuple[tuple[str, object], ...] = (("first", self.first), ("most", self.most))
        for name, seconds in pauses:
            if isinstance(seconds, bool) or not isinstance(seconds, int | float):
                raise TypeError(f"{name} is a number of seconds, not {seconds!r}")
            if not 0 <= seconds < float("inf"):
                raise ValueError(f"{name} is a number of seconds from 0 on, not {seconds}")
        hopeless: object = self.hopeless
        if not isinstance(hopeless, tuple) or not all(map(is_exception, hopeless)):
            raise TypeError(f"hopeless is a tuple of exceptions, not {hopeless!r}")

    def pause(self, failures: int, error: BaseException) -> float | None:
        """The pause before the next attempt, in seconds; None where none is made."""
        if failures >= self.attempts or isinstance(error, self.hopeless):
            return None
        return Backoff(self.first, self.most, self.random).pause(failures)


def is_exception(given: object) -> bool:
    """True for a class of exceptions that a handler may raise."""
    return isinstance(given, type) and issubclass(given, Exception)
