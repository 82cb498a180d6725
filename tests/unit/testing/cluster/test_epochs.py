"""Leader epochs: what each copy of a log knows of them, and what a broker's death does."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def fetch(lab: "Lab", offset: int, node: int = 1, **more: Any) -> Any:
    """Fetch the partition without waiting; its part of the answer."""
    part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20, **more}
    topics = [{"topic": "orders", "partitions": [part]}]
    body = lab.ask("Fetch", 12, node=node, max_wait=timedelta(0), max_bytes=9999, topics=topics)
    return body.responses[0].partitions[0]


def placed(lab: "Lab", node: int = 1) -> Any:
    """What Metadata says about the partition."""
    return (
        lab.ask("Metadata", 12, node=node, topics=[{"name": "orders"}]).topics[0].partitions[0]
    )


@pytest.fixture
def alone(make_lab: "Callable[..., Lab]") -> "Lab":
    """Two brokers, and a partition with one copy, on the first."""
    lab = make_lab(2, {})
    lab.control.create_topic("orders", replication=1)
    return lab


def test_the_epoch_rises_when_the_last_leader_goes_and_when_it_is_back(alone: "Lab") -> None:
    """No leader in the next epoch and an empty ISR; led again in the one after."""
    alone.control.kill(1)
    part = placed(alone, node=2)
    told = (part.error_code, part.leader_id, part.leader_epoch, part.isr_nodes)
    assert told == (5, -1, 1, ())
    alone.control.restart(1)
    part = placed(alone)
    told = (part.error_code, part.leader_id, part.leader_epoch, part.isr_nodes)
    assert told == (0, 1, 2, (1,))


def test_a_broker_that_restarts_unmissed_loses_its_partitions_first(alone: "Lab") -> None:
    """Its new process is registered after the session of the old one: two epochs later."""
    alone.control.kill(1, missed=False)
    assert alone.control.leader(ORDERS) == (1, 0)
    alone.control.restart(1)
    assert alone.control.leader(ORDERS) == (1, 2)


def test_only_the_last_in_sync_may_lead_again(lab: "Lab") -> None:
    """A copy that fell out of the ISR before waits for it, and then catches up."""
    for node in (1, 2, 3):
        lab.control.kill(node)
    assert lab.control.leader(ORDERS) == (-1, 3)
    lab.control.restart(1)
    assert lab.control.leader(ORDERS) == (-1, 3)
    lab.control.restart(3)
    assert lab.control.leader(ORDERS) == (3, 4)
    assert sorted(placed(lab).isr_nodes) == [1, 3]


def test_a_new_partition_is_led_by_a_broker_that_lives(lab: "Lab") -> None:
    """In epoch 0, with the dead one outside the ISR; grown topics likewise."""
    lab.control.kill(1)
    lab.control.create_topic("new", 1)
    lab.control.add_partitions("new", 4)
    for number in (0, 3):
        partition = lab.cluster.state.topics["new"].partitions[number]
        assert (partition.leader, partition.epoch, partition.isr) == (2, 0, [2, 3])


def test_a_follower_knows_an_epoch_from_its_first_record_on(lab: "Lab") -> None:
    """Asked with that epoch before, it cannot tell where it ended: OFFSET_OUT_OF_RANGE."""
    lab.control.let_followers_serve()
    lab.control.append(ORDERS, b"one")
    lab.control.move_leader(ORDERS, 2)
    now = {"current_leader_epoch": 1, "last_fetched_epoch": 1}
    assert fetch(lab, 1, node=2, **now).error_code == 0
    assert fetch(lab, 1, node=3, **now).error_code == 1
    assert fetch(lab, 1, node=3, **{**now, "last_fetched_epoch": 0}).error_code == 0
    lab.control.append(ORDERS, b"two")
    assert fetch(lab, 1, node=3, **now).error_code == 0


def test_a_follower_of_an_empty_partition_knows_no_epoch(lab: "Lab") -> None:
    """Not even the first; its leader does."""
    lab.control.let_followers_serve()
    assert fetch(lab, 0, node=1, last_fetched_epoch=0).error_code == 0
    assert fetch(lab, 0, node=3, last_fetched_epoch=0).error_code == 1


def test_an_epoch_without_records_leaves_no_trace(lab: "Lab") -> None:
    """After the next election the leader does not know it either, and says what it has."""
    lab.control.append(ORDERS, b"one")
    lab.control.set_epoch(ORDERS, 1)
    assert fetch(lab, 1, last_fetched_epoch=1).diverging_epoch.epoch == -1
    lab.control.set_epoch(ORDERS, 2)
    diverging = fetch(lab, 1, last_fetched_epoch=1).diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (0, 1)
