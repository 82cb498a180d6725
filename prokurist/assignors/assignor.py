"""Interface of assignors: a group's members in, an assignment out.

Thread: either. A user's own assignor is any object of this shape, and runs on the
application thread; those of this room run wherever it suits.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import PartitionInfo, TopicPartition

Topics: TypeAlias = Mapping[str, Sequence[PartitionInfo]]
"""The partitions of every topic that a member has subscribed to. A topic that does
not exist is left out."""

Parts: TypeAlias = dict[str, list[TopicPartition]]
"""For each member, by its id, what it is to read."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member as the group's leader sees it.

    Attributes:
        member_id: Its id.
        topics: Its subscription.
        instance_id: The static member's name, where there is one.
        rack: Its `client.rack`, where it has one.
        owned: Its present partitions, by its own account.
        generation: The generation of that assignment; −1 if unknown.
        user_data: Data of its assignor for the leader's.
    """

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    user_data: bytes | None = None


class Assignor(Protocol):
    """Assigns a group's partitions to its members.

    Attributes:
        name: Its name in the protocol. The group uses one that all its members know.
        cooperative: Whether members keep what they read during a rebalance. Then a
            partition may be given to a member only after the one that reads it has
            given it up, in an earlier round.
    """

    name: str
    cooperative: bool

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """Encode further data of this member for the leader's assignor (`Member.user_data`).

        Args:
            topics: The subscription of this member.
        """
        ...

    def assign(
        self, topics: Topics, members: Sequence[Member]
    ) -> Mapping[str, Iterable[TopicPartition]]:
        """Decide, as the group's leader.

        Returns:
            For each member, by its id, what it is to read; nothing for one left out.
        """
        ...

    def assigned(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """This member was given its part.

        Args:
            partitions: The part.
            generation: The generation it belongs to.
        """
        ...


def in_order(members: Iterable[Member]) -> list[Member]:
    """Members in the order that all assignors go by: static ones first, by their names.

    A static member has a new id after each restart, and its place is to stay the same.
    """
    return sorted(
        members,
        key=lambda each: (
            each.instance_id is None,
            each.instance_id or each.member_id,
            each.member_id,
        ),
    )


def subscribers(topics: Topics, members: Iterable[Member]) -> dict[str, list[Member]]:
    """For each topic that exists, in order of their names, who subscribed to it, in order."""
    found = dict[str, list[Member]]()
    for each in in_order(members):
        for topic in topics.keys() & set(each.topics):
            found.setdefault(topic, []).append(each)
    return dict(sorted(found.items()))
