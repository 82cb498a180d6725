"""Connections: one request at a time, in order, in virtual time."""

from typing import TYPE_CHECKING

import pytest

from prokurist.testing.cluster import End
from prokurist.testing.cluster.session import Stage
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)
COMMIT = {
    "group_id": "billing",
    "generation_id_or_member_epoch": -1,
    "topics": [
        {"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 5}]}
    ],
}


def test_nothing_is_due_where_nothing_was_asked(lab: "Lab") -> None:
    """An idle cluster never wakes its driver."""
    lab.connect()
    assert lab.cluster.next_due() is None
    assert lab.cluster.advance(lab.time.at + 1000) == []


def test_a_delayed_request_holds_back_what_stands_behind_it(lab: "Lab") -> None:
    """On one connection answers come in the order of the questions; another overtakes."""
    slow, quick = lab.connect(), lab.connect()
    lab.control.delay("Metadata", 2.0)
    first = lab.send(slow, "Metadata", 12)
    second = lab.send(slow, "ApiVersions", 3)
    third = lab.send(quick, "ApiVersions", 3)
    came = [(at, lab.read(each).correlation_id) for at, each in lab.pass_by(5)]
    assert came == [(100.0, third), (102.0, first), (102.0, second)]


def test_the_same_calls_give_the_same_results(make_lab: "Callable[..., Lab]") -> None:
    """Ids, coordinators, order and bytes: nothing is left to chance."""
    runs = []
    for _ in range(2):
        lab = make_lab(3, {"orders": 6})
        lines = [lab.connect(1 + each % 3) for each in range(5)]
        lab.control.delay(None, 0.5, times=3)
        for line in lines:
            lab.send(line, "Metadata", 12)
            lab.send(line, "FindCoordinator", 4, coordinator_keys=["a", "b", "c"])
        lab.control.recreate_topic("orders")
        came = lab.pass_by(5)
        runs.append([(at, each.session.number, each.frame) for at, each in came])
    assert runs[0] == runs[1]
    assert len(runs[0]) == 10


def test_time_that_is_skipped_happens_in_order(lab: "Lab") -> None:
    """A driver that comes late finds what would have happened, when it would have."""
    lab.control.delay("OffsetCommit", 3.0, node=None)
    node = lab.control.coordinator("billing")
    assert node is not None
    lab.send(lab.connect(node), "OffsetCommit", 8, **COMMIT)
    lab.time.at += 60
    assert lab.control.committed("billing")[ORDERS].at == 103.0
    [entry] = lab.control.requests("OffsetCommit")
    assert (entry.at, entry.taken_up, entry.answered) == (100.0, 100.0, 103.0)


def test_a_commit_in_hand_happens_though_the_client_has_gone(lab: "Lab") -> None:
    """The broker has read it; what stood behind it was never read."""
    node = lab.control.coordinator("billing") or 0
    lab.control.delay("OffsetCommit", 3.0)
    session = lab.connect(node)
    lab.send(session, "OffsetCommit", 8, **COMMIT)
    lab.send(session, "OffsetCommit", 8, **{**COMMIT, "group_id": "behind"})
    session.close(lab.time.at)
    assert lab.control.committed("billing") == {}
    assert lab.pass_by(10) == []
    assert lab.control.committed("billing")[ORDERS].offset == 5
    assert lab.control.committed("behind") == {}
    assert lab.control.sessions() == 0


def test_a_frozen_broker_still_reads_what_a_client_left_behind(lab: "Lab") -> None:
    """The first request: it lies in the socket until the thaw."""
    node = lab.control.coordinator("billing") or 0
    session = lab.connect(node)
    with lab.control.freeze(node):
        lab.send(session, "OffsetCommit", 8, **COMMIT)
        lab.send(session, "OffsetCommit", 8, **{**COMMIT, "group_id": "behind"})
        session.close(lab.time.at)
        assert lab.pass_by(10) == []
        assert lab.control.committed("billing") == {}
    assert lab.pass_by(10) == []
    assert lab.control.committed("billing")[ORDERS].offset == 5
    assert lab.control.committed("behind") == {}
    assert lab.control.sessions() == 0


def test_nothing_happens_before_its_time(lab: "Lab") -> None:
    """A driver that asks early gets nothing."""
    lab.control.delay("Metadata", 2.0)
    lab.send(lab.connect(), "Metadata", 12)
    assert lab.cluster.advance(101.999) == []
    assert lab.cluster.next_due() == 102.0
    assert len(lab.cluster.advance(102.0)) == 1


def test_a_broker_that_was_killed_finishes_nothing(lab: "Lab") -> None:
    """What it had in hand has no effect, and every connection is reset."""
    node = lab.control.coordinator("billing") or 0
    lab.control.delay("OffsetCommit", 3.0)
    session = lab.connect(node)
    lab.send(session, "OffsetCommit", 8, **COMMIT)
    lab.control.kill(node)
    [(_, delivery)] = lab.pass_by(10)
    assert (delivery.session, delivery.end, delivery.wire) == (session, End.RESET, b"")
    assert lab.control.committed("billing") == {}
    with pytest.raises(ConnectionRefusedError):
        lab.connect(node)


def test_closing_twice_and_talking_afterwards_does_nothing(lab: "Lab") -> None:
    """A driver need not know which side was first."""
    session = lab.connect()
    session.close(lab.time.at)
    session.close(lab.time.at)
    lab.send(session, "ApiVersions", 3)
    assert session.stage is Stage.OVER
    assert lab.control.requests() == []


def test_a_handler_that_raises_closes_its_connection_and_is_kept(
    lab: "Lab", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake of ours is loud, and other connections go on."""

    def broken(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr("prokurist.testing.cluster.handlers.metadata.handle", broken)
    from prokurist.testing.cluster.handlers import handler_of

    handler_of.cache_clear()
    try:
        lab.send(lab.connect(), "Metadata", 12)
        lab.send(lab.connect(), "ApiVersions", 3)
        ended, answered = lab.cluster.advance(lab.time.at)
    finally:
        monkeypatch.undo()
        handler_of.cache_clear()
    assert ended.end is End.CLOSED
    assert answered.frame
    assert [type(each) for each in lab.cluster.failures] == [KeyError]


def test_the_one_line_of_each_thing_says_where_it_stands(lab: "Lab") -> None:
    """State and counts, for the report of a failing test."""
    session = lab.connect()
    lab.control.drop("Metadata")
    lab.send(session, "Metadata", 12)
    lab.send(session, "Metadata", 12)
    lab.pass_by(1)
    assert repr(session) == "Session(1 to 1, silent with Request(Metadata v12, #1), 1 waiting)"
    assert repr(lab.cluster) == (
        "Cluster(3 brokers, 1 sessions, 2 requests, 0 deliveries waiting)"
    )
    assert repr(lab.control.requests()[0]) == "Entry(Metadata v12 to 1 at 100.000, unanswered)"
