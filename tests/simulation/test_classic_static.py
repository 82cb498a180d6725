"""Static members of a classic group in virtual time: KIP-345, KIP-814, and their ids."""

import pytest

from prokurist import errors
from tests.simulation.classic_members import (
    asked,
    consumer_in,
    group_of,
    live,
    member_of,
    orders,
    settle,
)
from tests.simulation.world import World


def test_a_static_member_comes_back_to_what_it_had() -> None:
    """B127, KIP-345: no leave, no round for the others, the same partitions."""
    world = World()
    other = consumer_in(world, "other")
    other.subscribe("orders")
    before = consumer_in(world, "static", group_instance_id="me")
    before.subscribe("orders")
    settle(world, other, before)
    had, generation = before.assignment(), group_of(world).generation
    before.close()
    assert not asked(world, "LeaveGroup")
    after = consumer_in(world, "static", group_instance_id="me")
    after.subscribe("orders")
    settle(world, other, after)
    assert after.assignment() == had
    assert group_of(world).generation == generation


@pytest.mark.parametrize("instance", ["me", None])
def test_an_id_that_may_be_unsaved_is_no_static_member_s(
    instance: str | None,
) -> None:
    """A coordinator that was frozen gives one, and is none; to the next it would be strange.

    It knows the instance by an older id, and would call us another client for good. Who has no
    instance keeps the id, and is told if it is worth nothing.
    """
    world = World()
    consumer = consumer_in(world, "c", group_instance_id=instance)
    consumer.subscribe("orders")
    world.control.fail("SyncGroup", 16, times=1)
    settle(world, consumer)
    before, after = asked(world, "JoinGroup", "c")[-2:]
    given = asked(world, "SyncGroup", "c")[0].body.member_id
    assert given
    assert after.body.member_id == ("" if instance else given)
    assert before.body.group_instance_id == instance
    told = asked(world, "SyncGroup", "c")[-1].body.member_id
    assert consumer.group_metadata().member_id == told
    assert (told != given) is (instance is not None)


def test_nor_is_it_where_the_round_was_broken_off_before() -> None:
    """Such a coordinator may begin another round, and find out only when we join that."""
    world = World()
    consumer = consumer_in(world, "c", group_instance_id="me")
    consumer.subscribe("orders")
    world.control.fail("SyncGroup", 27, times=2)
    live(world, consumer, until=lambda: len(asked(world, "SyncGroup", "c")) == 2)
    world.control.fail("JoinGroup", 16, times=1)
    settle(world, consumer)
    given = asked(world, "SyncGroup", "c")[0].body.member_id
    assert given
    joins = [each.body.member_id for each in asked(world, "JoinGroup", "c")]
    assert joins == ["", given, given, ""]


def test_a_static_member_keeps_its_id_over_a_rebalance() -> None:
    """A coordinator that moves in the midst of a later round has written it down long ago."""
    world = World()
    consumer = consumer_in(world, "c", group_instance_id="me")
    consumer.subscribe("orders")
    settle(world, consumer)
    had = consumer.group_metadata().member_id
    world.control.fail("SyncGroup", 16, times=1)
    consumer.enforce_rebalance()
    live(world, consumer, seconds=2.0)
    settle(world, consumer)
    assert [each.body.member_id for each in asked(world, "JoinGroup", "c")[-2:]] == [had, had]


def test_a_static_leader_comes_back_without_assigning() -> None:
    """KIP-814: it is told that it leads and need not assign; the others keep their parts."""
    world = World()
    before = consumer_in(world, "static", group_instance_id="me")
    before.subscribe("orders")
    settle(world, before)
    other = consumer_in(world, "other")
    other.subscribe("orders")
    settle(world, before, other)
    had, generation = before.assignment(), group_of(world).generation
    before.close()
    after = consumer_in(world, "static", group_instance_id="me", metadata_max_age_ms=20_000)
    after.subscribe("orders")
    settle(world, after, other)
    assert (after.assignment(), group_of(world).generation) == (had, generation)
    assert asked(world, "SyncGroup", "static")[-1].body.assignments == ()
    world.control.add_partitions("orders", 5)
    live(world, after, other, seconds=30, until=lambda: group_of(world).generation > generation)
    settle(world, after, other)
    assert after.assignment() | other.assignment() == orders(0, 1, 2, 3, 4)


def test_of_two_with_one_name_the_older_is_fenced() -> None:
    """B127: a fatal error in every poll of the older, which names the instance."""
    world = World()
    older = consumer_in(world, "older", group_instance_id="me")
    older.subscribe("orders")
    settle(world, older)
    newer = consumer_in(world, "newer", group_instance_id="me")
    newer.subscribe("orders")
    settle(world, newer)
    for _ in range(2):
        with pytest.raises(errors.FencedInstanceIdException, match="me"):
            live(world, older, seconds=10.0)
    settle(world, newer)
    older.close()
    assert not asked(world, "LeaveGroup")
    assert member_of(newer).who.generation == group_of(world).generation
