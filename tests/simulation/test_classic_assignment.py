"""Who reads what in a classic group, in virtual time: assignors, patterns, and new topics."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from prokurist.assignors.assignor import Member, Parts, Topics
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import ConfigException, KafkaException
from prokurist.types import TopicPartition
from tests.simulation.classic_members import (
    Heard,
    asked,
    consumer_in,
    group_of,
    live,
    orders,
    settle,
)
from tests.simulation.world import World

COOPERATIVE = "cooperative-sticky"


class Mine:
    """A user's own assignor: everything goes to the first, unless a test says otherwise."""

    name = "mine"
    cooperative = False

    def __init__(self, answer: object = None) -> None:
        self.answer = answer
        self.calls: list[str] = []

    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """See `Assignor`."""
        self.calls.append("user_data")
        return ",".join(topics).encode()

    def assign(
        self, topics: Topics, members: Sequence[Member]
    ) -> Mapping[str, Iterable[TopicPartition]]:
        """See `Assignor`."""
        self.calls.append("assign")
        assert all(each.user_data == b"orders" for each in members)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer  # type: ignore[return-value]  # nonsense is what it is for
        everything = [TopicPartition(t, i.partition) for t, p in topics.items() for i in p]
        first: Parts = {min(each.member_id for each in members): everything}
        return first

    def assigned(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """See `Assignor`."""
        self.calls.append(f"assigned {len(partitions)} in {generation}")


def member(world: World, name: str, heard: Heard | None = None, **keys: Any) -> KafkaConsumer:
    """One that has subscribed."""
    consumer = consumer_in(world, name, **keys)
    consumer.subscribe("orders", heard)
    return consumer


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", COOPERATIVE])
def test_each_assignor_shares_out_everything_evenly(name: str) -> None:
    """B133: three members, seven partitions, each exactly once."""
    world = World(topics={"orders": 7})
    consumers = [
        member(world, f"c{each}", partition_assignment_strategy=name) for each in range(3)
    ]
    settle(world, *consumers)
    parts = [each.assignment() for each in consumers]
    assert sorted(map(len, parts)) == [2, 2, 3]
    assert frozenset().union(*parts) == orders(*range(7))


def test_a_cooperative_group_goes_on_reading_what_stays() -> None:
    """B128, KIP-429: revoked is only what goes, and no member is given it before that."""
    world = World(topics={"orders": 4})
    heard, late_heard = Heard(), Heard()
    one = member(world, "one", heard, partition_assignment_strategy=COOPERATIVE)
    settle(world, one)
    late = member(world, "late", late_heard, partition_assignment_strategy=COOPERATIVE)
    kept: set[int] = set()

    def looked() -> bool:
        kept.add(len(one.assignment()))
        assert not one.assignment() & late.assignment()
        return group_of(world).generation >= 3

    live(world, one, late, until=looked)
    settle(world, one, late)
    assert kept <= {4, 2}
    assert heard.said[0] == ("assigned", orders(0, 1, 2, 3))
    gone = heard.said[1][1]
    assert heard.said[1] == ("revoked", gone)
    assert len(gone) == 2
    assert {each for what, tps in heard.said[2:] for each in tps} == set()
    assert late.assignment() == gone
    one.close()
    settle(world, late)
    assert "revoked" not in late_heard.what()


def test_cooperative_members_give_up_what_is_not_subscribed_to_and_no_more() -> None:
    """B128: of two topics the one that goes is revoked; the other is read throughout."""
    world = World(topics={"orders": 2, "bills": 1})
    heard = Heard()
    consumer = consumer_in(world, "c", partition_assignment_strategy=COOPERATIVE)
    consumer.subscribe(["orders", "bills"], heard)
    settle(world, consumer)
    consumer.subscribe(["orders"], heard)
    live(world, consumer, until=lambda: "revoked" in heard.what())
    settle(world, consumer)
    revoked = [tps for what, tps in heard.said if what == "revoked"]
    assert revoked == [frozenset({TopicPartition("bills", 0)})]
    assert consumer.assignment() == orders(0, 1)


def test_a_cooperative_member_that_is_put_out_in_a_round_has_lost_what_it_kept() -> None:
    """CONTRACT 4: UNKNOWN_MEMBER_ID for JoinGroup, with partitions in hand."""
    world = World()
    heard = Heard()
    one = member(world, "one", heard, partition_assignment_strategy=COOPERATIVE)
    settle(world, one)
    group_of(world).expire(one.group_metadata().member_id, world.clock.time)
    one.enforce_rebalance()
    settle(world, one)
    assert heard.what() == ["assigned", "lost", "assigned"]


def test_members_of_both_kinds_share_a_group() -> None:
    """KIP-429's way up: the default list beside cooperative-sticky alone; none has two."""
    world = World(topics={"orders": 4})
    old = member(world, "old")
    settle(world, old)
    new = member(world, "new", partition_assignment_strategy=COOPERATIVE)

    def disjoint() -> bool:
        assert not old.assignment() & new.assignment()
        return False

    live(world, old, new, seconds=15.0, until=disjoint)
    settle(world, old, new)
    assert group_of(world).protocol == COOPERATIVE
    assert old.assignment() | new.assignment() == orders(0, 1, 2, 3)
    assert len(old.assignment()) == len(new.assignment()) == 2


def test_a_sticky_group_moves_as_little_as_it_can() -> None:
    """B133, KIP-54: eager, but what a member had comes back to it."""
    world = World(topics={"orders": 6})
    first = [member(world, f"c{n}", partition_assignment_strategy="sticky") for n in range(2)]
    settle(world, *first)
    before = [each.assignment() for each in first]
    third = member(world, "third", partition_assignment_strategy="sticky")
    settle(world, *first, third)
    after = [each.assignment() for each in first]
    assert all(new < old for new, old in zip(after, before, strict=True))


def test_partitions_that_are_added_are_shared_out() -> None:
    """B202 for groups: the leader sees them with the next metadata, and asks for a round."""
    world = World()
    one, other = (member(world, each, metadata_max_age_ms=20_000) for each in ("one", "other"))
    settle(world, one, other)
    world.control.add_partitions("orders", 6)
    live(world, one, other, seconds=30.0, until=lambda: group_of(world).generation > 2)
    settle(world, one, other)
    assert one.assignment() | other.assignment() == orders(*range(6))
    assert "orders has 6 partitions by now" in {
        each.body.reason for each in asked(world, "JoinGroup")
    }


def test_a_topic_that_appears_is_read() -> None:
    """B195: subscribed to before it exists; the member waits quietly, and then has it."""
    world = World()
    consumer = consumer_in(world, "c", allow_auto_create_topics=False)
    consumer.subscribe("later")
    settle(world, consumer)
    assert not consumer.assignment()
    world.control.create_topic("later", 2)
    live(world, consumer, seconds=10.0, until=lambda: bool(consumer.assignment()))
    assert len(consumer.assignment()) == 2


def test_the_leader_looks_at_topics_that_only_others_read() -> None:
    """KIP-814's note and Java's: who does not read a topic shares it out all the same."""
    world = World(topics={"orders": 2, "bills": 2})
    leader = member(world, "leader", metadata_max_age_ms=20_000)
    settle(world, leader)
    other = consumer_in(world, "other", metadata_max_age_ms=20_000)
    other.subscribe("bills")
    settle(world, leader, other)
    assert {each.topic for each in other.assignment()} == {"bills"}
    world.control.add_partitions("bills", 4)
    live(world, leader, other, seconds=30.0, until=lambda: len(other.assignment()) == 4)
    assert len(other.assignment()) == 4


def test_a_pattern_finds_what_appears_and_loses_what_goes() -> None:
    """B129: by the whole name; Kafka's own topics are left out unless one wants them."""
    world = World(topics={"orders": 1, "orders-eu": 1, "bills": 1})
    consumer = consumer_in(world, "c", metadata_max_age_ms=5000)
    consumer.subscribe(re.compile(r"orders(-\w+)?"))
    settle(world, consumer)
    assert consumer.subscription() == {"orders", "orders-eu"}
    world.control.create_topic("orders-us", 2)
    live(world, consumer, seconds=15.0, until=lambda: len(consumer.assignment()) == 4)
    assert consumer.subscription() == {"orders", "orders-eu", "orders-us"}
    world.control.delete_topic("orders-eu")
    live(world, consumer, seconds=15.0, until=lambda: len(consumer.assignment()) == 3)
    assert consumer.subscription() == {"orders", "orders-us"}


def test_a_pattern_that_matches_nothing_joins_all_the_same() -> None:
    """B130, B259: an empty subscription, no error, and topics when they appear."""
    world = World()
    consumer = consumer_in(world, "c", metadata_max_age_ms=5000)
    consumer.subscribe(re.compile("nothing.*"))
    settle(world, consumer)
    assert not consumer.subscription()
    world.control.create_topic("nothing-yet", 1)
    live(world, consumer, seconds=15.0, until=lambda: bool(consumer.assignment()))
    assert consumer.subscription() == {"nothing-yet"}


def test_another_pattern_is_another_subscription() -> None:
    """B128: also where the first had matched nothing."""
    world = World()
    consumer = consumer_in(world, "c")
    consumer.subscribe(re.compile("nothing"))
    settle(world, consumer)
    consumer.subscribe(re.compile("ord.*"))
    live(world, consumer, until=lambda: bool(consumer.assignment()))
    assert consumer.assignment() == orders(0, 1, 2)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_another_pattern_is_matched_against_fresh_metadata(protocol: str) -> None:
    """B128: a topic made since the last look at all topics is found at once."""
    world = World()
    consumer = consumer_in(world, "c", group_protocol=protocol)
    consumer.subscribe(re.compile("ord.*"))
    live(world, consumer, until=lambda: len(consumer.assignment()) == 3)
    world.control.create_topic("bills", 1)
    consumer.subscribe(re.compile("ord.*|bills"))
    found = live(world, consumer, seconds=60.0, until=lambda: len(consumer.assignment()) == 4)
    assert consumer.subscription() == {"orders", "bills"}
    assert found < 15.0  # Under the consumer protocol the coordinator is told with a heartbeat.


@pytest.mark.parametrize("excluded", [True, False])
def test_kafkas_own_topics_are_matched_on_request_only(*, excluded: bool) -> None:
    """B129: exclude.internal.topics."""
    world = World(topics={"orders": 1, "__consumer_offsets": 1})
    consumer = consumer_in(world, "c", exclude_internal_topics=excluded)
    consumer.subscribe(re.compile(".*"))
    settle(world, consumer)
    assert consumer.subscription() == (
        {"orders"} if excluded else {"orders", "__consumer_offsets"}
    )


def test_a_users_assignor_runs_on_the_application_thread() -> None:
    """CONTRACT 2.9: as steps of a poll, with what members say, and told of its part."""
    world = World()
    own = [Mine(), Mine()]
    consumers = [
        member(world, f"c{n}", partition_assignment_strategy=[each])
        for n, each in enumerate(own)
    ]
    world.clock.sleep(10.0)
    assert own[0].calls == []
    settle(world, *consumers)
    assert sorted(len(each.assignment()) for each in consumers) == [0, 3]
    assert sum(each.calls.count("assign") for each in own) == group_of(world).generation
    assert all(each.calls[-1].startswith("assigned") for each in own)


@pytest.mark.parametrize(
    "answer",
    [{"no-member": orders(0)}, 7, ValueError("not today")],
    ids=lambda each: str(each)[:9],
)
def test_a_users_assignor_that_fails_wedges_no_group(answer: object) -> None:
    """Issue 6: the error names it; its consumer leaves, and another member leads."""
    world = World()
    bad = member(world, "bad", partition_assignment_strategy=[Mine(answer)])
    with pytest.raises(KafkaException, match="assignor 'mine'") as caught:
        live(world, bad, seconds=5.0)
    if isinstance(answer, Exception):
        assert caught.value.__cause__ is answer
    with pytest.raises(KafkaException, match="assignor 'mine'"):
        bad.poll(0)
    good = member(world, "good", partition_assignment_strategy=[Mine()])
    assert settle(world, good) < 2.0
    assert good.assignment() == orders(0, 1, 2)
    bad.unsubscribe()


def test_a_partition_outside_the_subscription_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another client's leader may be wrong: joined again, with pauses, and nothing is read."""
    world = World(topics={"orders": 3, "bills": 1})
    wrong = frozenset({TopicPartition("bills", 0)})
    monkeypatch.setattr(
        "prokurist.network_thread.membership.classic.assignors.checked",
        lambda _name, _parts, members, _topics, **_: {members[0].member_id: wrong},
    )
    consumer = member(world, "c")
    live(world, consumer, seconds=20.0)
    assert not consumer.assignment()
    assert "bills-0" in asked(world, "JoinGroup")[-1].body.reason
    assert len(asked(world, "SyncGroup")) < 40
    monkeypatch.undo()
    settle(world, consumer)
    assert consumer.assignment() == orders(0, 1, 2)


def test_what_is_no_assignor_is_refused_by_the_constructor() -> None:
    """The error says what is missing, before anything is opened."""
    world = World()
    for given, why in (
        (object(), "has no name"),
        (Mine, "a class"),
        ([Mine(), Mine()], "two assignors"),
    ):
        listed = given if isinstance(given, list) else [given]
        with pytest.raises(ConfigException, match=why):
            world.consumer(partition_assignment_strategy=listed)
    named = Mine()
    named.name = "range"
    with pytest.raises(ConfigException, match="Kafka's own"):
        world.consumer(partition_assignment_strategy=[named])
