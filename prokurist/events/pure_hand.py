"""The pure twin of a hand: every step of an iteration is a slow one; see `hand`.

Thread: the application's.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

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
        records: The lent records.
        _now: Not asked: a slow step reads the clock itself.
    """

    __slots__ = (
        "_iterator",
        "_pending",
        "_records",
        "before",
        "due",
        "given",
        "in_hand",
        "last",
    )

    def __init__(
        self, _steady: object, records: Iterable[Handed], _now: Callable[[], float]
    ) -> None:
        self._records = records
        self._iterator: Iterator[Handed] | None = iter(records)
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
        """Return the next record, not yet given to the user; None where there is none."""
        if self._pending is not None:
            return self._pending
        # An interrupt in it ends an iterator, as if there were no more: it is not kept then.
        iterator, self._iterator = self._iterator, None
        if iterator is None:
            iterator = islice(self._records, self.given, None)
        record = next(iterator, None)
        self._iterator, self._pending = iterator, record
        return record

    def give(self, record: Handed) -> None:
        """The user is given one more record."""
        self._pending = None
        self.before, self.last = self.last, record
        self.in_hand = True
        self.given += 1

    def take_back(self) -> None:
        """An interrupt came before the user had the last one: it is handed out again."""
        self._pending, self.last, self.before = self.last, self.before, None
        self.in_hand = False
        self.given -= 1
