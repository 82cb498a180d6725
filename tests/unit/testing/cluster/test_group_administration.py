"""Groups as administrators, and tests, see and delete them."""

import struct
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.types import TopicPartition
from tests.unit.testing.cluster.scene import Scene, Voices

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

PART = struct.pack(">hih6siii", 0, 1, 6, b"orders", 1, 2, 0)
"""Partition 2 of the topic, as a leader writes it."""


@pytest.fixture
def scene(lab: "Lab") -> Scene:
    """A group without members."""
    for group in ("billing", "checkout", "never"):
        lab.control.move_coordinator(group, 1)
    return Scene(Voices(lab), "billing", "orders")


def listed(scene: Scene, **filters: Any) -> list[tuple[str, str, str, str]]:
    """What ListGroups tells."""
    body = scene.talker.ask("me", "ListGroups", 5, **filters)
    return [
        (each.group_id, each.protocol_type, each.group_state, each.group_type)
        for each in body.groups
    ]


def two_groups(scene: Scene) -> str:
    """A classic group with a member, and one of the consumer protocol; the member."""
    one = scene.join("a", group_instance_id="A")
    scene.sync("a", one, 1, parts={one: PART}, group_instance_id="A")
    scene.group = "checkout"
    scene.hb("m", 0)
    scene.group = "billing"
    return one


def test_groups_are_listed(lab: "Lab", scene: Scene) -> None:
    """By the broker that coordinates them, by state and type if one wants."""
    two_groups(scene)
    classic = ("billing", "consumer", "Stable", "classic")
    consumer = ("checkout", "consumer", "Stable", "consumer")
    assert listed(scene) == [classic, consumer]
    assert listed(scene, types_filter=["Consumer"]) == [consumer]
    assert listed(scene, states_filter=["empty"]) == []
    lab.control.move_coordinator("checkout", 2)
    assert listed(scene) == [classic]


def test_a_classic_group_is_described(scene: Scene) -> None:
    """What its members said and were given."""
    one = two_groups(scene)
    body = scene.talker.ask("me", "DescribeGroups", 6, groups=["billing", "checkout"])
    billing, checkout = body.groups
    [member] = billing.members
    assert (billing.protocol_data, member.member_id, member.group_instance_id) == (
        "range",
        one,
        "A",
    )
    assert (member.member_metadata, member.member_assignment) == (b"r", PART)
    assert (checkout.error_code, checkout.group_state) == (69, "Dead")


def test_a_group_of_the_consumer_protocol_is_described(scene: Scene) -> None:
    """Epochs, and what each has and is to have."""
    two_groups(scene)
    scene.group = "checkout"
    scene.hb("n", 0)
    groups = ["billing", "checkout", "never"]
    body = scene.talker.ask("me", "ConsumerGroupDescribe", 1, group_ids=groups)
    billing, checkout, never = body.groups
    assert (billing.error_code, never.error_code) == (69, 69)
    assert (checkout.group_state, checkout.group_epoch, checkout.assignment_epoch) == (
        "Reconciling",
        3,
        3,
    )
    m, n = checkout.members
    assert [each.partitions for each in m.assignment.topic_partitions] == [(0, 1, 2)]
    assert [each.partitions for each in m.target_assignment.topic_partitions] == [(0, 1)]
    assert (n.assignment.topic_partitions, n.member_epoch) == ((), 3)


def test_the_control_describes_both_kinds_alike(lab: "Lab", scene: Scene) -> None:
    """In the words of the real Kafka's harness; of a classic group with its generation."""
    one = two_groups(scene)
    billing = lab.control.describe_group("billing")
    [member] = billing.members
    assert (billing.protocol, billing.assignor, billing.epoch) == ("classic", "range", 1)
    assert (member.member_id, member.instance_id) == (one, "A")
    assert member.assignment == member.target == (TopicPartition("orders", 2),)
    checkout = lab.control.describe_group("checkout")
    assert (checkout.protocol, checkout.state, checkout.epoch) == ("consumer", "Stable", 2)
    assert len(checkout.members[0].assignment) == 3
    never = lab.control.describe_group("never")
    assert (never.state, never.members, never.epoch) == ("Dead", (), -1)


def test_only_an_empty_group_is_deleted(lab: "Lab", scene: Scene) -> None:
    """With what it committed."""

    def delete() -> list[int]:
        names = ["billing", "checkout", "never"]
        body = scene.talker.ask("me", "DeleteGroups", 2, groups_names=names)
        return [int(each.error_code) for each in body.results]

    one = two_groups(scene)
    scene.commit(one, 1)
    assert delete() == [68, 68, 69]
    scene.leave((one, "A"))
    scene.group = "checkout"
    scene.leave(("m", None))
    assert delete() == [0, 0, 69]
    assert delete() == [69, 69, 69]
    assert lab.control.committed("billing") == {}
