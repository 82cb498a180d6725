"""Copies that follow a leader: what may be read of each while the others catch up."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.types import Node, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def fetch(lab: "Lab", offset: int, node: int = 1, isolation: int = 0, **more: Any) -> Any:
    """Fetch the partition without waiting; its part of the answer."""
    part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20, **more}
    topics = [{"topic": "orders", "partitions": [part]}]
    values = {"max_wait": timedelta(0), "max_bytes": 9999, "isolation_level": isolation}
    body = lab.ask("Fetch", 12, node=node, topics=topics, **values)
    return body.responses[0].partitions[0]


def ends(part: Any) -> tuple[int, int, bool]:
    """High watermark, last stable offset, and whether records came."""
    return part.high_watermark, part.last_stable_offset, bool(part.records)


def listed(lab: "Lab", timestamp: int, node: int = 1, isolation: int = 0) -> tuple[int, int]:
    """Error code and offset that ListOffsets answers."""
    part = {"partition_index": 0, "timestamp": timestamp}
    topics = [{"name": "orders", "partitions": [part]}]
    body = lab.ask("ListOffsets", 7, node=node, topics=topics, isolation_level=isolation)
    [found] = body.topics[0].partitions
    return found.error_code, found.offset


def test_without_delays_every_copy_has_everything_at_once(lab: "Lab") -> None:
    """And knows the high watermark."""
    lab.control.append(ORDERS, b"one")
    lab.control.move_leader(ORDERS, 2)
    assert [lab.control.watermark(ORDERS, node) for node in (1, 2, 3)] == [1, 1, 1]
    assert listed(lab, -1, node=2) == (0, 1)


def test_a_record_is_read_when_the_followers_have_it(lab: "Lab") -> None:
    """A fetch that waits is answered then; the followers hear of the watermark later."""
    lab.control.let_followers_serve()
    lab.control.delay_replication(fetch=0.01, watermark=0.5)
    session = lab.connect(1)
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 9999}
    topics = [{"topic": "orders", "partitions": [part]}]
    values = {"max_wait": timedelta(seconds=9), "min_bytes": 1, "max_bytes": 9999}
    lab.send(session, "Fetch", 12, topics=topics, **values)
    lab.control.append(ORDERS, b"one")
    assert ends(fetch(lab, 0)) == (0, 0, False)
    assert listed(lab, -1) == (0, 0)
    assert listed(lab, 0) == (0, -1)
    assert fetch(lab, 1, node=3).error_code == 1
    [(at, delivery)] = lab.pass_by(0.1)
    assert at == pytest.approx(100.01)
    assert ends(lab.read(delivery).body.responses[0].partitions[0]) == (1, 1, True)
    assert listed(lab, -1) == (0, 1)
    assert ends(fetch(lab, 0, node=3)) == (0, 0, False)
    assert ends(fetch(lab, 1, node=3)) == (0, 0, False)
    lab.pass_by(0.5)
    assert ends(fetch(lab, 0, node=3)) == (1, 1, True)


def test_the_watermark_goes_back_with_an_election(lab: "Lab") -> None:
    """A new leader knows what it knew as a follower, and calls the end not available."""
    lab.control.delay_replication(fetch=0.01, watermark=5.0, election=0.4)
    lab.control.append(ORDERS, b"one", b"two", timestamp=7)
    lab.pass_by(6)
    lab.control.append(ORDERS, b"three", timestamp=9)
    lab.pass_by(1)
    assert ends(fetch(lab, 2)) == (3, 3, True)
    lab.control.move_leader(ORDERS, 2)
    assert ends(fetch(lab, 2, node=2)) == (2, 2, False)
    assert ends(fetch(lab, 3, node=2)) == (2, 2, False)
    assert listed(lab, -1, node=2) == (78, -1)
    assert listed(lab, 8, node=2) == (78, -1)
    assert listed(lab, -3, node=2) == (78, -1)
    assert listed(lab, 6, node=2) == (0, 0)
    assert listed(lab, -2, node=2) == (0, 0)
    lab.pass_by(0.5)
    assert ends(fetch(lab, 2, node=2)) == (3, 3, True)
    assert listed(lab, -1, node=2) == (0, 3)


def test_a_leader_without_followers_waits_for_none(make_lab: "Callable[..., Lab]") -> None:
    """Its own copy is all that is in sync."""
    lab = make_lab(1, {"orders": 1})
    lab.control.delay_replication(fetch=1.0, watermark=1.0, election=1.0)
    lab.control.append(ORDERS, b"one")
    assert ends(fetch(lab, 0)) == (1, 1, True)
    lab.control.kill(1)
    lab.control.restart(1)
    assert listed(lab, -1) == (0, 1)


def test_a_transaction_is_stable_when_its_marker_is_replicated(lab: "Lab") -> None:
    """Until then the last stable offset stays where the transaction begins."""
    lab.control.append(ORDERS, b"one", producer=7)
    lab.control.delay_replication(fetch=1.0)
    lab.control.end_transaction(ORDERS, 7, committed=True)
    assert ends(fetch(lab, 0, isolation=1)) == (1, 0, False)
    assert listed(lab, -1, isolation=1) == (0, 0)
    lab.pass_by(1)
    assert ends(fetch(lab, 0, isolation=1)) == (2, 2, True)


def test_what_lies_beyond_the_last_stable_offset_is_not_found_by_time(lab: "Lab") -> None:
    """For who reads committed records: neither by a timestamp nor by the latest one."""
    lab.control.append(ORDERS, b"one", timestamp=5)
    lab.control.append(ORDERS, b"two", timestamp=9, producer=7)
    assert (listed(lab, 9), listed(lab, -3)) == ((0, 1), (0, 1))
    assert (listed(lab, 9, isolation=1), listed(lab, -3, isolation=1)) == ((0, -1), (0, -1))
    assert listed(lab, 5, isolation=1) == (0, 0)


def test_undoing_the_delays_has_every_copy_catch_up(lab: "Lab") -> None:
    """At once, so that a test can end in a cluster at rest."""
    with lab.control.delay_replication(fetch=9.0):
        lab.control.append(ORDERS, b"one")
        assert ends(fetch(lab, 0)) == (0, 0, False)
    assert ends(fetch(lab, 0)) == (1, 1, True)


def test_a_follower_is_named_when_it_has_what_comes_before(
    make_lab: "Callable[..., Lab]",
) -> None:
    """In sync and up to the offset; of several the one that has most."""
    nodes = [Node(1, "a", 1, "east"), Node(2, "b", 1, "west"), Node(3, "c", 1, "west")]
    lab = make_lab(nodes, {"orders": 1})
    lab.control.let_followers_serve()

    def named(offset: int) -> int:
        part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 9999}
        topics = [{"topic": "orders", "partitions": [part]}]
        values: dict[str, Any] = {"max_wait": timedelta(0), "max_bytes": 9999}
        values["rack_id"] = "west"
        body = lab.ask("Fetch", 12, topics=topics, **values)
        number: int = body.responses[0].partitions[0].preferred_read_replica
        return number

    assert named(0) == 3
    held = lab.control.delay_replication(fetch=0.1)
    lab.control.append(ORDERS, b"one")
    assert (named(0), named(1)) == (3, -1)
    lab.pass_by(0.1)
    assert named(1) == 3
    held.undo()
    lab.control.kill(3)
    assert named(1) == 2
    lab.control.delete_records(ORDERS, 1)
    assert named(0) == -1
