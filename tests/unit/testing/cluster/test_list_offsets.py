"""ListOffsets and OffsetForLeaderEpoch."""

from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import Record
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def offset(lab: "Lab", timestamp: int, version: int = 8, node: int = 1, **more: Any) -> Any:
    """Ask for one partition; its part of the answer."""
    part = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1, **more}
    topics = [{"name": more.pop("topic", "orders"), "partitions": [part]}]
    return lab.ask("ListOffsets", version, node=node, topics=topics).topics[0].partitions[0]


def ended(lab: "Lab", epoch: int, current: int = -1, node: int = 1) -> tuple[int, int, int]:
    """Ask where an epoch ended; code, epoch and offset."""
    part = {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}
    topics = [{"topic": "orders", "partitions": [part]}]
    body = lab.ask("OffsetForLeaderEpoch", 3, node=node, topics=topics)
    [answer] = body.topics[0].partitions
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.fixture
def filled(lab: "Lab") -> "Lab":
    """Five records, the first gone, two epochs."""
    stamps = (1000, 3000, 2000)
    lab.control.append(ORDERS, *(Record(b"v", timestamp=stamp) for stamp in stamps))
    lab.control.set_epoch(ORDERS, 4)
    lab.control.append(ORDERS, b"v", b"v", timestamp=5000)
    lab.control.delete_records(ORDERS, 1)
    return lab


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, (5, -1, 4)),
        (-2, (1, -1, 0)),
        (-3, (3, 5000, 4)),
        (-4, (1, -1, 0)),
        (0, (1, 3000, 0)),
        (2500, (1, 3000, 0)),
        (3001, (3, 5000, 4)),
        (5001, (-1, -1, -1)),
    ],
)
def test_offsets_by_timestamp(
    filled: "Lab", timestamp: int, expected: tuple[int, int, int]
) -> None:
    """Ends, beginnings, the latest record, and the first at or after a moment."""
    found = offset(filled, timestamp)
    assert (found.offset, found.timestamp, found.leader_epoch) == expected
    assert found.error_code == 0


def test_a_special_timestamp_that_the_version_does_not_know_is_refused(lab: "Lab") -> None:
    """The maximum timestamp came in version 7."""
    assert offset(lab, -3, version=6).error_code == 35
    assert offset(lab, -3, version=7).error_code == 0
    assert offset(lab, -7, version=11).error_code == 35


def test_only_the_leader_answers_and_epochs_are_compared(filled: "Lab") -> None:
    """Who is behind is fenced, who is ahead is told to wait."""
    assert offset(filled, -1, node=2).error_code == 6
    assert offset(filled, -1, current_leader_epoch=3).error_code == 74
    assert offset(filled, -1, current_leader_epoch=4).error_code == 0
    assert offset(filled, -1, current_leader_epoch=5).error_code == 75
    assert offset(filled, -1, topic="missing").error_code == 3
    assert offset(filled, -1, partition_index=3).error_code == 3
    with filled.control.deny(topic="orders"):
        assert offset(filled, -1).error_code == 29


def test_an_epochs_end_shows_a_log_that_was_cut_back(filled: "Lab") -> None:
    """The client compares it with where it stands."""
    assert ended(filled, 0) == (0, 0, 3)
    assert ended(filled, 4) == (0, 4, 5)
    filled.control.truncate(ORDERS, 3)
    assert ended(filled, 4) == (0, 0, 3)
    assert filled.control.leader(ORDERS) == (1, 5)
    assert ended(filled, 4, current=4) == (74, -1, -1)
    assert ended(filled, 4, current=6) == (75, -1, -1)
    assert ended(filled, 4, node=2) == (6, -1, -1)


def test_controls_refuse_what_is_not_there(lab: "Lab") -> None:
    """A slip does not pass for a change."""
    with pytest.raises(ValueError, match="no topic 'missing'"):
        lab.control.delete_topic("missing")
    with pytest.raises(ValueError, match="no partition 3"):
        lab.control.truncate(TopicPartition("orders", 3), 0)
    with pytest.raises(ValueError, match="cannot make topic"):
        lab.control.create_topic("orders")
    with pytest.raises(ValueError, match="no broker 9"):
        lab.control.move_leader(ORDERS, 9)
    lab.control.create_topic("detached", replication=1)
    with pytest.raises(ValueError, match="no other broker"):
        lab.control.move_leader(TopicPartition("detached", 0))


def test_the_marker_of_a_transaction_bears_the_clock(lab: "Lab") -> None:
    """And is found by it, though it is no record that anyone is given."""
    lab.control.append(ORDERS, b"one", timestamp=5, producer=7)
    lab.control.end_transaction(ORDERS, 7, committed=True)
    found = offset(lab, 6)
    assert (found.error_code, found.offset, found.timestamp) == (0, 1, 100_000)


def test_a_partition_that_is_named_twice_is_refused(lab: "Lab") -> None:
    """It is answered once, and the others as ever."""
    rows = [{"partition_index": each, "timestamp": -1} for each in (0, 0)]
    topics = [{"name": "orders", "partitions": rows}]
    [topic] = lab.ask("ListOffsets", 5, topics=topics).topics
    assert [each.error_code for each in topic.partitions] == [42]
