"""Levelling: as level as can be, and of all that is, what moves the fewest partitions.

Both can be seen from a result alone, in groups of any size: where one could be better,
there is a chain of members along which a single partition each goes on and improves it.
"""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.assignors.levelling import Flow, Numbers, PartitionClass, Place, levelled

NO_WAY = 1 << 30

Case = tuple[dict[Place, PartitionClass], dict[Place, dict[Place, int]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Members with different subscriptions, who had some of what there is, level or not."""
    members = range(draw(st.integers(1, 9)))
    most = draw(st.sampled_from([3, 30, 1000]))
    kinds: dict[Place, PartitionClass] = {}
    had: dict[Place, dict[Place, int]] = {member: {} for member in members}
    for nth in range(draw(st.integers(0, 12))):
        readers = sorted(draw(st.sets(st.sampled_from(members), min_size=1)))
        left = number = draw(st.integers(1, most))
        kinds[-1 - nth] = PartitionClass(number, readers)
        for reader in draw(st.permutations(readers)):
            mine = draw(st.integers(0, left))
            if mine:
                had[reader][-1 - nth] = mine
            left -= mine
    return kinds, had


def chains(
    kinds: Mapping[Place, PartitionClass],
    had: Mapping[Place, Numbers],
    has: Mapping[Place, Numbers],
) -> dict[Place, dict[Place, int]]:
    """What it costs, at least, to have one less here and one more there, in moves."""
    costs = {one: dict.fromkeys(had, NO_WAY) for one in had}
    for each, kind in kinds.items():
        for giver in kind.readers:
            number = has[giver].get(each, 0)
            leaves = number <= had[giver].get(each, 0)
            for taker in kind.readers:
                comes_back = has[taker].get(each, 0) < had[taker].get(each, 0)
                if number and giver != taker:
                    costs[giver][taker] = min(costs[giver][taker], leaves - comes_back)
    for between in had:
        for giver in had:
            for taker in had:
                by_way = costs[giver][between] + costs[between][taker]
                if NO_WAY not in (costs[giver][between], costs[between][taker]):
                    costs[giver][taker] = min(costs[giver][taker], by_way)
    return costs


@settings(deadline=None)
@given(cases())
def test_no_chain_improves_it(case: Case) -> None:
    """B133: neither its balance, nor the number of moves without hurting the balance."""
    kinds, had = case
    has = levelled(kinds, had)
    for each, kind in kinds.items():
        assert sum(has[reader].get(each, 0) for reader in kind.readers) == kind.number
        assert sum(mine.get(each, 0) for mine in has.values()) == kind.number
    load = {member: sum(mine.values()) for member, mine in has.items()}
    for giver, costs in chains(kinds, had, has).items():
        for taker, cost in costs.items():
            if cost < NO_WAY:
                assert load[giver] - load[taker] < 2, "it is not level"
                if giver == taker or load[giver] - load[taker] == 1:
                    assert cost >= 0, "fewer moves would do"


def test_a_chain_is_followed_to_its_end() -> None:
    """No member has two more than its neighbour, and still the first can be relieved."""
    readers = [(0, 1), (1, 2), (2, 3), (3, 4), (4,)]
    kinds = {-1 - nth: PartitionClass(5 - nth, some) for nth, some in enumerate(readers)}
    has = levelled(kinds, {nth: {-1 - nth: 5 - nth} for nth in range(5)})
    assert [sum(has[member].values()) for member in range(5)] == [3, 3, 3, 3, 3]


def test_a_group_without_members_is_levelled() -> None:
    """A group without members has no average."""
    assert levelled({}, {}) == {}


def test_the_work_does_not_grow_with_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million times as many partitions take no more looks at the group."""
    looks = 0
    survey = Flow._survey

    def counted(flow: Flow, limit: int) -> None:
        nonlocal looks
        looks += 1
        survey(flow, limit)

    monkeypatch.setattr(Flow, "_survey", counted)
    taken = []
    for times in (23, 23_000_000):
        kinds = {
            -1 - nth: PartitionClass(times * 60, tuple(range(nth, nth + 5)))
            for nth in range(0, 20, 3)
        }
        had: dict[Place, dict[Place, int]] = {member: {} for member in range(23)}
        for each, kind in kinds.items():
            had[kind.readers[0]][each] = kind.number
        looks = 0
        levelled(kinds, had)
        taken.append(looks)
    assert taken[1] <= taken[0]
