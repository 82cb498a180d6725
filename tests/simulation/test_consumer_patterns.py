"""Patterns of ours by the consumer protocol: the broker hears names."""

import re

from tests.simulation.joining import INTERVAL, grouped, heartbeats, member, settle


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
