"""Who reads what, where the broker decides."""

import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.testing.cluster.server_assignors import (
    SERVER_ASSIGNORS,
    Owned,
    Part,
    ranges,
    uniform,
)

TOPICS = [uuid.uuid5(uuid.NAMESPACE_OID, name) for name in "xyz"]
SIZES = st.fixed_dictionaries({each: st.integers(0, 7) for each in TOPICS})
WANTED = st.dictionaries(
    st.sampled_from("abcde"), st.frozensets(st.sampled_from(TOPICS)), min_size=1
)


@pytest.mark.parametrize("name", SERVER_ASSIGNORS)
@given(sizes=SIZES, before=WANTED, wanted=WANTED)
def test_each_partition_goes_to_one_who_wants_it(
    name: str,
    sizes: dict[uuid.UUID, int],
    before: dict[str, frozenset[uuid.UUID]],
    wanted: dict[str, frozenset[uuid.UUID]],
) -> None:
    """For any previous assignment."""
    assign = SERVER_ASSIGNORS[name]
    made = assign(wanted, sizes, assign(before, sizes, {}))
    given_out = [part for parts in made.values() for part in parts]
    wished = {topic for topics in wanted.values() for topic in topics}
    assert sorted(given_out) == sorted(
        Part(topic, index) for topic in wished for index in range(sizes[topic])
    )
    assert all(part.topic_id in wanted[each] for each in made for part in made[each])


@given(size=st.integers(0, 12), before=st.integers(1, 5), after=st.integers(1, 5))
def test_uniform_is_even_and_moves_no_more_than_it_must(
    size: int, before: int, after: int
) -> None:
    """Where all want the same."""

    def assigned(count: int, had: Owned) -> Owned:
        return uniform({each: frozenset(TOPICS[:1]) for each in "abcde"[:count]}, sizes, had)

    sizes = {TOPICS[0]: size}
    old = assigned(before, {})
    new = assigned(after, old)
    counts = sorted(len(parts) for parts in new.values())
    assert counts[-1] - counts[0] <= 1
    for each in set(old) & set(new):
        fewest = min(len(old[each]), size // after)
        assert len(old[each] & new[each]) >= fewest


def test_range_gives_neighbours() -> None:
    """The first members have the one more."""
    topic = TOPICS[0]
    made = ranges({each: frozenset({topic}) for each in "cab"}, {topic: 7}, {})
    indexes = [sorted(part.partition for part in made[each]) for each in "abc"]
    assert indexes == [[0, 1, 2], [3, 4], [5, 6]]
    assert all(b - a == 1 for run in indexes for a, b in pairwise(run))
