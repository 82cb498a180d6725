"""B133, sticky: balance first, and then no member gives up more than balance asks for."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.assignors.assignor import Member, Parts, Topics, subscribers
from prokurist.assignors.stickiness import balanced
from prokurist.assignors.sticky import CooperativeStickyAssignor
from prokurist.types import PartitionInfo, TopicPartition


def topics_of(sizes: Mapping[str, int]) -> dict[str, list[PartitionInfo]]:
    """Topics of so many partitions."""
    return {
        name: [PartitionInfo(name, number, None, ()) for number in range(size)]
        for name, size in sizes.items()
    }


def all_of(topics: Topics) -> list[TopicPartition]:
    """All partitions, in order."""
    return [TopicPartition(name, info.partition) for name in topics for info in topics[name]]


def owning(members: Sequence[Member], parts: Parts, generation: int) -> list[Member]:
    """Members as they come to the next round."""
    return [
        replace(each, owned=tuple(parts.get(each.member_id, ())), generation=generation)
        for each in members
    ]


def given_up(members: Sequence[Member], parts: Parts) -> dict[str, int]:
    """How many partitions each member had and has not any more."""
    return {
        each.member_id: len(set(each.owned) - set(parts[each.member_id])) for each in members
    }


def squares(parts: Mapping[str, Sequence[TopicPartition]]) -> int:
    """The sum of the squared loads: the smaller, the more level."""
    return sum(len(mine) ** 2 for mine in parts.values())


@st.composite
def groups(
    draw: st.DrawFn, *, alike: bool = False, sizes: Sequence[int] = (9, 9, 9), members: int = 7
) -> tuple[dict[str, list[PartitionInfo]], list[Member]]:
    """Members who had some of what there is, level or not, and may not want it any more."""
    drawn = {name: draw(st.integers(0, size)) for name, size in zip("tuv", sizes, strict=True)}
    topics = topics_of({name: size for name, size in drawn.items() if size})
    names = [f"m{nth}" for nth in range(draw(st.integers(1, members)))]
    wanted = {
        name: "tuv" if alike else draw(st.sets(st.sampled_from("tuvX"))) for name in names
    }
    had: dict[str, list[TopicPartition]] = {name: [] for name in names}
    for tp in all_of(topics):
        owner = draw(st.none() | st.sampled_from(names))
        if owner:
            had[owner].append(tp)
    return topics, [
        Member(name, tuple(sorted(wanted[name])), owned=tuple(had[name]), generation=1)
        for name in names
    ]


def test_a_fifth_takes_as_much_from_each_of_four() -> None:
    """Issue 6: four with 15 each, with any partitions, give up 3 each and no more."""
    topics = topics_of({"t": 60})
    for parts in (
        {f"m{nth}": all_of(topics)[15 * nth : 15 * nth + 15] for nth in range(4)},
        {f"m{nth}": all_of(topics)[nth::4] for nth in range(4)},
    ):
        four = owning([Member(name, ("t",)) for name in parts], parts, 1)
        five = [*four, Member("fifth", ("t",))]
        after = balanced(topics, five)
        assert given_up(five, after) == {"m0": 3, "m1": 3, "m2": 3, "m3": 3, "fifth": 0}
        assert [len(mine) for mine in after.values()] == [12] * 5


@settings(deadline=None)
@given(groups(alike=True))
def test_equal_subscriptions_give_up_what_is_over_their_share(
    group: tuple[dict[str, list[PartitionInfo]], list[Member]],
) -> None:
    """The known minimum: the shares that are one larger go to those who had most."""
    topics, members = group
    share, larger = divmod(len(all_of(topics)), len(members))
    most_first = sorted((len(each.owned) for each in members), reverse=True)
    least = sum(max(0, had - share - (nth < larger)) for nth, had in enumerate(most_first))
    assert sum(given_up(members, balanced(topics, members)).values()) == least


@settings(deadline=None)
@given(groups(sizes=(3, 2, 2), members=4))
def test_no_other_assignment_is_better(
    group: tuple[dict[str, list[PartitionInfo]], list[Member]],
) -> None:
    """Of all there are: none is more level, and none that is as level moves less."""
    topics, members = group
    who = subscribers(topics, members)
    wanted = [tp for tp in all_of(topics) if tp.topic in who]

    def rated(parts: Parts) -> tuple[int, int]:
        return squares(parts), sum(given_up(members, parts).values())

    def others() -> list[Parts]:
        choices = [[each.member_id for each in who[tp.topic]] for tp in wanted]
        found = []
        for readers in product(*choices):
            parts: Parts = {each.member_id: [] for each in members}
            for tp, reader in zip(wanted, readers, strict=True):
                parts[reader].append(tp)
            found.append(parts)
        return found

    assert rated(balanced(topics, members)) == min(map(rated, others()))


@settings(deadline=None)
@given(groups())
def test_the_second_round_takes_nothing(
    group: tuple[dict[str, list[PartitionInfo]], list[Member]],
) -> None:
    """KIP-429: what has to be given up is given up in the first, and the second gives out."""
    topics, members = group
    assignor = CooperativeStickyAssignor()
    first = assignor.assign(topics, members)
    between = owning(members, first, 2)
    second = assignor.assign(topics, between)
    assert not any(given_up(between, second).values())
    for each in members:
        back = set(each.owned) & set(second[each.member_id]) - set(first[each.member_id])
        assert not back, "it was given up for nothing"
    assert assignor.assign(topics, owning(members, second, 3)) == second
    assert squares(second) == squares(balanced(topics, members))


def test_no_topic_moves_whole() -> None:
    """Topics have different loads: what is given up and given out is of all of them."""
    topics = topics_of({"busy": 12, "idle": 12})
    two = [Member(name, ("busy", "idle")) for name in ("a", "b")]
    first = balanced(topics, two)
    four = [*owning(two, first, 1), *(Member(name, ("busy", "idle")) for name in ("c", "d"))]
    second = balanced(topics, four)
    for parts, share in ((first, 6), (second, 3)):
        for mine in parts.values():
            assert Counter(tp.topic for tp in mine) == {"busy": share, "idle": share}


def test_a_topic_named_twice_is_one() -> None:
    """Another client's subscription may say it twice."""
    topics = topics_of({"t": 2})
    assert subscribers(topics, [Member("a", ("t", "t"))]) == {"t": [Member("a", ("t", "t"))]}
