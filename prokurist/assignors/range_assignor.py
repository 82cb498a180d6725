"""`range`: of each topic, each of its subscribers gets a run of neighbouring partitions.

So partitions of the same number go to the same member where topics have equally many
and the same subscribers, which is what joins of topics stand on.

Where members and replicas tell their racks (KIP-881), a member is given partitions with
a replica in its own rack first; no member gets more than its share for it, and topics that
are read together stay together.

Thread: either.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from prokurist.assignors.assignor import Member, Parts, Topics, subscribers
from prokurist.types import PartitionInfo, TopicPartition


class RangeAssignor:
    """Kafka's `range` assignor."""

    name: str = "range"
    cooperative: bool = False

    def user_data(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """Nothing; see `Assignor.user_data`."""
        return None

    def assign(self, topics: Topics, members: Sequence[Member]) -> Parts:
        """See `Assignor.assign`."""
        shares = [
            Share(topic, topics[topic], readers)
            for topic, readers in subscribers(topics, members).items()
        ]
        by_racks([share for share in shares if share.racks_matter()])
        for share in shares:
            share.give_out(lambda *_: True)
        parts: Parts = {each.member_id: [] for each in members}
        for share in shares:
            for member_id, numbers in share.given.items():
                parts[member_id] += [TopicPartition(share.topic, n) for n in sorted(numbers)]
        return parts

    def assigned(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Nothing to remember; see `Assignor.assigned`."""


class Share:
    """Distribution of one topic.

    Attributes:
        topic: The topic.
        readers: Its subscribers, in order.
        count: How many partitions it has.
        left: Those not given out yet, in order.
        given: Its members, with their partitions.
    """

    def __init__(
        self, topic: str, partitions: Sequence[PartitionInfo], readers: Sequence[Member]
    ) -> None:
        self.topic: str = topic
        self.readers: tuple[Member, ...] = tuple(readers)
        self.count: int = len(partitions)
        self.left: list[int] = sorted(each.partition for each in partitions)
        self.given: dict[str, list[int]] = {each.member_id: [] for each in readers}
        self._racks = {
            each.partition: frozenset(node.rack for node in each.replicas if node.rack)
            for each in partitions
        }
        self._least, self._extra = divmod(self.count, len(readers))

    def racks_matter(self) -> bool:
        """True if racks can change the result."""
        everywhere = frozenset[str]().union(*self._racks.values())
        readers = {each.rack for each in self.readers if each.rack}
        return not readers.isdisjoint(everywhere) and any(
            racks != everywhere for racks in self._racks.values()
        )

    def near(self, reader: Member, number: int) -> bool:
        """True if a replica is in the reader's rack; a reader without a rack is near to all."""
        return reader.rack is None or reader.rack in self._racks[number]

    def room(self, reader: Member) -> int:
        """Return the number of partitions that a reader may still get."""
        most = self._least + (self._extra > 0)
        return max(0, most - len(self.given[reader.member_id]))

    def give(self, reader: Member, numbers: Sequence[int]) -> None:
        """Give some, for which there is room."""
        mine = self.given[reader.member_id]
        mine += numbers
        self.left = [each for each in self.left if each not in numbers]
        if len(mine) > self._least:
            self._extra -= 1

    def give_out(self, may: Callable[[Member, int], bool]) -> None:
        """Give each reader, in order, what is left and allowed for it, up to its share."""
        for reader in self.readers:
            mine = [number for number in self.left if may(reader, number)]
            mine = mine[: self.room(reader)]
            if mine:
                self.give(reader, mine)


def by_racks(shares: Sequence[Share]) -> None:
    """Give out what can be read in its reader's own rack."""

    def together(share: Share) -> tuple[int, tuple[str, ...]]:
        return share.count, tuple(each.member_id for each in share.readers)

    for _, group in groupby(sorted(shares, key=together), together):
        alike = list(group)
        if len(alike) == 1:
            alike[0].give_out(alike[0].near)
        else:
            side_by_side(alike)


def side_by_side(alike: Sequence[Share]) -> None:
    """Give out, number by number, what is in a reader's rack in all of these topics."""
    for number in list(alike[0].left):
        for reader in alike[0].readers:
            if all(
                number in share.left and share.room(reader) and share.near(reader, number)
                for share in alike
            ):
                for share in alike:
                    share.give(reader, [number])
                break
