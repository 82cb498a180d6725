"""The pure twin of a hand: every step of an iteration is a slow one; see `hand`.

Thread: the application's.
"""

import math
from collections.abc import Callable, Iterable

from prokurist.events.hand import Handed


class Steady:
    """Never on: nothing but a lock keeps two threads apart here."""

    __slots__ = ()

    def on(self) -> None:
        """It stays off."""

    def off(self) -> None:
        """It is."""


class Hand:
    """See `hand.Hand`.

    Args:
        _steady: Never on.
        records: What was lent.
        _now: Not asked: a slow step reads the clock itself.
    """

    __slots__ = ("_pending", "_records", "before", "due", "given", "in_hand", "last")

    def __init__(
        self, _steady: object, records: Iterable[Handed], _now: Callable[[], float]
    ) -> None:
        self._records = iter(records)
        self._pending: Handed | None = None
        self.last: Handed | None = None
        self.before: Handed | None = None
        self.in_hand: bool = False
        self.given: int = 0
        self.due: float = math.inf

    def step(self) -> None:
        """Always None: see the module."""
        return

    def take(self) -> Handed | None:
        """The next record, which `give` hands out; None where there is none."""
        pending, self._pending = self._pending, None
        return next(self._records, None) if pending is None else pending

    def give(self, record: Handed) -> None:
        """The user is given one more record."""
        self.before, self.last = self.last, record
        self.in_hand = True
        self.given += 1

    def take_back(self) -> None:
        """An interrupt came before the user had the last one: it is handed out again."""
        self._pending, self.last, self.before = self.last, self.before, None
        self.in_hand = False
        self.given -= 1
