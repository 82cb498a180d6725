"""Groups as their coordinator keeps them: committed offsets, and who is a member.

A group whose members assign partitions to themselves has none; it is an empty
classic group that no member ever joined.

Thread: the one that drives the model.
"""

from dataclasses import field

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.consumer_group import ConsumerGroup
from prokurist.testing.cluster.coordinated import Coordinated
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Committed:
    """One committed offset.

    Attributes:
        offset: The offset.
        leader_epoch: The leader epoch that came with it; −1 for none.
        metadata: The note that came with it.
        at: When it was committed, on the model's clock.
        number: Its place among all commits: of two in transactions the later one counts,
            whichever transaction ends first.
    """

    offset: int
    leader_epoch: int
    metadata: str
    at: float
    number: int = field(default=0, compare=False, repr=False)


@dataclass(slots=True)
class Group(Coordinated):
    """One group.

    Attributes:
        name: Its id.
        offsets: Committed offsets. The key is a topic's name: a deleted topic takes its offsets
            along, a recreated one starts without any.
        membership: Its members, by either protocol.
        made: True since a transaction has committed offsets, whatever became of it.
        pending: Offsets committed in open transactions, by producer id.
        unstable: Partitions with a commit in a transaction that a test has under way.
        moved: True if another broker has to take over at the next request.
    """

    name: str
    membership: ClassicGroup | ConsumerGroup
    offsets: dict[TopicPartition, Committed] = field(default_factory=dict)
    made: bool = False
    pending: dict[int, dict[TopicPartition, Committed]] = field(default_factory=dict)
    unstable: set[TopicPartition] = field(default_factory=set)
    moved: bool = False

    def __repr__(self) -> str:
        where = "by name" if self.coordinator is None else f"on {self.coordinator}"
        return f"Group({self.name}, {where}, {len(self.offsets)} offsets, {self.membership})"

    @property
    def known(self) -> bool:
        """True if the coordinator holds offsets or a membership of the group."""
        return bool(self.offsets) or self.made or self.membership.known

    def unsettled(self) -> set[TopicPartition]:
        """The partitions with a commit in a transaction that is not over."""
        return self.unstable.union(*self.pending.values())

    def settle(self, producer_id: int, *, committed: bool) -> None:
        """End a producer's transaction: its offsets count, or never did."""
        for tp, pending in self.pending.pop(producer_id, {}).items():
            kept = self.offsets.get(tp)
            if committed and (kept is None or pending.number > kept.number):
                self.offsets[tp] = pending

    def forget_offsets(self, topic: str | None = None) -> None:
        """Forget the offsets of a topic, or of all; those of open transactions too."""
        for kept in (self.offsets, *self.pending.values()):
            for tp in [each for each in kept if topic in (None, each.topic)]:
                del kept[tp]
        self.pending = {each: left for each, left in self.pending.items() if left}
