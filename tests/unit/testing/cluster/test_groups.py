"""Coordinators and committed offsets."""

import math
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def committing(
    offset: int = 5, *, topic: str = "orders", partition: int = 0, **more: Any
) -> dict[str, Any]:
    """The fields of a commit of one partition; more of them go into the request."""
    part = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_metadata": more.pop("metadata", "note"),
        "committed_leader_epoch": 2,
    }
    return {
        "group_id": "billing",
        "generation_id_or_member_epoch": -1,
        "topics": [
            {"name": topic, "topic_id": more.pop("topic_id", None), "partitions": [part]}
        ],
        **more,
    }


def commit(lab: "Lab", version: int = 8, **values: Any) -> int:
    """Commit at the coordinator; the code of the one partition."""
    node = lab.control.coordinator("billing") or 0
    body = lab.ask("OffsetCommit", version, node=node, **committing(**values))
    code: int = body.topics[0].partitions[0].error_code
    return code


def fetch(lab: "Lab", version: int, topics: Any, **more: Any) -> Any:
    """Fetch at the coordinator; the group's part of the answer."""
    node = lab.control.coordinator("billing") or 0
    group = {"group_id": "billing", "topics": topics, **more}
    body = lab.ask("OffsetFetch", version, node=node, groups=[group], **group)
    return body.groups[0] if version >= 8 else body


# --- coordinators ----------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_one_broker_coordinates_a_group(lab: "Lab", version: int) -> None:
    """Every broker names the same, with its address; a test can move it."""
    lab.control.move_coordinator("billing", 2)
    for node in (1, 2, 3):
        values = {"key": "billing", "coordinator_keys": ["billing"]}
        body = lab.ask("FindCoordinator", version, node=node, **values)
        found = body.coordinators[0] if version >= 4 else body
        assert (found.error_code, found.node_id) == (0, 2)
        assert (found.host, found.port) == ("broker-2", 9092)


def test_several_groups_are_looked_up_at_once(lab: "Lab") -> None:
    """Each by itself: one may be denied."""
    lab.control.deny(group="secret")
    body = lab.ask("FindCoordinator", 4, coordinator_keys=["billing", "secret"])
    assert [(each.key, each.error_code) for each in body.coordinators] == [
        ("billing", 0),
        ("secret", 30),
    ]


@pytest.mark.parametrize(("key_type", "key", "code"), [(1, "t", 0), (9, "x", 42)])
def test_kinds_of_coordinators(lab: "Lab", key_type: int, key: str, code: int) -> None:
    """Groups and transactions have one."""
    assert lab.ask("FindCoordinator", 3, key=key, key_type=key_type).error_code == code


def test_without_a_broker_there_is_no_coordinator(lab: "Lab") -> None:
    """All have been missed, and one answers all the same."""
    session = lab.connect(1)
    for node in (1, 2, 3):
        lab.cluster.state.miss(node)
    lab.send(session, "FindCoordinator", 3, key="billing")
    [(_, delivery)] = lab.pass_by(0)
    assert lab.read(delivery).body.error_code == 15


# --- commits ---------------------------------------------------------------------


def test_what_was_committed_is_kept_and_answered(lab: "Lab") -> None:
    """Offset, epoch and note; a later commit takes the earlier one's place."""
    assert commit(lab, offset=5) == 0
    assert commit(lab, offset=6, metadata=None) == 0
    kept = lab.control.committed("billing")[ORDERS]
    assert (kept.offset, kept.leader_epoch, kept.metadata) == (6, 2, "")


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"topic": "missing"}, 3),
        ({"partition": 3}, 3),
        ({"metadata": "x" * 4096}, 0),
        ({"metadata": "x" * 4097}, 12),
    ],
)
def test_a_commit_that_cannot_be_kept_says_why(
    lab: "Lab", values: dict[str, Any], code: int
) -> None:
    """Unknown partitions, and notes that are too long."""
    assert commit(lab, **values) == code
    assert bool(lab.control.committed("billing")) is (code == 0)


def test_a_commit_by_topic_id_needs_a_topic_of_that_id(lab: "Lab") -> None:
    """From version 10 on."""
    topic_id = lab.cluster.state.topics["orders"].id
    assert commit(lab, 10, topic_id=topic_id) == 0
    lab.control.recreate_topic("orders")
    assert commit(lab, 10, topic_id=topic_id) == 100


def test_only_the_coordinator_keeps_offsets(lab: "Lab") -> None:
    """Others send the client on; the offsets go along when it moves."""
    assert commit(lab) == 0
    lab.control.move_coordinator("billing", 1)
    body = lab.ask("OffsetCommit", 8, node=2, **committing())
    assert body.topics[0].partitions[0].error_code == 16
    lab.control.move_coordinator("billing", 2)
    assert fetch(lab, 7, None).topics[0].partitions[0].committed_offset == 5


