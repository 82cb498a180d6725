"""Share consumers on three real nodes."""

import time
from collections.abc import Iterator

import pytest

from prokurist import ShareRecord, errors
from prokurist.testing.kafka import RealKafka
from prokurist.types import TopicPartition
from tests.broker.test_share_consumers import Sharing
from tests.broker.watching import LATE
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka


PROPERTIES: dict[str, object] = {
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}


@pytest.fixture(scope="module")
def cluster(startable: None) -> Iterator[RealKafka]:
    """Three nodes; one of them keeps the states of all share groups."""
    del startable
    with RealKafka(3, "4.3.1", properties=PROPERTIES) as kafka:
        yield kafka


def test_one_frozen_broker_of_three(cluster: RealKafka) -> None:
    """B819: a commit ends on time, and what the others have taken is done; B803."""
    sharing = Sharing(cluster)
    topic = cluster.unique_topic(partitions=3, replication_factor=1)
    group = sharing.group()
    leaders = cluster.leaders(topic)
    with sharing.reader(topic, group) as first:
        sharing.write(topic, b"first")
        assert first.poll(30.0)
        first.commit_sync(10.0)
    needed = {cluster.coordinator(group), *cluster.leaders("__share_group_state")}
    frozen = next(each for each in leaders if each not in needed)
    lively = next(nth for nth, each in enumerate(leaders) if each != frozen)
    silent = leaders.index(frozen)
    with sharing.reader(topic, group, share_acknowledge_ahead=False) as consumer:
        until = time.monotonic() + 30.0
        while len(consumer.assignment()) < 3:
            assert time.monotonic() < until
            consumer.poll(1.0)
        sharing.write(topic, b"held", partition=silent)
        sharing.write(topic, b"too", partition=lively)
        found: list[ShareRecord] = []
        while len(found) < 2:
            found += consumer.poll(10.0)
            for each in found:
                if each.is_held and each.mark is None:
                    each.renew()
        time.sleep(1.0)
        taken = tuple(each.offset for each in found if each.partition == lively)
        cluster.freeze(frozen)
        try:
            for each in found:
                each.accept()
            with (
                Stopwatch() as took,
                pytest.raises(errors.AcknowledgeTimeoutException) as raised,
            ):
                consumer.commit_sync(2.0)
            assert took.own < 2.0 + LATE
            assert raised.value.may_have_happened
            assert raised.value.done == {TopicPartition(topic, lively): taken}
            for nth in range(3):
                sharing.write(topic, b"%d" % nth, partition=lively)
                with Stopwatch() as took:
                    assert [each.value for each in consumer.poll(5.0)] == [b"%d" % nth]
                assert took.own < 1.5
        finally:
            cluster.thaw(frozen)


def test_a_leader_that_dies_takes_its_locks_along(cluster: RealKafka) -> None:
    """B825: the decision is told as lost, and the records come again."""
    sharing = Sharing(cluster)
    topic = cluster.unique_topic(partitions=3, replication_factor=3)
    group = sharing.group()
    with sharing.reader(topic, group, share_acknowledge_ahead=False) as consumer:
        leaders = cluster.leaders(topic)
        needed = {cluster.coordinator(group), *cluster.leaders("__share_group_state")}
        dead = next(each for each in leaders if each not in needed)
        partition = leaders.index(dead)
        sharing.write(topic, b"1", b"2", partition=partition)
        held: list[ShareRecord] = []
        while len(held) < 2:
            held += consumer.poll(20.0)
        cluster.kill(dead)
        try:
            with pytest.raises(errors.AcknowledgeException) as raised:
                consumer.commit_sync(20.0)
            assert raised.value.refused[TopicPartition(topic, partition)][0] == (0, 1)
            assert not any(each.is_held for each in held)
            again: list[ShareRecord] = []
            until = time.monotonic() + 40.0
            while len(again) < 2:
                assert time.monotonic() < until
                again += consumer.poll(5.0)
            assert {each.offset for each in again} == {0, 1}
            consumer.commit_sync(20.0)
        finally:
            cluster.restart(dead)
