"""Records lent to an iteration, and its next step: interface of both twins.

Thread: the application's; `Steady.off` comes from any, and from a signal handler. Readers on
the network thread may see a step half made: they then see the record before.

A step hands out one record of those that were lent. It may be made without a look round while
nothing has happened that a step has to see: a call of the consumer, a wake-up, something for
a poll to do, a partition that goes or is read elsewhere. Each of these puts `Steady` off
*before* it changes anything, and a slow step, under the lock of the assignment, puts it on
again.

The pure twin is the specification: there each step is a slow one. The native one makes a step
in one piece, with the GIL held, so nothing comes between its look at `Steady` and the record
that is handed out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, cast

from prokurist.twins import Choice, chosen

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.events._native_hand",
    "python": "prokurist.events.pure_hand",
}
"""The twins, the preferred one first."""


class Handed(Protocol):
    """Interface of a record's place."""

    @property
    def offset(self) -> int:
        """Its offset."""
        ...

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch it was written in, where that is known."""
        ...


class Steady(Protocol):
    """Flag of the fast path: the next step may skip its checks."""

    def on(self) -> None:
        """It may."""
        ...

    def off(self) -> None:
        """It may not, until a slow step was made."""
        ...


class Hand(Protocol):
    """The records that were lent to an iteration, and the one that it works on.

    Attributes:
        last: The record that was handed out last.
        before: The one before that.
        in_hand: True until the user is done with the last one.
        given: How many records were handed out.
        due: When a step has to look round in any case; infinite for never.
    """

    last: Handed | None
    before: Handed | None
    in_hand: bool
    due: float

    @property
    def given(self) -> int:
        """See the class."""
        ...

    def step(self) -> Any:
        """Hand out the next record; None where that takes a slow step."""
        ...

    def take(self) -> Any:
        """Return the next record, not yet given to the user; None where there is none."""
        ...

    def give(self, record: Handed) -> None:
        """The user is given one more record."""
        ...

    def take_back(self) -> None:
        """An interrupt came before the user had the last one: it is handed out again."""
        ...


class HandType(Protocol):
    """Constructor of a hand."""

    def __call__(
        self, steady: Steady, records: Iterable[Handed], now: Callable[[], float]
    ) -> Hand:
        """Of some records, iterated again after an interrupt; `now` reads the clock."""
        ...


CHOICE: Final[Choice] = chosen(MODULES)
"""The choice for this process."""

make_steady: Final = cast("Callable[[], Steady]", CHOICE.module.Steady)
make_hand: Final = cast("HandType", CHOICE.module.Hand)

NOTHING: Final[Iterator[Handed]] = iter(())
"""No records."""