def test_a_loading_coordinator_asks_for_patience(lab: "Lab") -> None:
    """For a number of requests, for a time, or until it is undone."""
    lab.control.coordinator_loading("billing", times=2)
    assert [commit(lab) for _ in range(3)] == [14, 14, 0]
    lab.control.coordinator_loading("billing", seconds=5)
    assert commit(lab) == 14
    lab.time.sleep(5)
    assert commit(lab) == 0
    with lab.control.coordinator_loading("billing"):
        lab.time.sleep(1e6)
        assert fetch(lab, 8, None).error_code == 14
    assert fetch(lab, 8, None).error_code == 0


@pytest.mark.parametrize(
    ("version", "known", "values", "code"),
    [
        (8, False, {"generation_id_or_member_epoch": 3, "member_id": "m"}, 22),
        (9, False, {"generation_id_or_member_epoch": 3, "member_id": "m"}, 69),
        (9, True, {"generation_id_or_member_epoch": 3, "member_id": "m"}, 25),
        (9, True, {"member_id": "m"}, 0),
    ],
)
def test_who_claims_to_be_a_member_is_not_known(
    lab: "Lab", version: int, *, known: bool, values: dict[str, Any], code: int
) -> None:
    """An empty group and an unheard-of one differ."""
    if known:
        assert commit(lab) == 0
    assert commit(lab, version, **values) == code


def test_authorization_is_asked_of_group_and_topic(lab: "Lab") -> None:
    """The group first."""
    with lab.control.deny(topic="orders"):
        assert commit(lab) == 29
        with lab.control.deny(group="billing"):
            assert commit(lab) == 30
            assert fetch(lab, 8, None).error_code == 30
    assert commit(lab) == 0


# --- lookups ---------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 7, 8, 9])
def test_committed_offsets_are_found_by_partition(lab: "Lab", version: int) -> None:
    """Where nothing was committed the offset is −1, and that is no error."""
    commit(lab, partition=1)
    group = fetch(lab, version, [{"name": "orders", "partition_indexes": [0, 1, 9]}])
    [topic] = group.topics
    assert [(each.committed_offset, each.metadata) for each in topic.partitions] == [
        (-1, ""),
        (5, "note"),
        (-1, ""),
    ]
    assert {each.error_code for each in topic.partitions} == {0}


def test_committed_offsets_are_found_by_topic_id(lab: "Lab") -> None:
    """An id that is gone is an error of each partition."""
    commit(lab)
    topic_id = lab.cluster.state.topics["orders"].id
    asked = [{"topic_id": topic_id, "partition_indexes": [0]}]
    [topic] = fetch(lab, 10, asked).topics
    assert (topic.topic_id, topic.partitions[0].committed_offset) == (topic_id, 5)
    lab.control.recreate_topic("orders")
    [topic] = fetch(lab, 10, asked).topics
    assert (topic.partitions[0].error_code, topic.partitions[0].committed_offset) == (100, -1)


@pytest.mark.parametrize("version", [2, 7, 8, 10])
def test_all_that_was_committed_can_be_asked_for(lab: "Lab", version: int) -> None:
    """But for topics that are denied."""
    commit(lab, partition=0)
    commit(lab, partition=2, offset=7)
    [topic] = fetch(lab, version, None).topics
    assert [(each.partition_index, each.committed_offset) for each in topic.partitions] == [
        (0, 5),
        (2, 7),
    ]
    lab.control.deny(topic="orders")
    assert fetch(lab, version, None).topics == ()


def test_a_refused_group_says_so_in_the_place_its_version_has(lab: "Lab") -> None:
    """Of each partition in version 1, of the group later."""
    lab.control.fail("OffsetFetch", 16, times=3)
    asked = [{"name": "orders", "partition_indexes": [0]}]
    assert fetch(lab, 1, asked).topics[0].partitions[0].error_code == 16
    for version in (2, 8):
        group = fetch(lab, version, asked)
        assert (group.error_code, group.topics) == (16, ())


def test_one_partition_can_be_refused(lab: "Lab") -> None:
    """Such as one with a transaction that is not over."""
    commit(lab)
    lab.control.fail("OffsetFetch", 88, topic="orders", partition=0)
    asked = [{"name": "orders", "partition_indexes": [0, 1]}]
    codes = [each.error_code for each in fetch(lab, 8, asked).topics[0].partitions]
    assert codes == [88, 0]


def test_a_topic_takes_its_offsets_along(lab: "Lab") -> None:
    """Deleted and made again it has none."""
    commit(lab)
    lab.control.recreate_topic("orders")
    assert lab.control.committed("billing") == {}
    commit(lab)
    lab.control.delete_topic("orders")
    assert lab.control.committed("billing") == {}


def test_a_loading_without_end_is_one(lab: "Lab") -> None:
    """The state says so, for a reader of the state."""
    lab.control.coordinator_loading("billing")
    assert lab.cluster.state.groups["billing"].loading_until == math.inf
