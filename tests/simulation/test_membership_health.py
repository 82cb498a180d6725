"""`health().membership`: where a member stands, in both protocols, without waiting."""

from typing import Any

import pytest

from prokurist import KafkaConsumer, MembershipHealth, MembershipState, TopicPartition, errors
from tests.simulation.joining import INTERVAL, Notes, grouped, settle
from tests.simulation.world import World

PROTOCOLS = ("consumer", "classic")


def member(world: World, protocol: str, listener: object = None, **keys: Any) -> KafkaConsumer:
    """A consumer that has subscribed; both protocols send heartbeats as often."""
    consumer = world.consumer(
        group_protocol=protocol,
        enable_auto_commit=False,
        max_poll_interval_ms=20_000,
        fetches=False,
        **keys,
    )
    consumer.subscribe("orders", listener)  # type: ignore[arg-type]
    return consumer


def health(consumer: KafkaConsumer) -> MembershipHealth:
    """Of a consumer with a group."""
    membership = consumer.health().membership
    assert membership is not None
    return membership


def state(consumer: KafkaConsumer) -> MembershipState:
    """Where it stands."""
    return health(consumer).state


def test_without_a_group_there_is_none() -> None:
    """And by hand one reads outside of it."""
    world = grouped()
    with world.consumer(group_id=None, enable_auto_commit=False) as alone:
        assert alone.health().membership is None
    with world.consumer() as by_hand:
        by_hand.assign(TopicPartition("orders", 0))
        by_hand.poll(1.0)
        assert health(by_hand) == MembershipHealth("classic", MembershipState.OUT, "", -1, None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_states_of_a_quiet_life(protocol: str) -> None:
    """Out, joining, stable, and out again; with the id and the epoch of the moment."""
    world = grouped()
    consumer = member(world, protocol)
    assert state(consumer) is MembershipState.OUT
    held = world.control.hold(
        "ConsumerGroupHeartbeat" if protocol == "consumer" else "JoinGroup"
    )
    consumer.poll(0.5)
    assert state(consumer) is MembershipState.JOINING
    assert health(consumer).heartbeat_age is None
    held.undo()
    settle(consumer, seconds=5.0)
    place = consumer.group_metadata()
    seen = health(consumer)
    assert seen.state is MembershipState.STABLE
    assert (seen.protocol, seen.member_id, seen.epoch) == (
        protocol,
        place.member_id,
        place.generation_id,
    )
    consumer.unsubscribe()
    assert health(consumer) == MembershipHealth(protocol, MembershipState.OUT, "", -1, None)
    consumer.close()
    assert state(consumer) is MembershipState.OUT


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_age_of_the_last_heartbeat_that_was_answered(protocol: str) -> None:
    """It stays below the interval, and grows while the coordinator is silent."""
    world = grouped()
    with (
        member(world, protocol, heartbeat_interval_ms=3000)
        if protocol == "classic"
        else (member(world, protocol)) as consumer
    ):
        settle(consumer, seconds=2.0)
        for _ in range(10):
            world.clock.sleep(0.7)
            age = health(consumer).heartbeat_age
            assert age is not None
            assert age <= INTERVAL + 0.1
        frozen = world.control.freeze(1)
        world.clock.sleep(10.0)
        age = health(consumer).heartbeat_age
        assert age is not None
        assert 10.0 <= age <= 10.0 + INTERVAL + 0.1
        frozen.undo()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_while_partitions_change_hands(protocol: str) -> None:
    """Reconciling, for as long as the listener takes."""
    world = grouped()
    seen: list[MembershipHealth] = []
    notes = Notes(revoked=lambda _: seen.append(health(first)))
    with member(world, protocol, notes) as first:
        settle(first, seconds=5.0)
        with member(world, protocol) as second:
            settle(first, second)
            assert state(first) is state(second) is MembershipState.STABLE
    assert seen[0].state is MembershipState.RECONCILING
    assert seen[0].member_id
    assert seen[0].epoch > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_put_out_by_the_group(protocol: str) -> None:
    """Fenced until the listener has heard of it, then joining again."""
    world = grouped()
    seen: list[MembershipState] = []
    notes = Notes(lost=lambda _: seen.append(state(consumer)))
    with member(world, protocol, notes) as consumer:
        settle(consumer, seconds=5.0)
        world.control.expire_member("g", consumer.group_metadata().member_id)
        world.clock.sleep(2 * INTERVAL)
        assert state(consumer) is MembershipState.FENCED
        assert health(consumer).heartbeat_age is None
        settle(consumer, seconds=5.0)
        assert seen == [MembershipState.FENCED]
        assert state(consumer) is MembershipState.STABLE


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_does_not_poll(protocol: str) -> None:
    """Stale, until the next poll has told of what is lost."""
    world = grouped()
    with member(world, protocol) as consumer:
        settle(consumer, seconds=5.0)
        world.clock.sleep(30.0)
        assert state(consumer) is MembershipState.STALE
        settle(consumer, seconds=5.0)
        assert state(consumer) is MembershipState.STABLE


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_is_refused_for_good(protocol: str) -> None:
    """Failed, until it unsubscribes."""
    world = grouped()
    api = "ConsumerGroupHeartbeat" if protocol == "consumer" else "JoinGroup"
    world.control.fail(api, 81, times=1)  # type: ignore[arg-type]  # GROUP_MAX_SIZE_REACHED
    with member(world, protocol) as consumer:
        with pytest.raises(errors.GroupMaxSizeReachedException):
            consumer.poll(5.0)
        assert state(consumer) is MembershipState.FAILED
        consumer.unsubscribe()
        assert state(consumer) is MembershipState.OUT
