"""A balanced assignment that moves as little as it can from the one before.

Balanced comes first: no member with two more partitions than another could pass one to it,
neither directly nor along a chain of members each of which passes one on. Which is to say
that the sum of the squared loads is as small as it can be. Then comes the fewest moves: no
assignment that is as balanced takes fewer partitions from members who had them. Where all
subscribe to the same topics, a member that has no more than its share gives up nothing.

How many partitions that makes is for `levelling` to say; which they are is said here. What
is given up, and what is given out, is spread over the topics, whose load may differ.

Thread: either.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prokurist.assignors.assignor import Member, Parts, Topics, in_order, subscribers
from prokurist.assignors.levelling import PartitionClass, Place, levelled
from prokurist.types import TopicPartition


def balanced(topics: Topics, members: Sequence[Member]) -> Parts:
    """Return a balanced assignment with the fewest moves.

    Args:
        topics: All topics, with their partitions.
        members: The members, with their former partitions and generations.
    """
    places = {each.member_id: place for place, each in enumerate(in_order(members))}
    readers, kind_of = kinds_of(topics, members, places)
    had: dict[Place, dict[Place, list[TopicPartition]]] = {
        place: defaultdict(list) for place in places.values()
    }
    free = dict[Place, list[TopicPartition]]((kind, []) for kind in readers)
    owner = {tp: places[member_id] for tp, member_id in owners(members).items()}
    may_read = {kind: frozenset(some) for kind, some in readers.items()}
    counts = Counter[Place]()
    for topic, kind in kind_of.items():
        counts[kind] += len(topics[topic])
        for number in sorted(each.partition for each in topics[topic]):
            tp = TopicPartition(topic, number)
            place = owner.get(tp, kind)
            (had[place] if place in may_read[kind] else free)[kind].append(tp)
    has = levelled(
        {kind: PartitionClass(counts[kind], some) for kind, some in readers.items()},
        {
            place: {kind: len(some) for kind, some in mine.items()}
            for place, mine in had.items()
        },
    )
    parts: dict[Place, list[TopicPartition]] = {place: [] for place in had}
    for kind, some in readers.items():
        wanting = dict[Place, int]()
        for place in some:
            number, mine = has[place].get(kind, 0), had[place].get(kind, [])
            kept, given_up = parted(mine, number)
            parts[place] += kept
            free[kind] += given_up
            wanting[place] = number - len(kept)
        for place, tp in dealt(sorted(free[kind]), wanting):
            parts[place].append(tp)
    return {member_id: sorted(parts[place]) for member_id, place in places.items()}


def kinds_of(
    topics: Topics, members: Iterable[Member], places: Mapping[str, Place]
) -> tuple[dict[Place, tuple[Place, ...]], dict[str, Place]]:
    """Put together the topics that the same members read.

    Returns:
        The readers of each kind, and the kind of each topic.
    """
    kinds = dict[tuple[Place, ...], Place]()
    kind_of = dict[str, Place]()
    for topic, who in subscribers(topics, members).items():
        readers = tuple(places[each.member_id] for each in who)
        kind_of[topic] = kinds.setdefault(readers, -1 - len(kinds))
    return {kind: readers for readers, kind in kinds.items()}, kind_of


def parted(
    mine: Sequence[TopicPartition], number: int
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Split a member's partitions: keep a number of them, give up the last of each topic."""
    if len(mine) <= number:
        return list(mine), []
    before = Counter[str]()
    ranked = list[tuple[int, TopicPartition]]()
    for tp in mine:
        ranked.append((before[tp.topic], tp))
        before[tp.topic] += 1
    ranked.sort()
    return [tp for _, tp in ranked[:number]], [tp for _, tp in ranked[number:]]


def dealt(
    partitions: Iterable[TopicPartition], wanting: Mapping[Place, int]
) -> Iterator[tuple[Place, TopicPartition]]:
    """Deal them out like cards, to each as many as it wants."""
    circle = deque((place, number) for place, number in wanting.items() if number)
    for tp in partitions:
        place, number = circle.popleft()
        yield place, tp
        if number > 1:
            circle.append((place, number - 1))


def owners(members: Iterable[Member]) -> dict[TopicPartition, str]:
    """Return the owner of each partition; of several claims that of the latest generation."""
    by_name = sorted(members, key=lambda each: each.member_id, reverse=True)
    return {
        tp: each.member_id
        for each in sorted(by_name, key=lambda each: each.generation)
        for tp in each.owned
    }
