"""Brokers that know different things: each learns of topics and leaders by itself, in order."""

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import Record
from prokurist.types import TopicPartition
from tests.unit.testing.cluster.test_list_offsets import ended

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def metadata(lab: "Lab", node: int, *names: str) -> Any:
    """What a broker says about topics, or all it knows of them."""
    topics = [{"name": name} for name in names] or None
    return lab.ask("Metadata", 12, node=node, topics=topics)


def led_by(lab: "Lab", node: int) -> tuple[int, int]:
    """Who leads the partition by what a broker knows, and in which epoch."""
    part = metadata(lab, node, "orders").topics[0].partitions[0]
    return part.leader_id, part.leader_epoch


def fetch(lab: "Lab", node: int, offset: int, epoch: int) -> Any:
    """Fetch the partition without waiting; its part of the answer."""
    part = {"partition": 0, "fetch_offset": offset, "current_leader_epoch": epoch}
    topics = [{"topic": "orders", "partitions": [{**part, "partition_max_bytes": 9999}]}]
    values = {"max_wait": timedelta(0), "max_bytes": 9999}
    return lab.ask("Fetch", 12, node=node, topics=topics, **values).responses[0].partitions[0]


def listed(lab: "Lab", node: int, epoch: int = -1) -> int:
    """The error code of a look-up of the partition's end."""
    part = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": epoch}
    topics = [{"name": "orders", "partitions": [part]}]
    code: int = (
        lab.ask("ListOffsets", 7, node=node, topics=topics).topics[0].partitions[0].error_code
    )
    return code


def test_a_broker_names_the_old_leader_until_it_has_heard(lab: "Lab") -> None:
    """The others name the new one at once."""
    lab.control.delay_metadata(0.5, node=3)
    lab.control.move_leader(ORDERS, 2)
    assert (led_by(lab, 2), led_by(lab, 3)) == ((2, 1), (1, 0))
    lab.pass_by(0.51)
    assert led_by(lab, 3) == (2, 1)


def test_a_topic_is_not_there_yet_or_still_there(lab: "Lab") -> None:
    """Created again, it is still known by its old id where that is heard late."""
    lab.control.delay_metadata(0.5, node=2)
    lab.control.create_topic("new")
    assert metadata(lab, 1, "new").topics[0].error_code == 0
    assert metadata(lab, 2, "new").topics[0].error_code == 3
    lab.pass_by(0.51)
    assert metadata(lab, 2, "new").topics[0].error_code == 0
    old = metadata(lab, 2, "orders").topics[0].topic_id
    lab.control.recreate_topic("orders")
    assert metadata(lab, 1, "orders").topics[0].topic_id != old
    assert metadata(lab, 2, "orders").topics[0].topic_id == old
    lab.control.delete_topic("orders")
    assert metadata(lab, 2, "orders").topics[0].error_code == 0
    lab.pass_by(0.51)
    assert metadata(lab, 2, "orders").topics[0].error_code == 3


def test_dead_brokers_are_named_and_new_ones_are_not(lab: "Lab") -> None:
    """Until the broker that is asked has heard of them."""
    lab.control.delay_metadata(0.5, node=2)
    lab.control.kill(3)
    assert [each.node_id for each in metadata(lab, 1).brokers] == [1, 2]
    assert [each.node_id for each in metadata(lab, 2).brokers] == [1, 2, 3]
    lab.pass_by(1)
    lab.control.restart(3)
    assert [each.node_id for each in metadata(lab, 1).brokers] == [1, 2, 3]
    assert [each.node_id for each in metadata(lab, 2).brokers] == [1, 2]


def test_an_old_leader_goes_on_in_its_epoch(lab: "Lab") -> None:
    """It serves what it has, and nothing that the new leader was given."""
    lab.control.append(ORDERS, b"one")
    held = lab.control.delay_metadata(math.inf, node=1)
    lab.control.move_leader(ORDERS, 2)
    lab.control.append(ORDERS, b"two")
    old = fetch(lab, 1, 0, epoch=0)
    assert (old.error_code, old.high_watermark, listed(lab, 1)) == (0, 1, 0)
    assert fetch(lab, 1, 1, epoch=1).error_code == 75
    assert fetch(lab, 1, 1, epoch=0).records == b""
    lab.pass_by(60)
    # Without the old leader, which is in sync, the new record is not replicated.
    assert fetch(lab, 2, 1, epoch=1).high_watermark == 1
    held.undo()
    assert fetch(lab, 1, 1, epoch=0).error_code == 74
    assert fetch(lab, 2, 1, epoch=1).high_watermark == 2


def test_a_leader_that_is_elected_again_knows_the_epochs_of_its_records(lab: "Lab") -> None:
    """What it has served it does not deny, whether it has heard of its new epoch or not."""
    lab.control.delay_metadata(0.5, node=1)
    lab.control.append(ORDERS, b"one")
    lab.control.move_leader(ORDERS, 1)
    lab.control.append(ORDERS, b"two")
    for _ in range(2):
        assert (ended(lab, 0), ended(lab, 1)) == ((0, 0, 1), (0, 1, 2))
        lab.pass_by(0.51)
    assert led_by(lab, 1) == (1, 1)


def test_a_new_leader_leads_when_it_has_heard(lab: "Lab") -> None:
    """Before, it is no leader, and does not know the epoch."""
    lab.control.delay_metadata(0.5, node=2)
    lab.control.move_leader(ORDERS, 2)
    assert (listed(lab, 2), listed(lab, 2, epoch=1), listed(lab, 1)) == (6, 75, 6)
    lab.pass_by(0.51)
    assert listed(lab, 2, epoch=1) == 0


def test_a_fetch_that_waits_is_answered_when_its_broker_hears(lab: "Lab") -> None:
    """Not when the leader moves."""
    lab.control.delay_metadata(0.5, node=1)
    session = lab.connect(1)
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 9999}
    topics = [{"topic": "orders", "partitions": [part]}]
    values = {"max_wait": timedelta(seconds=9), "min_bytes": 1, "max_bytes": 9999}
    lab.send(session, "Fetch", 12, topics=topics, **values)
    lab.control.move_leader(ORDERS, 2)
    [(at, delivery)] = lab.pass_by(5)
    assert at == pytest.approx(100.5, abs=0.001)
    assert lab.read(delivery).body.responses[0].partitions[0].error_code == 6


def test_a_coordinator_hears_of_a_topic_later_than_its_broker(lab: "Lab") -> None:
    """A member of the consumer protocol is given partitions only then."""
    lab.control.delay_coordinators(0.5)
    lab.control.create_topic("new")
    assert metadata(lab, 1, "new").topics[0].error_code == 0
    assert "new" not in lab.cluster.state.listed_topics()
    lab.pass_by(0.51)
    lab.control.append(TopicPartition("new", 0), Record(b"x"))
    assert "new" in lab.cluster.state.listed_topics()
