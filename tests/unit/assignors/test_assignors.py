"""B133: the assignors' documented results, and what holds for any input."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.assignors.assignor import Member, Parts, Topics
from prokurist.assignors.encoding import Elements
from prokurist.assignors.named import NAMED
from prokurist.assignors.range_assignor import RangeAssignor
from prokurist.assignors.round_robin import RoundRobinAssignor
from prokurist.assignors.sticky import (
    CooperativeStickyAssignor,
    StickyAssignor,
    memory,
    remembering,
)
from prokurist.types import Node, PartitionInfo, TopicPartition


def topic(name: str, count: int, racks: Sequence[str] = ()) -> dict[str, list[PartitionInfo]]:
    """A topic; `racks` has a string for each partition, a letter for each replica's rack."""
    return {
        name: [
            PartitionInfo(
                name,
                number,
                None,
                tuple(
                    Node(ord(rack), "host", 1, rack)
                    for rack in (racks[number] if racks else "")
                ),
            )
            for number in range(count)
        ]
    }


def member(name: str, *topics: str, rack: str | None = None) -> Member:
    """A member that has nothing yet."""
    return Member(name, topics, rack=rack)


def shown(parts: Parts) -> dict[str, str]:
    """Parts as short texts: `t0 t1`."""
    return {
        who: " ".join(f"{tp.topic}{tp.partition}" for tp in mine) for who, mine in parts.items()
    }


# --- range -------------------------------------------------------------------------------


def test_range_gives_runs_of_each_topic() -> None:
    """Of each topic the first members get one more, so much as there is over."""
    topics = topic("t", 3) | topic("u", 3)
    members = [member("b", "t", "u"), member("a", "u", "t")]
    assert shown(RangeAssignor().assign(topics, members)) == {
        "a": "t0 t1 u0 u1",
        "b": "t2 u2",
    }


def test_range_asks_who_has_subscribed() -> None:
    """A topic is shared by its own subscribers; one that does not exist, by no member."""
    topics = topic("t", 2) | topic("u", 3)
    members = [member("a", "t", "gone"), member("b", "t", "u"), member("c", "u")]
    assert shown(RangeAssignor().assign(topics, members)) == {
        "a": "t0",
        "b": "t1 u0 u1",
        "c": "u2",
    }


def test_static_members_go_by_their_names() -> None:
    """Their ids change with each restart, and their places do not."""
    topics = topic("t", 3)
    members = [
        member("a", "t"),
        replace(member("z", "t"), instance_id="two"),
        replace(member("y", "t"), instance_id="one"),
    ]
    assert shown(RangeAssignor().assign(topics, members)) == {"y": "t0", "z": "t1", "a": "t2"}


def test_range_gives_what_is_near() -> None:
    """KIP-881: partitions go to readers in the rack of a replica, and all get their share."""
    topics = topic("t", 4, ["bc", "ac", "ab", "bc"])
    members = [
        member("one", "t", rack="a"),
        member("three", "t", rack="c"),
        member("two", "t", rack="b"),
    ]
    parts = RangeAssignor().assign(topics, members)
    assert shown(parts) == {"one": "t1 t2", "three": "t0", "two": "t3"}


def test_racks_do_not_unbalance() -> None:
    """Everything lies in one rack, but its only reader gets no more than his share."""
    topics = topic("t", 4, ["a", "a", "a", "a"]) | topic("u", 1, ["b"])
    members = [member("one", "t", "u", rack="a"), member("two", "t", "u", rack="b")]
    parts = RangeAssignor().assign(topics, members)
    assert [len([tp for tp in mine if tp.topic == "t"]) for mine in parts.values()] == [2, 2]


def test_racks_that_hold_everything_change_nothing() -> None:
    """With a replica of each partition in each rack, the runs are those without racks."""
    topics = topic("t", 4, ["ab"] * 4)
    members = [member("one", "t", rack="b"), member("two", "t", rack="a")]
    assert shown(RangeAssignor().assign(topics, members)) == {"one": "t0 t1", "two": "t2 t3"}


@pytest.mark.parametrize(("everywhere", "rack"), [("ab", "a"), ("ab", None), ("", None)])
def test_a_rack_far_from_everything_costs_no_turn(everywhere: str, rack: str | None) -> None:
    """Who is near nothing keeps his place among those for whom all is alike."""
    topics = topic("t", 4, [everywhere] * 4)
    members = [member("one", "t", rack="far"), member("two", "t", rack=rack)]
    assert shown(RangeAssignor().assign(topics, members)) == {"one": "t0 t1", "two": "t2 t3"}


def test_topics_read_together_stay_together() -> None:
    """Partitions of one number of two alike topics go to one member, near both."""
    topics = topic("t", 2, ["b", "a"]) | topic("u", 2, ["bc", "ac"])
    members = [member("one", "t", "u", rack="a"), member("two", "t", "u", rack="b")]
    assert shown(RangeAssignor().assign(topics, members)) == {"one": "t1 u1", "two": "t0 u0"}


