"""Groups as their coordinator keeps them: committed offsets, and who is a member.

A group whose members assign partitions to themselves has none; it is an empty
classic group that no member ever joined.

Thread: the one that drives the model.
"""

import math
from dataclasses import dataclass, field

from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.consumer_group import ConsumerGroup
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Committed:
    """One committed offset.

    Attributes:
        offset: The offset.
        leader_epoch: The leader epoch that came with it; −1 for none.
        metadata: The note that came with it.
        at: When it was committed, on the model's clock.
    """

    offset: int
    leader_epoch: int
    metadata: str
    at: float


@dataclass(slots=True)
class Group:
    """One group.

    Attributes:
        name: Its id.
        coordinator: The broker a test moved it to; None where its name decides.
        offsets: Committed offsets. The key is a topic's name: a deleted topic takes its offsets
            along, a recreated one starts without any.
        loading_until: Until then the coordinator still reads its log.
        loading_times: For so many requests it still does.
        membership: Its members, by either protocol.
        unstable: Partitions with a commit in a transaction that is not over.
        moved: True if another broker has to take over at the next request.
    """

    name: str
    membership: ClassicGroup | ConsumerGroup
    coordinator: int | None = None
    offsets: dict[TopicPartition, Committed] = field(default_factory=dict)
    loading_until: float = -math.inf
    loading_times: int = 0
    unstable: set[TopicPartition] = field(default_factory=set)
    moved: bool = False

    def __repr__(self) -> str:
        where = "by name" if self.coordinator is None else f"on {self.coordinator}"
        return f"Group({self.name}, {where}, {len(self.offsets)} offsets, {self.membership})"

    @property
    def known(self) -> bool:
        """True if the coordinator holds offsets or a membership of the group."""
        return bool(self.offsets) or self.membership.known

    def loading(self, now: float) -> bool:
        """True while the coordinator loads; each call counts down a loading by number."""
        if now < self.loading_until:
            return True
        if self.loading_times > 0:
            self.loading_times -= 1
            return True
        return False
