"""Brokers that freeze, die, and come back."""

from typing import TYPE_CHECKING

import pytest

from prokurist.testing.cluster import End
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def test_a_frozen_broker_takes_everything_and_answers_when_thawed(lab: "Lab") -> None:
    """Connections and bytes are accepted; the answers come in order, at the thaw."""
    before = lab.connect(1)
    with lab.control.freeze(1):
        during = lab.connect(1)
        for session in (before, during, before):
            lab.send(session, "Metadata", 12)
        assert lab.pass_by(3600) == []
        lab.ask("Metadata", 12, node=2)
    came = lab.pass_by(0)
    assert [at for at, _ in came] == [3700.0] * 3
    assert [lab.read(each).correlation_id for _, each in came] == [1, 3, 2]


def test_a_frozen_broker_is_not_missed(lab: "Lab") -> None:
    """It still leads what it led, as a stopped process does for a while."""
    lab.control.freeze(1)
    body = lab.ask("Metadata", 12, node=2, topics=None)
    assert [each.node_id for each in body.brokers] == [1, 2, 3]
    assert body.topics[0].partitions[0].leader_id == 1


def test_a_whole_cluster_can_freeze(lab: "Lab") -> None:
    """And thaw."""
    lab.control.freeze()
    for node in (1, 2, 3):
        lab.send(lab.connect(node), "ApiVersions", 3)
    assert lab.pass_by(10) == []
    lab.control.thaw()
    assert len(lab.pass_by(0)) == 3


def test_the_others_take_over_from_a_killed_broker(lab: "Lab") -> None:
    """Metadata forgets it; its partitions and groups have moved, in a new epoch."""
    groups = [f"group-{each}" for each in range(20)]
    with lab.control.kill(1):
        with pytest.raises(ConnectionRefusedError):
            lab.connect(1)
        body = lab.ask("Metadata", 12, node=2, topics=None)
        assert [each.node_id for each in body.brokers] == [2, 3]
        [partition, *_] = body.topics[0].partitions
        assert (partition.leader_id, partition.leader_epoch) == (2, 1)
        assert (set(partition.isr_nodes), partition.offline_replicas) == ({2, 3}, (1,))
        assert {lab.control.coordinator(each) for each in groups} == {2, 3}
    assert lab.control.leader(ORDERS) == (2, 1)
    body = lab.ask("Metadata", 12, node=1, topics=None)
    assert set(body.topics[0].partitions[0].isr_nodes) == {1, 2, 3}
    assert {lab.control.coordinator(each) for each in groups} == {1, 2, 3}


def test_only_the_groups_of_a_killed_broker_move(lab: "Lab") -> None:
    """The others stay where they are."""
    groups = [f"group-{each}" for each in range(20)]
    before = {each: lab.control.coordinator(each) for each in groups}
    lab.control.kill(3)
    for each in groups:
        if before[each] != 3:
            assert lab.control.coordinator(each) == before[each]


def test_a_killed_broker_that_is_not_missed_yet_is_still_named(lab: "Lab") -> None:
    """Clients find it in metadata, and no server at its address."""
    lab.control.kill(1, missed=False)
    body = lab.ask("Metadata", 12, node=2, topics=None)
    assert [each.node_id for each in body.brokers] == [1, 2, 3]
    assert body.topics[0].partitions[0].leader_id == 1
    lab.control.miss(1)
    body = lab.ask("Metadata", 12, node=2, topics=None)
    assert [each.node_id for each in body.brokers] == [2, 3]


def test_a_partition_without_copies_elsewhere_has_no_leader(
    make_lab: "Callable[..., Lab]",
) -> None:
    """Metadata says so, and the broker leads it again once it is back."""
    lab = make_lab(2, {})
    lab.control.create_topic("detached", replication=1)
    lab.control.kill(1)
    body = lab.ask("Metadata", 12, node=2, topics=None)
    [partition] = body.topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (5, -1)
    lab.control.restart(1)
    assert lab.control.leader(TopicPartition("detached", 0)) == (1, 2)


def test_an_answer_that_was_ready_has_left_a_killed_broker(lab: "Lab") -> None:
    """The reset comes behind it."""
    session = lab.connect(1)
    lab.send(session, "ApiVersions", 3)
    lab.cluster.catch_up(lab.time.at)
    lab.control.kill(1)
    assert [each.end for _, each in lab.pass_by(0)] == [None, End.RESET]


def test_disconnecting_ends_what_is_open_and_nothing_else(lab: "Lab") -> None:
    """The broker itself goes on."""
    lab.connect(1)
    lab.connect(2)
    lab.control.disconnect(1)
    assert [(each.session.number, each.end) for _, each in lab.pass_by(0)] == [(1, End.CLOSED)]
    assert (lab.control.sessions(1), lab.control.sessions()) == (0, 1)
    lab.ask("ApiVersions", 3, node=1)
