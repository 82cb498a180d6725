"""Patterns of ours by the consumer protocol: the broker hears names."""

import re

import pytest

from prokurist.types import SubscriptionPattern, TopicPartition
from tests.simulation.joining import INTERVAL, grouped, heartbeats, member, moments, settle


def test_a_pattern_of_ours_is_told_as_the_names_that_it_matches() -> None:
    """B129, B130: topics that appear are found; Kafka's own are not."""
    world = grouped(partitions=1, other=1)
    with member(world, re.compile("ord.*"), metadata_max_age_ms=5000) as consumer:
        settle(consumer, seconds=1.0)
        assert heartbeats(world)[0].subscribed_topic_names == ("orders",)
        assert heartbeats(world)[0].subscribed_topic_regex is None
        assert consumer.subscription() == {"orders"}
        world.control.create_topic("ordinary", 1)
        settle(consumer, seconds=5.0 + 2 * INTERVAL)
        assert consumer.subscription() == {"orders", "ordinary"}
        assert len(consumer.assignment()) == 2
        consumer.subscribe("other")
        settle(consumer, seconds=2 * INTERVAL)
        assert {tp.topic for tp in consumer.assignment()} == {"other"}


def test_a_pattern_that_matches_nothing_yet() -> None:
    """B130: the member is in, and waits."""
    world = grouped(partitions=1)
    with member(world, re.compile("late"), metadata_max_age_ms=5000) as consumer:
        settle(consumer, seconds=1.0)
        assert not consumer.assignment()
        assert world.control.describe_group("g").members
        world.control.create_topic("late", 2)
        settle(consumer, seconds=5.0 + 2 * INTERVAL)
        assert len(consumer.assignment()) == 2


def test_another_pattern_holds_no_heartbeat_back() -> None:
    """B120, B138: the member is what it was until the topics are known, and says so."""
    world = grouped(partitions=1, other=1)
    with member(world, "orders") as consumer:
        settle(consumer, seconds=1.0)
        held = world.control.hold("Metadata")
        consumer.subscribe(re.compile("o.*"))
        began = world.clock.time
        settle(consumer, seconds=4 * INTERVAL)
        late = [each for each in moments(world) if each >= began]
        assert len(late) == 4
        assert all(each.subscribed_topic_names is None for each in heartbeats(world)[-4:])
        assert {tp.topic for tp in consumer.assignment()} == {"orders"}
        held.undo()
        settle(consumer, seconds=2 * INTERVAL)
        assert {tp.topic for tp in consumer.assignment()} == {"orders", "other"}


def test_a_topic_of_a_brokers_pattern_that_was_deleted_stays_deleted() -> None:
    """B155: asked for by its name while it is assigned, it would be created again."""
    world = grouped(partitions=3)
    world.cluster.state.auto_create = True
    with member(
        world,
        SubscriptionPattern("ord.*"),
        metadata_max_age_ms=1000,
        allow_auto_create_topics=True,
    ) as consumer:
        settle(consumer, seconds=2 * INTERVAL)
        assert len(consumer.assignment()) == 3
        world.control.delete_topic("orders")
        settle(consumer, seconds=4 * INTERVAL)
        assert "orders" not in world.cluster.state.topics
        assert not consumer.assignment()


@pytest.mark.parametrize("ours", [False, True])
def test_a_topic_that_comes_and_goes_was_not_away_all_the_while(
    caplog: pytest.LogCaptureFixture, *, ours: bool
) -> None:
    """B429: it was taken away, given again and read; then it is away for a moment once more."""
    world = grouped(partitions=1, other=1)
    pattern = re.compile("o.*") if ours else SubscriptionPattern("o.*")
    with member(world, pattern, metadata_max_age_ms=1000) as consumer:
        settle(consumer, seconds=2 * INTERVAL)
        for _ in range(2):
            assert TopicPartition("orders", 0) in consumer.assignment()
            world.control.delete_topic("orders")
            world.at(world.clock.time + 0.6, lambda: world.control.create_topic("orders", 1))
            settle(consumer, seconds=2.5)  # Longer than metadata may be old.
            world.control.delete_topic("orders")
            settle(consumer, seconds=4 * INTERVAL)
            assert TopicPartition("orders", 0) not in consumer.assignment()
            world.control.create_topic("orders", 1)
            settle(consumer, seconds=4 * INTERVAL)
    told = [each.getMessage() for each in caplog.records]
    assert not [each for each in told if "exist" in each]


def test_a_topic_of_our_own_pattern_stays_deleted_while_the_member_is_out() -> None:
    """B129: also where it has yet to join again, and does not look for all topics."""
    world = grouped(partitions=3)
    world.cluster.state.auto_create = True
    with member(
        world,
        re.compile("ord.*"),
        metadata_max_age_ms=1000,
        max_poll_interval_ms=5000,
        allow_auto_create_topics=True,
    ) as consumer:
        settle(consumer, seconds=2 * INTERVAL)
        assert len(consumer.assignment()) == 3
        world.clock.sleep(6.0)
        world.control.delete_topic("orders")
        world.clock.sleep(6.0)
        assert "orders" not in world.cluster.state.topics
