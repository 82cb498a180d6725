"""Computes how many partitions each member gets: balanced first, then with the fewest moves.

Partitions that the same members may read are of one kind, and here only their numbers
count. What a member has in all is its load. Level means that the sum of the squared loads
is the smallest there is: no member with two more than another could pass one to it, neither
directly nor along a chain of members each of which passes one on. Of all that are level, the
result is one where the fewest partitions leave the member that had them.

Both are exact; it is the textbook's flow of least cost, by successive shortest ways. Each
member begins with all that it had, and what no member had is given to those with least: so
nothing has been moved, which costs nothing. Then what some have too many of goes to those
with too few, the cheapest way first: a partition that leaves its member costs one, one that
comes back to its member is a gain of one, and all else is free. Cheapest first keeps the
whole at its least cost all the time. Each way takes as many as can go it, so that what it
takes to find them depends on how many members and kinds there are, and not on how many
partitions.

Who has too many is a matter of the average. Where some end above it and cannot get rid of
what they have, or some below it and cannot be given any, the members fall into two parts:
those that a surplus can still reach, who alone may read what there is of the kinds that it
can reach, and the others. In nothing that is level do the others' kinds have a reader of
the first part, who has as many or more anyway. So each part is levelled by itself.

Thread: either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

Place: TypeAlias = int
"""A node of the flow: a member, counted from 0 up, or a kind of partitions, from -1 down."""

Numbers: TypeAlias = Mapping[Place, int]
"""Of each kind, how many partitions; a kind that is left out has none."""

FAR: Final = 1 << 62
"""More than any way costs, and than there are partitions."""


class PartitionClass(NamedTuple):
    """Partitions that the same members may read.

    Attributes:
        number: How many.
        readers: Those members, one at least.
    """

    number: int
    readers: Sequence[Place]


def levelled(
    kinds: Mapping[Place, PartitionClass], had: Mapping[Place, Numbers]
) -> dict[Place, dict[Place, int]]:
    """Return how many partitions of each kind each member gets.

    Args:
        kinds: All kinds of partitions.
        had: Each member, in order, with its former numbers that it may keep.
    """
    result: dict[Place, dict[Place, int]] = {}
    parts = [(kinds, had)] if had else []
    while parts:
        kinds, had = parts.pop()
        flow = Flow(kinds, had)
        high = flow.level()
        if not high:
            result |= flow.has
            continue
        above = {each: kind for each, kind in kinds.items() if each in high}
        below = {
            each: PartitionClass(
                kind.number, [reader for reader in kind.readers if reader not in high]
            )
            for each, kind in kinds.items()
            if each not in high
        }
        for some, inside in ((above, True), (below, False)):
            owners = {
                member: {each: number for each, number in had[member].items() if each in some}
                for member in had
                if (member in high) is inside
            }
            parts.append((some, owners))
    return result


class Flow:
    """Numbers on their way to be level.

    Attributes:
        has: How many of each kind each member has by now.
    """

    def __init__(
        self, kinds: Mapping[Place, PartitionClass], had: Mapping[Place, Numbers]
    ) -> None:
        self._kinds = kinds
        self._had = had
        self.has: dict[Place, dict[Place, int]] = {each: dict(had[each]) for each in had}
        self._load = {each: sum(had[each].values()) for each in had}
        self._price: dict[Place, int] = {}
        self._steps: dict[Place, int] = {}
        self._onward: dict[Place, list[Place]] = {}
        left = {each: kind.number for each, kind in kinds.items()}
        for numbers in had.values():
            for each, number in numbers.items():
                left[each] -= number
        # Those that fewest may read first: they can avoid each other least.
        for each in sorted(kinds, key=lambda each: (len(kinds[each].readers), each)):
            if left[each]:
                self._pour(each, left[each])

    def _pour(self, kind: Place, amount: int) -> None:
        """Give those readers most that have least, as water finds its level."""
        lowest = sorted(self._kinds[kind].readers, key=self._load.__getitem__)
        total = amount + sum(map(self._load.__getitem__, lowest))
        while self._load[lowest[-1]] * len(lowest) > total:
            total -= self._load[lowest.pop()]
        level, over = divmod(total, len(lowest))
        for nth, member in enumerate(lowest):
            self._change(member, kind, level + (nth < over) - self._load[member])

    def _change(self, member: Place, kind: Place, by: int) -> None:
        if by:
            self._load[member] += by
            mine = self.has[member]
            mine[kind] = mine.get(kind, 0) + by
            if not mine[kind]:
                del mine[kind]

    def level(self) -> frozenset[Place]:
        """Bring every member to the average, or next to it.

        Returns:
            Nothing when that is done. Otherwise, where a surplus can go and stays too high,
            which is to be levelled by itself, from the start, as all the rest is.
        """
        least = sum(self._load.values()) // len(self._load)
        self._fill(least)
        if min(self._load.values()) >= least:
            self._fill(least + 1)
            if max(self._load.values()) <= least + 1:
                return frozenset()
        return frozenset(self._price)

    def _fill(self, limit: int) -> None:
        """Move what members have above a limit to those below it, while there is a way."""
        while True:
            self._survey(limit)
            ends = [each for each in self._load if each in self._price]
            prices = [self._price[each] for each in ends if self._load[each] < limit]
            if not prices:
                return
            cheapest = min(prices)
            for member in self._load:
                while self._load[member] > limit and (
                    way := self._way(member, cheapest, limit)
                ):
                    self._send(way, limit)

    # --- ways ------------------------------------------------------------------------

    def _arcs(self, place: Place) -> Iterator[tuple[Place, int]]:
        """Yield the next places of a partition, each with its cost."""
        if place >= 0:
            for kind, number in self.has[place].items():
                yield kind, int(number <= self._had[place].get(kind, 0))
        else:
            for member in self._kinds[place].readers:
                misses = self.has[member].get(place, 0) < self._had[member].get(place, 0)
                yield member, -int(misses)

    def _survey(self, limit: int) -> None:
        """Find the price from members above the limit to all others, in the fewest steps."""
        start = [each for each, load in self._load.items() if load > limit]
        self._price = dict.fromkeys(start, 0)
        self._steps = dict.fromkeys(start, 0)
        self._onward = {}
        rim: Iterable[Place] = start
        steps = 0
        while rim:
            steps += 1
            reached: dict[Place, None] = {}
            for place in rim:
                here = self._price[place]
                for other, price in self._arcs(place):
                    if here + price < self._price.get(other, FAR):
                        self._price[other] = here + price
                        self._steps[other] = steps
                        reached[other] = None
            rim = reached

    def _way(self, source: Place, cheapest: int, limit: int) -> list[Place]:
        """A way from a member to one that has room, at the lowest price; nothing without.

        A step that leads nowhere is not tried again before the next survey: each step goes
        one further from the start, so that what is sent opens no new ones in between.
        """
        way: list[Place] = [source]
        while way:
            place = way[-1]
            if self._price[place] == cheapest and self._load.get(place, FAR) < limit:
                return way
            onward = self._steps_from(place)
            while onward and not self._room(place, onward[-1]):
                onward.pop()
            if onward:
                way.append(onward[-1])
            else:
                way.pop()
                if way:
                    self._steps_from(way[-1]).pop()
        return way

    def _steps_from(self, place: Place) -> list[Place]:
        """Return the next places on the cheapest ways from here, dead ends excluded."""
        if place not in self._onward:
            price, steps = self._price[place], self._steps[place] + 1
            self._onward[place] = [
                other
                for other, more in self._arcs(place)
                if self._price[other] == price + more and self._steps[other] == steps
            ]
        return self._onward[place]

    def _room(self, place: Place, other: Place) -> int:
        """Return the capacity from one place to the next at the surveyed cost."""
        member, kind = max(place, other), min(place, other)
        number = self.has[member].get(kind, 0)
        foreign = number - self._had[member].get(kind, 0)
        rooms = {1: number, 0: foreign if place == member else FAR, -1: -foreign}
        return rooms[self._price[other] - self._price[place]]

    def _send(self, way: Sequence[Place], limit: int) -> None:
        """Send as many along a way as may go it, as are too many and as there is room for."""
        amount = min(
            self._load[way[0]] - limit,
            limit - self._load[way[-1]],
            *(self._room(place, other) for place, other in pairwise(way)),
        )
        for member, kind, other in zip(way[:-1:2], way[1::2], way[2::2], strict=True):
            self._change(member, kind, -amount)
            self._change(other, kind, amount)
