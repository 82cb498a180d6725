"""What members tell each other: our bytes, older clients' bytes, and hostile ones."""

import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.assignors.assignor import Member
from prokurist.assignors.encoding import (
    PART,
    MalformedMessage,
    assigned,
    assignment,
    subscriber,
    subscription,
)
from prokurist.types import TopicPartition

PARTITIONS = st.lists(
    st.builds(TopicPartition, st.text(max_size=5), st.integers(0, 2**31 - 1)), unique=True
).map(lambda each: tuple(sorted(each)))
MEMBERS = st.builds(
    Member,
    st.just("m"),
    st.lists(st.text(max_size=5)).map(tuple),
    user_data=st.none() | st.binary(max_size=9),
    owned=PARTITIONS,
    generation=st.integers(-1, 2**31 - 1),
    rack=st.none() | st.text(max_size=5),
)


def test_a_subscription_on_the_wire() -> None:
    """Version 3, field by field."""
    member = Member(
        "m", ("t",), rack="r", owned=(TopicPartition("t", 5),), generation=9, user_data=b"ud"
    )
    assert subscription(member) == (
        b"\0\3"  # version
        b"\0\0\0\1\0\1t"  # topics
        b"\0\0\0\2ud"  # user data
        b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\5"  # owned
        b"\0\0\0\x09"  # generation
        b"\0\1r"  # rack
    )


def test_an_assignment_on_the_wire() -> None:
    """Version 3, which is what version 0 was; none at all is nothing to read."""
    parts = (TopicPartition("t", 0), TopicPartition("t", 2))
    assert assignment(parts) == (b"\0\3\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\2\xff\xff\xff\xff")
    assert assigned(b"") == ()


@pytest.mark.parametrize(
    ("data", "owned", "generation"),
    [
        (b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff", (), -1),
        (b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\1\0\1t\0\0\0\1\0\0\0\5", (5,), -1),
        (b"\0\2\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0\0\0\0\7", (), 7),
        (b"\0\x63\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0\0\0\0\7\xff\xffwhat comes", (), 7),
    ],
)
def test_other_versions_are_read(data: bytes, owned: tuple[int, ...], generation: int) -> None:
    """Older ones lack the later fields; of newer ones we take what we know."""
    partitions = tuple(TopicPartition("t", each) for each in owned)
    known = Member("m", ("t",), "static", owned=partitions, generation=generation)
    assert subscriber(data, "m", "static") == known


@given(MEMBERS, PARTITIONS)
def test_what_is_written_is_read(member: Member, parts: tuple[TopicPartition, ...]) -> None:
    """Any member."""
    assert subscriber(subscription(member), "m") == member
    assert assigned(assignment(parts)) == parts


@given(st.binary(max_size=60) | MEMBERS.map(subscription), st.integers(0, 60))
def test_no_bytes_hurt(data: bytes, end: int) -> None:
    """Cut or made up: they are read, or refused in a sentence, and no length is believed."""
    for read in (lambda each: subscriber(each, "m"), assigned):
        with suppress(MalformedMessage):
            read(data[:end])


def test_a_part_of_very_many_partitions_is_refused() -> None:
    """B279: before an object is made for one of them."""
    for count, fits in ((PART - 1, True), (PART, False), (8_000_000, False)):
        part = b"\0\3\0\0\0\1\0\1t" + count.to_bytes(4, "big") + bytes(4 * count)
        if fits:
            assert len(assigned(part)) == count
        else:
            tracemalloc.start()
            with pytest.raises(MalformedMessage, match="more than 262144 topics"):
                assigned(part)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
            tracemalloc.stop()


def test_a_length_that_lies_is_refused() -> None:
    """Before anything is made for it."""
    with pytest.raises(MalformedMessage, match="bytes at byte"):
        subscriber(b"\0\3\x7f\xff\xff\xff", "m")
    with pytest.raises(MalformedMessage, match="version -1"):
        assigned(b"\xff\xff\0\0\0\0")
