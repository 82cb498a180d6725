"""Faults that hit requests: what each does, to whom, and how often."""

import struct
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from kio.schema.errors import ErrorCode

from prokurist.testing.cluster import End
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def commit(offset: int = 5, topic: str = "orders", partitions: int = 1) -> dict[str, Any]:
    """The fields of a commit."""
    parts = [
        {"partition_index": each, "committed_offset": offset} for each in range(partitions)
    ]
    return {
        "group_id": "billing",
        "generation_id_or_member_epoch": -1,
        "topics": [{"name": topic, "partitions": parts}],
    }


def codes(body: Any) -> list[int]:
    """The error codes of a commit's answer."""
    return [each.error_code for topic in body.topics for each in topic.partitions]


@pytest.fixture
def node(lab: "Lab") -> int:
    """The coordinator of the group that commits."""
    return lab.control.coordinator("billing") or 0


def test_a_counted_delay_is_used_up(lab: "Lab") -> None:
    """The second of two requests comes at once."""
    fault = lab.control.delay("Metadata", 2.0, times=1)
    session = lab.connect()
    lab.send(session, "Metadata", 12)
    lab.send(session, "Metadata", 12)
    assert [at for at, _ in lab.pass_by(10)] == [102.0, 102.0]
    assert fault.used == 1


def test_a_fault_is_for_one_api_and_one_broker(lab: "Lab") -> None:
    """Others are left alone."""
    with lab.control.delay("Metadata", 2.0, node=2):
        lab.ask("Metadata", 12, node=1)
        lab.ask("ApiVersions", 3, node=2)
        lab.send(lab.connect(2), "Metadata", 12)
        assert [at for at, _ in lab.pass_by(10)] == [102.0]
    lab.ask("Metadata", 12, node=2)


def test_a_fault_at_a_broker_or_an_api_that_is_none_is_refused(lab: "Lab") -> None:
    """A slip does not make a fault that never strikes."""
    with pytest.raises(ValueError, match="no broker 4"):
        lab.control.delay("Metadata", 1.0, node=4)
    with pytest.raises(ValueError, match="no API 'metadata'"):
        lab.control.delay("metadata", 1.0)  # type: ignore[arg-type]


def test_answering_late_has_its_effect_at_once(lab: "Lab", node: int) -> None:
    """What looks lost has happened."""
    lab.control.answer_late("OffsetCommit", 3.0)
    lab.send(lab.connect(node), "OffsetCommit", 8, **commit())
    assert lab.pass_by(1) == []
    assert lab.control.committed("billing")[ORDERS].at == 100.0
    assert [at for at, _ in lab.pass_by(10)] == [103.0]


def test_what_is_held_goes_on_in_order_when_let_go(lab: "Lab", node: int) -> None:
    """Neither effect nor answer before, both afterwards."""
    session = lab.connect(node)
    with lab.control.hold("OffsetCommit"):
        lab.send(session, "OffsetCommit", 8, **commit(5))
        lab.send(session, "OffsetCommit", 8, **commit(6))
        assert lab.pass_by(60) == []
        assert lab.control.committed("billing") == {}
    assert [lab.read(each).correlation_id for _, each in lab.pass_by(0)] == [1, 2]
    assert lab.control.committed("billing")[ORDERS].offset == 6


@pytest.mark.parametrize("applied", [True, False])
def test_a_dropped_answer_silences_its_connection_for_good(
    lab: "Lab", node: int, *, applied: bool
) -> None:
    """A broker skips no answer; only another connection is served."""
    fault = lab.control.drop("OffsetCommit", times=1, applied=applied)
    session = lab.connect(node)
    lab.send(session, "OffsetCommit", 8, **commit())
    lab.send(session, "ApiVersions", 3)
    assert lab.pass_by(60) == []
    fault.undo()
    assert lab.pass_by(60) == []
    assert bool(lab.control.committed("billing")) is applied
    lab.ask("ApiVersions", 3, node=node)
    session.close(lab.time.at)
    assert lab.control.sessions() == 0


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("reset", [True, False])
def test_a_cut_ends_the_connection_before_or_after_the_effect(
    lab: "Lab", node: int, *, applied: bool, reset: bool
) -> None:
    """The client hears the same, and cannot know."""
    lab.control.cut("OffsetCommit", applied=applied, reset=reset)
    lab.send(lab.connect(node), "OffsetCommit", 8, **commit())
    [(_, delivery)] = lab.pass_by(1)
    assert delivery.end is (End.RESET if reset else End.CLOSED)
    assert bool(lab.control.committed("billing")) is applied
    assert codes(lab.ask("OffsetCommit", 8, node=node, **commit())) == [0]


def test_a_failure_has_no_effect_and_is_counted(lab: "Lab", node: int) -> None:
    """Refused so many times, and welcome afterwards."""
    lab.control.fail("OffsetCommit", ErrorCode.not_coordinator, times=2)
    for expected in (16, 16, 0):
        body = lab.ask("OffsetCommit", 8, node=node, **commit(partitions=2))
        assert codes(body) == [expected] * 2
        assert bool(lab.control.committed("billing")) is (expected == 0)


