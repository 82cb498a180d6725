"""Fetch: limits, long polls, and what a client is told of the leader."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import Record
from prokurist.testing.cluster.batches import make_batch
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from prokurist.testing.cluster import Session
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def fetching(offset: int = 0, partition: int = 0, **more: Any) -> dict[str, Any]:
    """The fields of a fetch; of the partition those it has, of the request the others."""
    part = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    for name in ("current_leader_epoch", "last_fetched_epoch", "partition_max_bytes"):
        if name in more:
            part[name] = more.pop(name)
    asked = {
        "topic": more.pop("topic", "orders"),
        "topic_id": more.pop("topic_id", None),
        "partitions": [part],
    }
    return {"max_wait": timedelta(seconds=10), "min_bytes": 1, "topics": [asked], **more}


def fetch(lab: "Lab", offset: int = 0, version: int = 12, node: int = 1, **more: Any) -> Any:
    """Fetch one partition, without waiting; its part of the answer."""
    more = {"max_wait": timedelta(0), **more}
    body = lab.ask("Fetch", version, node=node, **fetching(offset, **more))
    return body.responses[0].partitions[0]


def parked(lab: "Lab", **more: Any) -> "Session":
    """A connection with a fetch that waits for records."""
    session = lab.connect(1)
    lab.send(session, "Fetch", 12, **fetching(**more))
    assert lab.pass_by(1) == []
    return session


def test_records_are_given_from_where_the_client_stands(lab: "Lab") -> None:
    """Whole batches, and the ends of the log with them."""
    lab.control.append(ORDERS, b"one", b"two")
    lab.control.append(ORDERS, b"three")
    first, second = lab.cluster.state.topics["orders"].partitions[0].log.batches
    assert fetch(lab, 1).records == first.data + second.data
    part = fetch(lab, 2)
    assert part.records == second.data
    assert (part.high_watermark, part.last_stable_offset, part.log_start_offset) == (3, 3, 0)
    assert (fetch(lab, 3).records, fetch(lab, 3).error_code) == (b"", 0)


def test_one_batch_is_given_however_small_the_limit(lab: "Lab") -> None:
    """One in the whole answer; a client with little room gets on."""
    for partition in (0, 1):
        lab.control.move_leader(TopicPartition("orders", partition), 1)
        lab.control.append(TopicPartition("orders", partition), b"x" * 500)
    values = fetching(max_bytes=10, partition_max_bytes=10)
    parts = values["topics"][0]["partitions"]
    values["topics"][0]["partitions"] = [parts[0], {**parts[0], "partition": 1}]
    body = lab.ask("Fetch", 12, **values)
    sizes = [len(each.records) for each in body.responses[0].partitions]
    assert sizes[0] > 500
    assert sizes[1] == 0


def test_a_fetch_waits_for_records(lab: "Lab") -> None:
    """They wake it at once; what is too little does not."""
    parked(lab, min_bytes=200)
    lab.control.append(ORDERS, b"x")
    assert lab.pass_by(1) == []
    lab.control.append(ORDERS, b"x" * 200)
    [(at, delivery)] = lab.pass_by(100)
    assert at == 102.0
    assert len(lab.read(delivery).body.responses[0].partitions[0].records) > 300


def test_what_another_client_produces_wakes_a_fetch(lab: "Lab") -> None:
    """At once, over the wire."""
    parked(lab)
    part = {"index": 0, "records": make_batch([Record(b"x")]).data}
    topics = [{"name": "orders", "partition_data": [part]}]
    producer = lab.connect(1)
    lab.send(producer, "Produce", 9, acks=1, topic_data=topics, transactional_id=None)
    assert [at for at, _ in lab.pass_by(100)] == [101.0, 101.0]


def test_a_fetch_waits_no_longer_than_it_said(lab: "Lab") -> None:
    """Then it is answered with what there is: nothing."""
    parked(lab)
    [(at, delivery)] = lab.pass_by(100)
    part = lab.read(delivery).body.responses[0].partitions[0]
    assert (at, part.error_code, part.records) == (110.0, 0, b"")


def test_a_waiting_fetch_holds_back_what_stands_behind_it(lab: "Lab") -> None:
    """As on a broker: another connection is not held back."""
    session = parked(lab)
    lab.send(session, "ApiVersions", 3)
    lab.ask("ApiVersions", 3)
    assert [at for at, _ in lab.pass_by(100)] == [110.0, 110.0]


def test_a_waiting_fetch_learns_at_once_that_the_leader_moved(lab: "Lab") -> None:
    """Who leads now is told from version 16 on only, as brokers do."""
    parked(lab)
    lab.control.move_leader(ORDERS, 2)
    [(at, delivery)] = lab.pass_by(100)
    part = lab.read(delivery).body.responses[0].partitions[0]
    assert (at, part.error_code) == (101.0, 6)
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (-1, -1)


def test_a_client_that_leaves_while_its_fetch_waits_is_forgotten(lab: "Lab") -> None:
    """Nothing is due for it any more."""
    parked(lab).close(lab.time.at)
    assert lab.cluster.next_due() is None
    assert lab.control.sessions() == 0


def test_the_address_of_the_new_leader_is_told(lab: "Lab") -> None:
    """In the versions that have a place for it."""
    lab.control.move_leader(ORDERS, 3)
    topic_id = lab.cluster.state.topics["orders"].id
    body = lab.ask("Fetch", 16, **fetching(topic_id=topic_id))
    assert [(each.node_id, each.host, each.port) for each in body.node_endpoints] == [
        (3, "broker-3", 9092)
    ]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"offset": 3}, 1),
        ({"offset": 0}, 1),
        ({"partition": 9}, 3),
        ({"topic": "missing"}, 3),
        ({"node": 2}, 6),
        ({"current_leader_epoch": 1}, 74),
        ({"current_leader_epoch": 3}, 75),
    ],
)
def test_a_partition_that_cannot_be_read_says_why(
    lab: "Lab", values: dict[str, Any], code: int
) -> None:
    """Out of range, unknown, elsewhere, or in another epoch."""
    lab.control.set_epoch(ORDERS, 2)
    lab.control.append(ORDERS, b"one")
    lab.control.append(ORDERS, b"two")
    lab.control.delete_records(ORDERS, 1)
    assert fetch(lab, **{"offset": 1, **values}).error_code == code


def test_the_former_id_of_a_recreated_topic_is_unknown(lab: "Lab") -> None:
    """From version 13 on topics are asked for by id; a denied one is not betrayed."""
    topic_id = lab.cluster.state.topics["orders"].id
    assert fetch(lab, version=13, topic_id=topic_id).error_code == 0
    with lab.control.deny(topic="orders"):
        assert fetch(lab, version=13, topic_id=topic_id).error_code == 100
        assert fetch(lab, version=12).error_code == 29
    lab.control.recreate_topic("orders")
    assert fetch(lab, version=13, topic_id=topic_id).error_code == 100


def test_a_log_that_was_cut_back_is_told_to_who_says_what_he_has(lab: "Lab") -> None:
    """With the place where the two logs part."""
    lab.control.append(ORDERS, b"one", b"two", b"three")
    lab.control.truncate(ORDERS, 0)
    lab.control.append(ORDERS, b"other")
    part = fetch(lab, 3, last_fetched_epoch=0)
    assert (part.error_code, part.records) == (0, b"")
    assert (part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == (0, 0)
    assert fetch(lab, 0, last_fetched_epoch=9).error_code == 1
    assert fetch(lab, 1, last_fetched_epoch=1).error_code == 0


@pytest.mark.parametrize(("isolation", "aborted"), [(0, None), (1, ())])
def test_only_who_reads_committed_records_hears_of_aborted_ones(
    lab: "Lab", isolation: int, aborted: tuple[()] | None
) -> None:
    """There are none, so far."""
    assert fetch(lab, isolation_level=isolation).aborted_transactions == aborted


def test_a_fetch_of_nothing_does_not_wait(lab: "Lab") -> None:
    """There is nothing that could come."""
    assert lab.ask("Fetch", 12, max_wait=timedelta(seconds=9), min_bytes=1).responses == ()
