"""What is counted: plain numbers that one thread writes and any may read.

Thread: each object has one owner, the thread that writes it; readers come from
anywhere, at any time.
Invariants: nothing here locks, waits, or reads a clock, so a reader delays nobody. A
number that is read is one that it once was; two of them that are read one after the
other may be of two moments. What a reader walks through is never changed under it: a
new label puts a new table in the place of the old one.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

Child = TypeVar("Child")

SECONDS: Final = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
"""Upper bounds for spans, from a turn of the loop to a poll interval."""

BYTES: Final = tuple(float(1 << power) for power in range(8, 28, 2))
"""Upper bounds for sizes: 256 bytes to 64 MiB."""

MOST_LABELS: Final = 200
"""Children of one family; what comes later is counted together."""

OTHERS: Final = "(others)"
"""The label of what came when a family was full."""


class Histogram:
    """How many values fell below which bound, and what they come to.

    Attributes:
        bounds: The upper bounds, each inclusive, in order.
        counts: One for each bound, and one for what lies above all of them.
        total: The sum of the values.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds: tuple[float, ...] = bounds
        self.counts: list[int] = [0] * (len(bounds) + 1)
        self.total: float = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    def add(self, other: "Histogram") -> None:
        """Count all that another one has counted; its bounds are the same."""
        self.counts = [
            ours + theirs for ours, theirs in zip(self.counts, other.counts, strict=True)
        ]
        self.total += other.total

    def __repr__(self) -> str:
        return f"Histogram({self.count} values, {self.total:g} in all)"


class Family(Generic[Child]):
    """One of a kind for each label, bounded: the last one is for all others.

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
        """The one for a label; only the owner asks."""
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
    """How long something has been so, all stretches together, the present one included."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        # One attribute, so that a reader sees both or neither change.
        self._state: tuple[float, float | None] = (0.0, None)

    def begin(self, now: float) -> None:
        """It is so; nothing happens where it was."""
        total, since = self._state
        if since is None:
            self._state = total, now

    def end(self, now: float) -> None:
        """It is so no longer; nothing happens where it was not."""
        self._state = self.seconds(now), None

    def seconds(self, now: float) -> float:
        """How long by now."""
        total, since = self._state
        return total if since is None else total + max(0.0, now - since)

    def __repr__(self) -> str:
        total, since = self._state
        return f"Stretch({total:g} s{'' if since is None else ', going on'})"