def test_a_failure_can_be_for_one_partition(lab: "Lab", node: int) -> None:
    """The others of the same request go through; a request without it does not count."""
    fault = lab.control.fail("OffsetCommit", 28, topic="orders", partition=1)
    assert codes(lab.ask("OffsetCommit", 8, node=node, **commit())) == [0]
    assert fault.used == 0
    assert codes(lab.ask("OffsetCommit", 8, node=node, **commit(partitions=3))) == [28, 0, 0]
    assert codes(lab.ask("OffsetCommit", 8, node=node, **commit(partitions=3))) == [0, 0, 0]


@pytest.mark.parametrize("version", [2, 8, 9])
def test_a_failure_can_have_an_unknown_code(lab: "Lab", node: int, version: int) -> None:
    """32000 goes out as 32000."""
    lab.control.fail("OffsetCommit", 32000)
    lab.send(lab.connect(node), "OffsetCommit", version, **commit())
    [(_, delivery)] = lab.pass_by(0)
    assert delivery.frame.count(struct.pack(">h", 32000)) == 1


@pytest.mark.parametrize("code", [0, 32768, -32769])
def test_a_code_that_is_none_is_refused(lab: "Lab", code: int) -> None:
    """Here, and not when a request comes."""
    with pytest.raises(ValueError, match="16 bits"):
        lab.control.fail("Metadata", code)


def test_a_parked_request_is_refused_at_once(lab: "Lab") -> None:
    """A failure does not wait until the fetch's patience is over."""
    session = lab.connect(1)
    asked = {"topic": "orders", "partitions": [{"partition": 0, "partition_max_bytes": 99}]}
    lab.send(session, "Fetch", 12, max_wait=timedelta(seconds=30), min_bytes=1, topics=[asked])
    assert lab.pass_by(1) == []
    lab.control.fail("Fetch", ErrorCode.kafka_storage_error)
    [(at, delivery)] = lab.pass_by(30)
    assert at == 101.0
    [topic] = lab.read(delivery).body.responses
    assert topic.partitions[0].error_code == ErrorCode.kafka_storage_error


def test_a_failure_of_the_fetch_session_is_said_of_the_whole(lab: "Lab") -> None:
    """As Kafka says it; what is said of partitions is said of partitions."""
    asked = {"topic": "orders", "partitions": [{"partition": 0}]}
    lab.control.fail("Fetch", ErrorCode.fetch_session_id_not_found)
    body = lab.ask("Fetch", 12, topics=[asked])
    assert (body.error_code, body.responses) == (70, ())
    lab.control.fail("Fetch", ErrorCode.unknown_server_error, whole=True)
    assert lab.ask("Fetch", 12, topics=[asked]).error_code == -1


def test_a_wrong_correlation_id_matches_no_request(lab: "Lab") -> None:
    """The answer itself is right."""
    lab.control.wrong_correlation_id("ApiVersions")
    session = lab.connect()
    asked = lab.send(session, "ApiVersions", 0)
    lab.send(session, "ApiVersions", 0)
    wrong, right = [each.frame for _, each in lab.pass_by(0)]
    assert int.from_bytes(wrong[:4], signed=True) not in {0, asked, asked + 1}
    assert wrong[4:] == right[4:]


def test_garbage_stands_where_the_answer_would_have_been(lab: "Lab") -> None:
    """With a right length before it, or bare."""
    session = lab.connect()
    lab.control.garbage("Metadata", b"\xff" * 3)
    lab.control.garbage("ApiVersions", b"\x7f\xff\xff\xff", framed=False)
    lab.send(session, "Metadata", 12)
    lab.send(session, "ApiVersions", 3)
    framed, bare = [each.wire for _, each in lab.pass_by(0)]
    assert framed == b"\0\0\0\3\xff\xff\xff"
    assert bare == b"\x7f\xff\xff\xff"


def test_a_throttled_client_is_answered_and_then_not_listened_to(lab: "Lab") -> None:
    """The answer says how long."""
    lab.control.throttle("Metadata", 1.5, times=1)
    session = lab.connect()
    lab.send(session, "Metadata", 12)
    lab.send(session, "Metadata", 12)
    came = [
        (at, lab.read(each).body.throttle_time.total_seconds()) for at, each in lab.pass_by(9)
    ]
    assert came == [(100.0, 1.5), (101.5, 0.0)]


def test_healing_undoes_everything_at_once(lab: "Lab") -> None:
    """What was held goes on."""
    session = lab.connect()
    lab.control.hold()
    lab.control.fail("Metadata", 1, times=None)
    lab.send(session, "Metadata", 12)
    lab.pass_by(1)
    lab.control.heal()
    assert len(lab.pass_by(0)) == 1
    assert repr(lab.cluster.rules) == "RuleBook(0 rules)"
