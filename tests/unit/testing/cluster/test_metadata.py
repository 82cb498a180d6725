"""Metadata, and what changes it."""

import uuid
from typing import TYPE_CHECKING

import pytest

from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab


def test_brokers_and_topics_are_described(lab: "Lab") -> None:
    """Addresses, controller, leaders in turn, replicas, ids."""
    body = lab.ask("Metadata", 12, topics=None)
    assert [(each.node_id, each.host, each.port) for each in body.brokers] == [
        (1, "broker-1", 9092),
        (2, "broker-2", 9092),
        (3, "broker-3", 9092),
    ]
    assert body.controller_id == 1
    [topic] = body.topics
    assert (topic.name, topic.error_code) == ("orders", 0)
    assert [each.leader_id for each in topic.partitions] == [1, 2, 3]
    assert [each.replica_nodes for each in topic.partitions] == [
        (1, 2, 3),
        (2, 3, 1),
        (3, 1, 2),
    ]


@pytest.mark.parametrize(("version", "count"), [(0, 1), (1, 0), (12, 0)])
def test_an_empty_list_means_all_in_the_first_version_only(
    lab: "Lab", version: int, count: int
) -> None:
    """Later ones have a null for it."""
    assert len(lab.ask("Metadata", version, topics=()).topics) == count


@pytest.mark.parametrize(
    ("name", "code"), [("missing", 3), ("no such name", 17), ("..", 17), ("x" * 250, 17)]
)
def test_a_topic_that_is_not_there_says_why(lab: "Lab", name: str, code: int) -> None:
    """Unknown, or no name for a topic at all."""
    [topic] = lab.ask("Metadata", 9, topics=[{"name": name}]).topics
    assert (topic.name, topic.error_code, topic.partitions) == (name, code, ())


def test_a_topic_is_found_by_its_id_until_it_is_recreated(lab: "Lab") -> None:
    """Created again it has another id, no records and no committed offsets."""
    orders = TopicPartition("orders", 0)
    lab.control.append(orders, b"one")
    [topic] = lab.ask("Metadata", 12, topics=None).topics
    asked = [{"name": None, "topic_id": topic.topic_id}]
    assert lab.ask("Metadata", 12, topics=asked).topics[0].name == "orders"
    lab.control.recreate_topic("orders", 2)
    [gone] = lab.ask("Metadata", 12, topics=asked).topics
    assert (gone.error_code, gone.name, gone.topic_id) == (100, None, topic.topic_id)
    [made] = lab.ask("Metadata", 12, topics=None).topics
    assert (len(made.partitions), made.topic_id == topic.topic_id) == (2, False)
    assert lab.control.offsets(orders) == (0, 0)


def test_an_unused_id_is_unknown(lab: "Lab") -> None:
    """For any id."""
    asked = [{"name": None, "topic_id": uuid.UUID(int=7)}]
    assert lab.ask("Metadata", 13, topics=asked).topics[0].error_code == 100


def test_a_denied_topic_is_hidden_and_refused_by_name(lab: "Lab") -> None:
    """In a list of all it is left out."""
    with lab.control.deny(topic="orders"):
        assert lab.ask("Metadata", 12, topics=None).topics == ()
        [topic] = lab.ask("Metadata", 12, topics=[{"name": "orders"}]).topics
        assert (topic.error_code, topic.partitions) == (29, ())
    assert len(lab.ask("Metadata", 12, topics=None).topics) == 1


def test_topics_are_made_by_asking_only_where_that_is_on(
    make_lab: "Callable[..., Lab]",
) -> None:
    """Unknown at first, there the next time, and not when the client says no."""
    lab = make_lab(1, {}, auto_create=True)
    asked = [{"name": "new"}]
    quiet = lab.ask("Metadata", 12, topics=asked, allow_auto_topic_creation=False)
    assert quiet.topics[0].error_code == 3
    codes = [lab.ask("Metadata", 12, topics=asked).topics[0].error_code for _ in range(2)]
    assert codes == [3, 0]


def test_a_leader_that_moves_is_seen_in_a_new_epoch(lab: "Lab") -> None:
    """And so are new partitions, and a topic that is deleted."""
    lab.control.move_leader(TopicPartition("orders", 0), 3)
    lab.control.add_partitions("orders", 4)
    [topic] = lab.ask("Metadata", 12, topics=None).topics
    assert [(each.leader_id, each.leader_epoch) for each in topic.partitions] == [
        (3, 1),
        (2, 0),
        (3, 0),
        (1, 0),
    ]
    lab.control.delete_topic("orders")
    assert lab.ask("Metadata", 12, topics=None).topics == ()


def test_a_failure_is_said_of_the_topic_it_is_for(
    make_lab: "Callable[..., Lab]",
) -> None:
    """Others of the same answer are as they are."""
    lab = make_lab(1, {"a": 1, "b": 1})
    lab.control.fail("Metadata", 5, topic="b")
    body = lab.ask("Metadata", 12, topics=None)
    assert [(each.name, each.error_code) for each in body.topics] == [("a", 0), ("b", 5)]
    lab.control.fail("Metadata", 129, whole=True)
    assert lab.ask("Metadata", 13, topics=None).error_code == 129


@pytest.mark.parametrize("asked", [True, False])
def test_authorized_operations_are_told_to_who_asks(lab: "Lab", *, asked: bool) -> None:
    """Others get the number that means nothing."""
    body = lab.ask("Metadata", 12, topics=None, include_topic_authorized_operations=asked)
    assert (body.topics[0].topic_authorized_operations > 0) is asked


def test_a_topic_that_is_named_twice_is_answered_once(lab: "Lab") -> None:
    """By name and by id."""
    topic_id = lab.cluster.state.topics["orders"].id
    for twice in ({"name": "orders"}, {"name": None, "topic_id": topic_id}):
        assert len(lab.ask("Metadata", 12, topics=[twice, twice]).topics) == 1


def test_metadata_by_neither_name_nor_id(lab: "Lab") -> None:
    """The broker fails, and names no brokers."""
    body = lab.ask("Metadata", 13, topics=[{"name": None, "topic_id": None}])
    assert (body.error_code, body.brokers, body.controller_id) == (-1, (), -1)


def test_a_client_whose_software_has_an_illegal_name(lab: "Lab") -> None:
    """A broker refuses it (KIP-511)."""
    names = [("prokurist", "1.0"), ("", "1"), ("a b", "1"), ("a", "1+local"), ("-a", "1")]
    told = [
        lab.ask("ApiVersions", 4, client_software_name=name, client_software_version=version)
        for name, version in names
    ]
    assert [each.error_code for each in told] == [0, 42, 42, 42, 42]
    assert not told[1].api_keys


def test_a_broker_without_a_copy_is_no_leader_at_any_epoch(lab: "Lab") -> None:
    """It does not compare epochs of partitions that it has no copy of."""
    with lab.control._change() as (cluster, _):
        partition = cluster.state.topics["orders"].partitions[0]
        partition.replicas, partition.isr, partition.leader = (1,), [1], 1
    row = {"partition": 0, "current_leader_epoch": 9, "leader_epoch": 0}
    asked = [{"topic": "orders", "partitions": [row]}]
    for node, code in ((1, 75), (2, 6)):
        body = lab.ask("OffsetForLeaderEpoch", 4, node, replica_id=-1, topics=asked)
        assert body.topics[0].partitions[0].error_code == code