# --- round robin -------------------------------------------------------------------------


def test_round_robin_deals_out() -> None:
    """All partitions of all topics in one circle."""
    topics = topic("t", 3) | topic("u", 3)
    members = [member("a", "t", "u"), member("b", "t", "u")]
    assert shown(RoundRobinAssignor().assign(topics, members)) == {
        "a": "t0 t2 u1",
        "b": "t1 u0 u2",
    }


def test_round_robin_passes_over_who_has_not_subscribed() -> None:
    """Kafka's own documented example."""
    topics = topic("t", 1) | topic("u", 2) | topic("v", 3)
    members = [member("a", "t"), member("b", "t", "u"), member("c", "t", "u", "v")]
    assert shown(RoundRobinAssignor().assign(topics, members)) == {
        "a": "t0",
        "b": "u0",
        "c": "u1 v0 v1 v2",
    }


# --- sticky ------------------------------------------------------------------------------


def told(parts: Parts, members: Sequence[Member], generation: int = 1) -> list[Member]:
    """Members as they come to the next rebalance, with what they were given."""
    return [
        replace(
            each,
            owned=tuple(parts[each.member_id]),
            generation=generation,
            user_data=memory(parts[each.member_id], generation),
        )
        for each in members
    ]


def test_sticky_documented_example() -> None:
    """KIP-54: three members, four topics of two; when the second leaves, the others keep."""
    topics = topic("t0", 2) | topic("t1", 2) | topic("t2", 2) | topic("t3", 2)
    members = [member(each, *topics) for each in ("a", "b", "c")]
    first = StickyAssignor().assign(topics, members)
    assert sorted(map(len, first.values())) == [2, 3, 3]
    left = [each for each in told(first, members) if each.member_id != "b"]
    second = StickyAssignor().assign(topics, left)
    assert set(first["a"]) <= set(second["a"])
    assert set(first["c"]) <= set(second["c"])
    assert [len(mine) for mine in second.values()] == [4, 4]


def test_what_only_one_can_read_is_given_out_first() -> None:
    """So that he is not given anything else first, and has to part with what he had."""
    topics = topic("t", 3) | topic("u", 2)
    had = (TopicPartition("t", 2),)
    members = [
        replace(member("a", "t", "u"), user_data=memory(had, 1)),
        member("b", "t"),
    ]
    parts = StickyAssignor().assign(topics, members)
    assert shown(parts) == {"a": "t2 u0 u1", "b": "t0 t1"}


def test_sticky_remembers_across_rebalances() -> None:
    """Its user data is what it was given last, and Java's clients read it."""
    assignor = StickyAssignor()
    assert assignor.user_data(["t"]) is None
    mine = [TopicPartition("t", 1), TopicPartition("t", 0), TopicPartition("u", 7)]
    assignor.assigned(mine, 5)
    data = assignor.user_data(["t"])
    assert data == (b"\0\0\0\2\0\1t\0\0\0\2\0\0\0\0\0\0\0\1\0\1u\0\0\0\1\0\0\0\7\0\0\0\5")
    known = remembering(Member("a", ("t",), user_data=data))
    assert (set(known.owned), known.generation) == (set(mine), 5)
    assert remembering(Member("a", ("t",), user_data=data[:-4])).generation == -1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\x7f\xff\xff\xff",
        b"\0\0\0\1\xff\xff",
        b"\0\0\0\1\0\1\xff\0\0\0\0",
        b"\0\0\0\1\0\1t\x7f\xff\xff\xff\0\0\0\1",
    ],
)
def test_a_memory_that_cannot_be_read_is_none(data: bytes) -> None:
    """Another member's mistake does not end ours."""
    assert remembering(Member("a", ("t",), user_data=data)).owned == ()


def test_memories_of_very_many_partitions_make_bounded_objects() -> None:
    """B279: what all members remember together is limited; one above it had nothing."""
    count = 300_000
    data = b"\0\0\0\1\0\1t" + count.to_bytes(4, "big") + bytes(4 * count) + bytes(4)
    elements = Elements(1_000_000)
    found = [remembering(Member(each, ("t",), user_data=data), elements) for each in "abcd"]
    assert [len(each.owned) for each in found] == [count, count, count, 0]


def test_the_latest_claim_counts() -> None:
    """A member that was away comes back with what has been given to another since."""
    topics = topic("t", 2)
    both = (TopicPartition("t", 0), TopicPartition("t", 1))
    away = Member("a", ("t",), owned=both, generation=3)
    here = Member("b", ("t",), owned=both[:1], generation=4)
    parts = CooperativeStickyAssignor().assign(topics, [away, here])
    assert shown(parts) == {"a": "t1", "b": "t0"}


def test_contradictory_claims_are_settled() -> None:
    """Two had it in one generation, they say: it stays with one of them."""
    topics = topic("t", 1)
    both = [
        Member(each, ("t",), owned=(TopicPartition("t", 0),), generation=3) for each in "ba"
    ]
    assert shown(CooperativeStickyAssignor().assign(topics, both)) == {"a": "t0", "b": ""}


