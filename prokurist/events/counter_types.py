"""Counters: plain numbers with one writing thread and any readers.

Thread: each object has one owner, the thread that writes it; readers come from anywhere, at any
time.
Invariants: nothing here locks, waits, or reads a clock, so a reader delays no writer. A number
once read was once true; two numbers read one after the other may be of two moments. A table
never changes under a reader: a new label replaces the whole table.
"""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from prokurist.events.tally import Tally

Child = TypeVar("Child")

BYTES: Final = tuple(float(1 << power) for power in range(8, 28, 2))
"""Upper bounds for sizes: 256 bytes to 64 MiB."""

MOST_LABELS: Final = 200
"""Children of one family; later ones are counted together."""

OTHERS: Final = "(others)"
"""Label of all children beyond a full family."""


class Histogram(Tally):
    """Counts values by their bounds, and sums them; see `tally`."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)

    def __repr__(self) -> str:
        return f"Histogram({self.count} values, {self.total:g} in all)"


class Count:
    """A number for one label."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number: int = 0

    def __repr__(self) -> str:
        return f"Count({self.number})"


class Family(Generic[Child]):
    """Counters by label, bounded: the last one is for all further labels.

    Args:
        make: Makes one.
        most: How many labels at most.

    Attributes:
        children: By label; a new label replaces the whole table.
    """

    __slots__ = ("_make", "_most", "children")

    def __init__(self, make: Callable[[], Child], most: int = MOST_LABELS) -> None:
        self._make = make
        self._most = most
        self.children: Mapping[str, Child] = {}

    def of(self, label: str) -> Child:
        """The counter of a label; only the owner may call it."""
        child = self.children.get(label)
        return self._new(label) if child is None else child

    def _new(self, label: str) -> Child:
        if len(self.children) >= self._most:
            if (others := self.children.get(OTHERS)) is not None:
                return others
            label = OTHERS
        child = self._make()
        self.children = {**self.children, label: child}
        return child

    def __repr__(self) -> str:
        return f"Family({', '.join(self.children) or 'empty'})"


class Stretch:
    """Seconds for which a condition has held in all, the present time included."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        # One attribute, so that a reader sees both or neither change.
        self._state: tuple[float, float | None] = (0.0, None)

    def begin(self, now: float) -> None:
        """Note that the condition holds; no effect if it did."""
        total, since = self._state
        if since is None:
            self._state = total, now

    def end(self, now: float) -> None:
        """Note that it holds no longer; no effect if it did not."""
        self._state = self.seconds(now), None

    def seconds(self, now: float) -> float:
        """Seconds so far, the present stretch included."""
        total, since = self._state
        return total if since is None else total + max(0.0, now - since)

    def __repr__(self) -> str:
        total, since = self._state
        return f"Stretch({total:g} s{'' if since is None else ', going on'})"
