"""Plans moves of replicas: as few as there can be, evenly, and over racks.

Thread: any; pure functions.

- A replica stays unless its broker is not to be used, or has more replicas than its share.
- What has to move goes to the broker with the fewest replicas; with racks, to a rack without
  another replica of the partition, if there is one.
- The preferred leader stays unless its broker leads more partitions than its share; else
  another broker of the partition is put first, which copies nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from prokurist.types import TopicPartition
from prokurist.types.plans import ReassignmentPlan, Replicas


def planned(
    present: Mapping[TopicPartition, Replicas],
    brokers: Sequence[int],
    racks: Mapping[int, str | None],
) -> ReassignmentPlan:
    """Plan the brokers of partitions.

    Args:
        present: The present brokers of each partition.
        brokers: The brokers to be used.
        racks: The rack of each broker; empty not to look at racks.

    Raises:
        ValueError: A partition has more replicas than there are brokers.
    """
    most = max((len(each) for each in present.values()), default=0)
    if most > len(brokers):
        raise ValueError(
            f"a partition has {most} replicas, and {len(brokers)} brokers are named: name at "
            f"least as many"
        )
    moves = Moves(present, brokers, racks)
    moves.leave_other_brokers()
    moves.level()
    moves.level_leaders()
    changed = [tp for tp in present if tuple(moves.replicas[tp]) != tuple(present[tp])]
    return ReassignmentPlan(
        {tp: tuple(present[tp]) for tp in changed},
        {tp: tuple(moves.replicas[tp]) for tp in changed},
    )


class Moves:
    """The brokers of partitions while they are planned.

    Args:
        present: The present brokers of each partition.
        brokers: The brokers to be used.
        racks: The rack of each broker.

    Attributes:
        replicas: The planned brokers of each partition.
    """

    def __init__(
        self,
        present: Mapping[TopicPartition, Replicas],
        brokers: Sequence[int],
        racks: Mapping[int, str | None],
    ) -> None:
        self.replicas: dict[TopicPartition, list[int]] = {
            tp: list(each) for tp, each in present.items()
        }
        self._brokers = sorted(set(brokers))
        self._racks = racks
        self._load = Counter(dict.fromkeys(self._brokers, 0))
        for each in self.replicas.values():
            self._load.update(number for number in each if number in self._load)

    def leave_other_brokers(self) -> None:
        """Move the replicas of brokers that are not to be used."""
        for replicas in self.replicas.values():
            for place, number in enumerate(replicas):
                if number not in self._load:
                    self._put(replicas, place, self._best(replicas, place, self._brokers))

    def level(self) -> None:
        """Move replicas from the fullest brokers to the emptiest, until they are level."""
        while self._move_one():
            pass

    def _move_one(self) -> bool:
        """Move one replica from a broker to one with at least two fewer, if that can be."""
        by_load = sorted(self._brokers, key=lambda number: (-self._load[number], number))
        for full in by_load:
            empty = [each for each in self._brokers if self._load[each] <= self._load[full] - 2]
            if not empty:
                return False
            for replicas in self.replicas.values():
                if full not in replicas:
                    continue
                place = replicas.index(full)
                free = [each for each in empty if each not in replicas]
                fitting = [each for each in free if self._fits(replicas, place, each)]
                if fitting:
                    self._put(replicas, place, self._best(replicas, place, fitting))
                    return True
        return False

    def level_leaders(self) -> None:
        """Put other brokers first where one would lead more partitions than its share."""
        leads = Counter(dict.fromkeys(self._brokers, 0))
        leads.update(each[0] for each in self.replicas.values())
        for replicas in self.replicas.values():
            least = min(replicas, key=lambda number: (leads[number], number))
            if leads[replicas[0]] - leads[least] >= 2:
                leads[replicas[0]] -= 1
                leads[least] += 1
                place = replicas.index(least)
                replicas[0], replicas[place] = replicas[place], replicas[0]

    def _put(self, replicas: list[int], place: int, number: int) -> None:
        """Put a broker in the place of another."""
        if replicas[place] in self._load:
            self._load[replicas[place]] -= 1
        replicas[place] = number
        self._load[number] += 1

    def _best(self, replicas: Sequence[int], place: int, among: Iterable[int]) -> int:
        """The broker for a place: of another rack than the rest, with the fewest replicas."""
        rest = {each for nth, each in enumerate(replicas) if nth != place}
        taken = {self._racks.get(each) for each in rest}
        return min(
            (each for each in among if each not in rest),
            key=lambda number: (
                bool(self._racks) and self._racks.get(number) in taken,
                self._load[number],
                number,
            ),
        )

    def _fits(self, replicas: Sequence[int], place: int, number: int) -> bool:
        """True if a broker in a place leaves the partition in as many racks as before."""
        after = [number if nth == place else each for nth, each in enumerate(replicas)]
        return self._spread(after) >= self._spread(replicas)

    def _spread(self, replicas: Iterable[int]) -> int:
        """The number of racks with some replicas."""
        return len({self._racks.get(each) for each in replicas}) if self._racks else 0

    def __repr__(self) -> str:
        return f"Moves({len(self.replicas)} partitions, {self._load})"