def test_cooperative_leaves_out_what_changes_hands() -> None:
    """KIP-429: given up in the first round, given out in the second."""
    topics = topic("t", 4)
    alone = [member("a", "t")]
    first = CooperativeStickyAssignor().assign(topics, alone)
    pair = [*told(first, alone), member("b", "t")]
    second = CooperativeStickyAssignor().assign(topics, pair)
    assert shown(second) == {"a": "t0 t1", "b": ""}
    third = CooperativeStickyAssignor().assign(topics, told(second, pair, 2))
    assert shown(third) == {"a": "t0 t1", "b": "t2 t3"}
    assert CooperativeStickyAssignor().assign(topics, told(third, pair, 3)) == third


# --- for any input -----------------------------------------------------------------------

NAMES = st.sampled_from("abcdefg")


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, list[PartitionInfo]], list[Member]]:
    """Topics and members, who may subscribe to topics that do not exist."""
    topics: dict[str, list[PartitionInfo]] = {}
    for name in draw(st.sets(st.sampled_from("tuvw"))):
        count = draw(st.integers(1, 9))
        racks = draw(st.none() | st.lists(st.text("xyz"), min_size=count, max_size=count))
        topics |= topic(name, count, racks or ())
    alike = draw(st.none() | st.sets(st.sampled_from("tuvwX"), min_size=1))
    members = [
        Member(
            who,
            tuple(sorted(alike or draw(st.sets(st.sampled_from("tuvwX"))))),
            instance_id=draw(st.none() | st.just(f"static-{who}")),
            rack=draw(st.none() | st.sampled_from("xyz")),
        )
        for who in draw(st.lists(NAMES, unique=True, min_size=1))
    ]
    return topics, members


def check_complete(
    topics: Topics, members: Sequence[Member], parts: Mapping[str, object]
) -> None:
    """Each subscribed partition goes to a subscriber, and no other partition is assigned."""
    assert set(parts) == {each.member_id for each in members}
    given_out = []
    for each in members:
        mine = parts[each.member_id]
        assert isinstance(mine, list)
        assert {tp.topic for tp in mine} <= set(each.topics)
        given_out += mine
    wanted = {name for each in members for name in each.topics} & topics.keys()
    assert sorted(given_out) == sorted(
        TopicPartition(name, info.partition) for name in wanted for info in topics[name]
    )


def check_balanced(members: Sequence[Member], parts: Parts) -> None:
    """No member has a partition that one with two fewer could read."""
    for each in members:
        for tp in parts[each.member_id]:
            for other in members:
                if tp.topic in other.topics:
                    assert len(parts[each.member_id]) - len(parts[other.member_id]) < 2


@pytest.mark.parametrize("name", NAMED)
@settings(deadline=None)
@given(groups())
def test_everything_is_read_once(
    name: str, group: tuple[dict[str, list[PartitionInfo]], list[Member]]
) -> None:
    """For any members and any topics; and always with the same result."""
    topics, members = group
    parts = NAMED[name]().assign(topics, members)
    check_complete(topics, members, parts)
    assert NAMED[name]().assign(topics, members[::-1]) == parts


@settings(deadline=None)
@given(groups(), groups(), st.booleans())
def test_sticky_is_balanced_and_keeps(
    before: tuple[dict[str, list[PartitionInfo]], list[Member]],
    after: tuple[dict[str, list[PartitionInfo]], list[Member]],
    cooperative: bool,  # noqa: FBT001
) -> None:
    """After any change of topics and members; and where nothing changes, nothing moves."""
    assignor = CooperativeStickyAssignor() if cooperative else StickyAssignor()
    first = assignor.assign(*before)
    check_balanced(before[1], first)
    assert assignor.assign(before[0], told(first, before[1])) == first
    known = {each.member_id: each for each in told(first, before[1])}
    members = [
        replace(
            each,
            owned=known[each.member_id].owned,
            generation=1,
            user_data=known[each.member_id].user_data,
        )
        if each.member_id in known
        else each
        for each in after[1]
    ]
    topics = after[0]
    second = assignor.assign(topics, members)
    if cooperative:
        held = {tp: each.member_id for each in members for tp in each.owned}
        for who, mine in second.items():
            assert all(held.get(tp, who) == who for tp in mine), "it is read by another"
        second = assignor.assign(topics, told(second, members, 2))
    check_complete(topics, members, second)
    check_balanced(members, second)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 40), st.data())
def test_who_leaves_moves_nothing_else(
    count: int, partitions: int, data: st.DataObject
) -> None:
    """With equal subscriptions the others keep all they had."""
    topics = topic("t", partitions)
    members = [member(f"m{number}", "t") for number in range(count + 1)]
    first = StickyAssignor().assign(topics, members)
    gone = data.draw(st.sampled_from(members))
    left = [each for each in told(first, members) if each.member_id != gone.member_id]
    second = StickyAssignor().assign(topics, left)
    for each in left:
        assert set(first[each.member_id]) <= set(second[each.member_id])
