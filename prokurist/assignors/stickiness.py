"""A balanced assignment that moves as little as it can from the one before.

Balanced comes first: no partition could be moved to a member that may read it and has
at least two fewer. Then, each member keeps as much of what it had as that allows.

Thread: either.
"""

from collections.abc import Iterable, Mapping, Sequence

from prokurist.assignors.assignor import Member, Parts, Topics, subscribers
from prokurist.types import TopicPartition


def balanced(topics: Topics, members: Sequence[Member]) -> Parts:
    """Who is to read what.

    Args:
        topics: What there is.
        members: With what each had, and in which generation.
    """
    readers = {
        TopicPartition(topic, info.partition): [each.member_id for each in who]
        for topic, who in subscribers(topics, members).items()
        for info in topics[topic]
    }
    table = Table({each.member_id for each in members}, readers)
    for tp, owner in owners(members).items():
        if owner in readers.get(tp, ()):
            table.give(tp, owner)
    # Those that fewest may read first: later there might be no room with them.
    for tp in sorted(table.unread(), key=lambda each: (len(readers[each]), each)):
        table.give(tp, min(readers[tp], key=lambda each: (table.load(each), each)))
    table.settle()
    return table.parts()


def owners(members: Iterable[Member]) -> dict[TopicPartition, str]:
    """Who had what. Of several that say so, the one of the latest generation had it last."""
    claims = [(tp, -each.generation, each.member_id) for each in members for tp in each.owned]
    return {tp: member_id for tp, _, member_id in sorted(claims, reverse=True)}


class Table:
    """Who reads what, as it is being changed.

    Args:
        members: Everybody's id.
        readers: For each partition, who may read it.
    """

    def __init__(
        self, members: Iterable[str], readers: Mapping[TopicPartition, Sequence[str]]
    ) -> None:
        self._readers = readers
        self._reader: dict[TopicPartition, str] = {}
        self._parts: dict[str, set[TopicPartition]] = {each: set() for each in sorted(members)}

    def give(self, tp: TopicPartition, member_id: str) -> None:
        """Have a member read a partition, and nobody else."""
        self.take(tp)
        self._reader[tp] = member_id
        self._parts[member_id].add(tp)

    def take(self, tp: TopicPartition) -> None:
        """Have nobody read a partition."""
        if tp in self._reader:
            self._parts[self._reader.pop(tp)].remove(tp)

    def load(self, member_id: str) -> int:
        """How many partitions a member has."""
        return len(self._parts[member_id])

    def unread(self) -> list[TopicPartition]:
        """What nobody reads, and somebody may."""
        return [tp for tp, who in self._readers.items() if who and tp not in self._reader]

    def settle(self) -> None:
        """Move partitions to members with fewer, until none is left that would profit.

        Each move makes the sum of the squared loads smaller: it comes to an end.
        """
        moved = True
        while moved:
            moved = False
            for tp in sorted(self._reader, reverse=True):
                best = min(self._readers[tp], key=lambda each: (self.load(each), each))
                if self.load(self._reader[tp]) - self.load(best) >= 2:
                    self.give(tp, best)
                    moved = True

    def parts(self) -> Parts:
        """What each member reads, in order."""
        return {member_id: sorted(mine) for member_id, mine in self._parts.items()}
