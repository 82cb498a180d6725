"""Members of a cooperative group that claim one partition: which claim counts."""

import struct

import pytest

from prokurist.assignors import encoding
from prokurist.assignors.assignor import Member
from prokurist.assignors.encoding import Writer
from prokurist.assignors.sticky import CooperativeStickyAssignor, claims_by_date
from prokurist.network_thread.membership.classic.leader_assignment import checked
from prokurist.types import Node, PartitionInfo, TopicPartition

NODE = Node(1, "h", 1)
NAMES = [f"t{number:02}" for number in range(12)]
TOPICS = {
    name: [
        PartitionInfo(name, number, NODE, (NODE,), (NODE,), (), 0, None) for number in (0, 1)
    ]
    for name in NAMES
}
EACH = [TopicPartition(name, number) for name in NAMES for number in (0, 1)]
CONTESTED = EACH[0]


def subscriber(
    member_id: str,
    version: int,
    user_data: bytes | None,
    owned: list[TopicPartition],
    generation: int = -1,
) -> Member:
    """A member as the leader reads it, of a subscription in some version."""
    written = Writer().int16(version).texts(NAMES).data(user_data).partitions(owned)
    if version >= 2:
        written.int32(generation)
    if version >= 3:
        written.optional_text(None)
    return encoding.subscriber(written.bytes(), member_id)


def date(generation: int) -> bytes:
    """The user data of a member of Java's."""
    return struct.pack(">i", generation)


STALE, OTHERS = EACH[:13], [CONTESTED, *EACH[13:]]


@pytest.mark.parametrize(
    ("stale", "present"),
    [
        pytest.param(
            subscriber(
                "a", 3, Writer().partitions(STALE).int32(3).bytes(), STALE, generation=3
            ),
            subscriber("b", 3, date(5), OTHERS, generation=5),
            id="librdkafka's user data begins with a number of topics",
        ),
        pytest.param(
            subscriber("a", 3, date(5), STALE, generation=5),
            subscriber("b", 1, date(7), OTHERS),
            id="a subscription of version 1 is dated by its user data",
        ),
        pytest.param(
            subscriber("a", 3, date(9), STALE, generation=5),
            subscriber("b", 3, date(7), OTHERS, generation=7),
            id="from version 2 on the user data says nothing",
        ),
        pytest.param(
            subscriber("a", 1, None, STALE),
            subscriber("b", 3, None, OTHERS, generation=7),
            id="a claim without a date is the oldest",
        ),
    ],
)
def test_the_claim_of_the_latest_generation_counts(stale: Member, present: Member) -> None:
    """As in Java's `memberData`; and the leader's check of the answer dates claims alike."""
    members = [stale, present]
    made = CooperativeStickyAssignor().assign(TOPICS, members)
    assert CONTESTED in made["b"]
    assert CONTESTED not in made["a"]
    checked("cooperative-sticky", made, members, TOPICS, cooperative=True)


def test_a_stale_claim_hands_nothing_over() -> None:
    """A partition that its reader has to give up goes to no member yet, also if claimed twice.

    `b` reads everything and has to give up half of it; `a` claims all of that, of old.
    """
    members = [
        subscriber("a", 3, None, EACH, generation=3),
        subscriber("b", 3, None, EACH, generation=5),
    ]
    made = CooperativeStickyAssignor().assign(TOPICS, members)
    assert not made["a"]
    assert len(made["b"]) == len(EACH) // 2
    checked("cooperative-sticky", made, members, TOPICS, cooperative=True)


def test_two_claims_of_one_generation_are_both_believed() -> None:
    """One of the two keeps the partition, and the other is told to give it up."""
    members = [subscriber(each, 3, None, EACH[:2], generation=3) for each in "ab"]
    assert claims_by_date(members) == members
