"""Three real nodes: they see each other, and go on without one."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka

Eventually = Callable[[Callable[[], Any]], Any]


def test_every_node_sees_every_node(
    prokurist_cluster: RealKafka, producer_of: Callable[..., Any]
) -> None:
    """Whichever node a client asks, it hears of three."""
    for bootstrap in prokurist_cluster.bootstrap.split(","):
        assert set(producer_of(bootstrap).list_topics(timeout=10).brokers) == {0, 1, 2}


def test_a_replicated_topic_is_led_by_all(prokurist_cluster: RealKafka) -> None:
    """Three partitions with three replicas have three leaders."""
    topic = prokurist_cluster.unique_topic(partitions=3, replication_factor=3)
    assert sorted(prokurist_cluster.leaders(topic)) == [0, 1, 2]


def test_the_group_coordinator_is_one_of_them(prokurist_cluster: RealKafka) -> None:
    """A test that wants to hurt the coordinator can ask who it is."""
    assert prokurist_cluster.coordinator("some-group") in {0, 1, 2}


def test_leadership_moves_away_from_a_dead_node(
    prokurist_cluster: RealKafka, eventually: Eventually
) -> None:
    """Kill the leader and another leads; restart it and it is one of three again."""
    topic = prokurist_cluster.unique_topic(replication_factor=3)
    (dead,) = prokurist_cluster.leaders(topic)
    prokurist_cluster.kill(dead)
    eventually(lambda: prokurist_cluster.leaders(topic)[0] not in {dead, -1})
    prokurist_cluster.restart(dead)
    again = prokurist_cluster.unique_topic(partitions=3, replication_factor=3)
    assert sorted(prokurist_cluster.leaders(again)) == [0, 1, 2]


def test_a_cluster_that_is_all_dead_comes_back(prokurist_cluster: RealKafka) -> None:
    """Healing brings the nodes back together: one alone would wait for another."""
    for node in range(3):
        prokurist_cluster.kill(node)
    prokurist_cluster.heal()
    topic = prokurist_cluster.unique_topic(partitions=3, replication_factor=3)
    assert sorted(prokurist_cluster.leaders(topic)) == [0, 1, 2]
