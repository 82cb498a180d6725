"""The leader's part: what others say is believed as far as it makes sense."""

import logging

import pytest

from prokurist.assignors import encoding
from prokurist.assignors.assignor import Member
from prokurist.assignors.sticky import CooperativeStickyAssignor
from prokurist.errors import KafkaException
from prokurist.events.trace import UNREAD
from prokurist.network_thread.membership.classic.leader_assignment import (
    checked,
    encoded,
    members_of,
    topics_of,
)
from prokurist.network_thread.wire.classic_group import JoinedMember
from prokurist.types import Node, PartitionInfo, TopicPartition
from tests.recorded_events import logged

NODE = Node(1, "10.0.0.1", 9092)
TOPICS = {
    "orders": [PartitionInfo("orders", n, NODE, (NODE,), (NODE,), ()) for n in range(2)],
    "bills": [PartitionInfo("bills", 0, NODE, (NODE,), (NODE,), ())],
}
ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
A, B = Member("a", ("orders",)), Member("b", ("orders",))


def test_members_are_read_from_a_join_answer() -> None:
    """Subscriptions, static names and what is owned come through."""
    member = Member("a", ("bills", "orders"), owned=(ORDERS_0,), generation=4, rack="r")
    joined = JoinedMember("a", encoding.subscription(member), "static-a")
    (found,) = members_of([joined], UNREAD)
    assert (found.topics, found.owned, found.generation, found.rack) == (
        ("bills", "orders"),
        (ORDERS_0,),
        4,
        "r",
    )
    assert found.instance_id == "static-a"
    assert topics_of([found, B]) == {"bills", "orders"}


def test_subscriptions_of_very_many_topics_make_bounded_objects() -> None:
    """B279: what all members name together is limited, and no later one hides behind it."""
    metadata = b"\0\0" + (400_000).to_bytes(4, "big") + bytes(800_000) + b"\xff" * 4
    joined = [JoinedMember(each, metadata) for each in "abcd"]
    # A member alone may not name as many: these share what a group may.
    assert [len(each.topics) for each in members_of(joined, UNREAD)] == [400_000, 400_000, 0, 0]


def test_a_subscription_of_rubbish_is_one_to_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The others are given their part all the same, and the log names the member."""
    with caplog.at_level(logging.WARNING):
        (found,) = members_of([JoinedMember("x", b"\x00\x01rubbish")], logged())
    assert found == Member("x", ())
    assert "member x" in caplog.text


def test_any_number_of_rubbish_subscriptions_is_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B494: the line names the first member, and how many others there are."""
    joined = [JoinedMember(each, b"\x00\x01rubbish") for each in ("x", *("y" * 300))]
    with caplog.at_level(logging.WARNING):
        found = members_of(joined, logged())
    assert [each.topics for each in found] == [()] * 301
    (line,) = caplog.messages
    assert "member x (and 300 others) of the group has a subscription" in line


def test_a_part_that_makes_sense_is_taken_as_it_is() -> None:
    """A member without partitions has an empty assignment, which can be read back."""
    parts = checked("mine", {"a": [ORDERS_0, ORDERS_1]}, [A, B], TOPICS, cooperative=False)
    assert parts == {"a": (ORDERS_0, ORDERS_1), "b": ()}
    read = {member_id: encoding.assigned(data) for member_id, data in encoded(parts)}
    assert read == parts


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (None, "instead of a mapping"),
        ([("a", [ORDERS_0])], "instead of a mapping"),
        ({"z": [ORDERS_0]}, "which is no member"),
        ({"a": 7}, "no partitions"),
        ({"a": "orders"}, "no partitions"),
        ({"a": [("orders", 0)]}, "no partition"),
        ({"a": [TopicPartition("orders", 9)]}, "does not exist"),
        ({"a": [TopicPartition("bills", 0)]}, "has not subscribed"),
        ({"a": [ORDERS_0], "b": [ORDERS_0]}, "to both a and b"),
        ({"a": [ORDERS_0, ORDERS_0]}, "to both a and a"),
    ],
)
def test_nonsense_is_refused_with_its_reason(parts: object, why: str) -> None:
    """The error names the assignor, what it did, and the way out."""
    with pytest.raises(KafkaException, match=why) as caught:
        checked("mine", parts, [A, B], TOPICS, cooperative=False)
    assert "'mine'" in str(caught.value)
    assert "configure another" in str(caught.value)


def test_a_cooperative_assignor_takes_nothing_from_who_reads_it() -> None:
    """KIP-429: it would be read by two until the first has heard of it."""
    had = Member("a", ("orders",), owned=(ORDERS_0,), generation=3)
    with pytest.raises(KafkaException, match="while a reads it"):
        checked("mine", {"b": [ORDERS_0]}, [had, B], TOPICS, cooperative=True)
    assert checked("mine", {"b": [ORDERS_1]}, [had, B], TOPICS, cooperative=True)
    assert checked("mine", {"b": [ORDERS_0]}, [had, B], TOPICS, cooperative=False)


def test_who_says_so_of_an_older_generation_does_not_read_it_any_more() -> None:
    """The latest generation is believed; of two that both say it of the same, either."""
    older = Member("a", ("orders",), owned=(ORDERS_0,), generation=3)
    later = Member("b", ("orders",), owned=(ORDERS_0,), generation=4)
    assert checked("mine", {"b": [ORDERS_0]}, [older, later], TOPICS, cooperative=True)
    with pytest.raises(KafkaException, match="while b reads it"):
        checked("mine", {"a": [ORDERS_0]}, [older, later], TOPICS, cooperative=True)
    both = [Member(name, ("orders",), owned=(ORDERS_0,), generation=4) for name in "ab"]
    parts = CooperativeStickyAssignor().assign(TOPICS, both)
    assert checked("cooperative-sticky", parts, both, TOPICS, cooperative=True)
