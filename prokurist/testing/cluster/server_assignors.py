"""Server-side assignors of the consumer protocol.

Written for the model and shared with nothing: an assignor of the client's that is
wrong must not find the same mistake here.

Thread: any; functions of their arguments.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias


class Part(NamedTuple):
    """One partition, by the id of its topic."""

    topic_id: uuid.UUID
    partition: int


Wanted: TypeAlias = Mapping[str, frozenset[uuid.UUID]]
"""The topics that each member wants."""
Owned: TypeAlias = Mapping[str, frozenset[Part]]
"""The partitions that each member has, or is to have."""


def uniform(wanted: Wanted, sizes: Mapping[uuid.UUID, int], had: Owned) -> Owned:
    """As evenly as the subscriptions allow, and moving as little as possible.

    Args:
        wanted: The subscribed topics of each member.
        sizes: How many partitions each topic has.
        had: The former target of each member.
    """
    free = {Part(each, index) for each in sizes for index in range(sizes[each])}
    given: dict[str, list[Part]] = {each: [] for each in sorted(wanted)}
    for each, parts in given.items():
        parts += [part for part in had.get(each, ()) if part.topic_id in wanted[each]]
        parts[:] = sorted(free.intersection(parts))
        free -= set(parts)
    for part in sorted(free):
        takers = [each for each in given if part.topic_id in wanted[each]]
        if takers:
            given[min(takers, key=lambda each: len(given[each]))].append(part)
    while move_one(wanted, given):
        pass
    return {each: frozenset(parts) for each, parts in given.items()}


def move_one(wanted: Wanted, given: dict[str, list[Part]]) -> bool:
    """Move one partition to who has at least two less; False if there is none."""
    richest_first = sorted(given, key=lambda each: (len(given[each]), each), reverse=True)
    for giver in richest_first:
        for part in sorted(given[giver], reverse=True):
            poorer = [
                each
                for each in given
                if len(given[each]) + 1 < len(given[giver]) and part.topic_id in wanted[each]
            ]
            if poorer:
                given[giver].remove(part)
                given[min(poorer, key=lambda each: len(given[each]))].append(part)
                return True
    return False


def ranges(wanted: Wanted, sizes: Mapping[uuid.UUID, int], had: Owned) -> Owned:
    """Topic by topic, neighbouring partitions to one member, without stickiness."""
    del had
    given: dict[str, set[Part]] = {each: set() for each in wanted}
    for topic_id, size in sizes.items():
        takers = sorted(each for each in wanted if topic_id in wanted[each])
        for place, taker in enumerate(takers):
            begin, end = (run_begins(size, len(takers), at) for at in (place, place + 1))
            given[taker] |= {Part(topic_id, index) for index in range(begin, end)}
    return {each: frozenset(parts) for each, parts in given.items()}


def run_begins(size: int, takers: int, place: int) -> int:
    """Return the index at which a member's run of partitions begins; longer runs come first."""
    return size // takers * place + min(place, size % takers)


ServerAssignor: TypeAlias = Callable[[Wanted, Mapping[uuid.UUID, int], Owned], Owned]
SERVER_ASSIGNORS: Final[Mapping[str, ServerAssignor]] = {"uniform": uniform, "range": ranges}
"""Those a member may ask for; the first is the broker's own choice."""
