"""`sticky` and `cooperative-sticky`: balanced, and close to what was before.

Thread: either. A consumer has one of its own: it remembers the consumer's part.

Under `sticky` every member gives up all its partitions before a rebalance, so each member sends
along what it had (KIP-54). Under `cooperative-sticky` members keep reading (KIP-429),
and what changes hands is left out of the first round: who has to give it up joins
again when that is done, and the second round gives it out.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from prokurist.assignors.assignor import Member, Parts, Topics
from prokurist.assignors.encoding import GROUP, Elements, MalformedMessage, Reader, Writer
from prokurist.assignors.stickiness import balanced
from prokurist.types import TopicPartition

GENERATION_BYTES: Final = 4


class StickyAssignor:
    """Kafka's `sticky` assignor."""

    name: str = "sticky"
    cooperative: bool = False

    def __init__(self) -> None:
        self._mine: tuple[TopicPartition, ...] = ()
        self._generation = -1

    def user_data(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """Encode this member's last assignment and its generation; see `Assignor.user_data`."""
        return memory(self._mine, self._generation) if self._mine else None

    def assign(self, topics: Topics, members: Sequence[Member]) -> Parts:
        """See `Assignor.assign`."""
        elements = Elements(GROUP)
        return balanced(topics, [remembering(each, elements) for each in members])

    def assigned(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Remember it; see `Assignor.assigned`."""
        self._mine, self._generation = tuple(partitions), generation


class CooperativeStickyAssignor:
    """Kafka's `cooperative-sticky` assignor."""

    name: str = "cooperative-sticky"
    cooperative: bool = True

    def __init__(self) -> None:
        self._generation = -1

    def user_data(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """In which generation this member was given its part; see `Assignor.user_data`."""
        return Writer().int32(self._generation).bytes()

    def assign(self, topics: Topics, members: Sequence[Member]) -> Parts:
        """See `Assignor.assign`."""
        present = claims_by_date(members)
        parts = balanced(topics, present)
        had = {(tp, each.member_id) for each in present for tp in each.owned}
        stays = {tp: member_id for member_id, mine in parts.items() for tp in mine}
        to_give_up = {tp for tp, member_id in had if stays.get(tp) != member_id}
        return {
            member_id: [tp for tp in mine if tp not in to_give_up or (tp, member_id) in had]
            for member_id, mine in parts.items()
        }

    def assigned(self, partitions: Sequence[TopicPartition], generation: int) -> None:  # noqa: ARG002
        """Remember when; see `Assignor.assigned`."""
        self._generation = generation


def memory(partitions: Sequence[TopicPartition], generation: int) -> bytes:
    """Encode a member's last assignment as Java's clients do."""
    return Writer().partitions(partitions).int32(generation).bytes()


def remembering(member: Member, elements: Elements | None = None) -> Member:
    """Add a member's remembered assignment; an unreadable one counts as empty."""
    owned: tuple[TopicPartition, ...] = ()
    generation = -1
    with suppress(MalformedMessage):
        reader = Reader(member.user_data or b"", elements)
        owned = reader.partitions()
        generation = reader.int32()  # the oldest form ends without
    return replace(member, owned=owned, generation=generation)


def claims_by_date(members: Iterable[Member]) -> list[Member]:
    """Members of a cooperative group with the claims of the latest generation alone.

    A member that was put out and has not heard so yet claims what is another's by now: of
    two that claim one partition, the one of the later generation reads it (KIP-792).
    """
    dated = [dated_by_user_data(each) for each in members]
    latest: dict[TopicPartition, int] = {}
    for each in dated:
        for tp in each.owned:
            latest[tp] = max(each.generation, latest.get(tp, each.generation))
    return [
        replace(each, owned=tuple(tp for tp in each.owned if latest[tp] == each.generation))
        for each in dated
    ]


def dated_by_user_data(member: Member) -> Member:
    """A member with the generation of its user data, where its subscription bears none.

    A subscription bears one from version 2 on. Before that Java's cooperative members wrote
    it into their user data, as its only four bytes. What librdkafka writes there is another
    thing, and longer: it begins with a number of topics.
    """
    data = member.user_data or b""
    if member.generation >= 0 or len(data) != GENERATION_BYTES:
        return member
    return replace(member, generation=Reader(data).int32())
