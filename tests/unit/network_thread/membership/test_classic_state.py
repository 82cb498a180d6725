"""The table of a classic member's life: every move that it holds, and every other."""

from itertools import pairwise

import pytest

from prokurist.network_thread.membership.classic.state import (
    IN_A_ROUND,
    MOVES,
    ClassicState,
    transition,
)

# In the order of the class: each process that shares these tests has to collect the same.
LEGAL = [(old, new) for old in ClassicState for new in ClassicState if new in MOVES[old]]
ILLEGAL = [
    (old, new) for old in ClassicState for new in ClassicState if (old, new) not in LEGAL
]


@pytest.mark.parametrize(("old", "new"), LEGAL)
def test_a_move_of_the_table_is_made(old: ClassicState, new: ClassicState) -> None:
    """The new state is what it returns."""
    assert transition(old, new) is new


@pytest.mark.parametrize(("old", "new"), ILLEGAL)
def test_any_other_move_raises(old: ClassicState, new: ClassicState) -> None:
    """A bug of ours, with both names."""
    with pytest.raises(AssertionError, match=f"from {old.value} to {new.value}"):
        transition(old, new)


def test_the_table_is_whole() -> None:
    """From everywhere the user's `unsubscribe` leads out, and a late poll out of a round."""
    assert set(MOVES) == set(ClassicState)
    for state in set(ClassicState) - {ClassicState.OUT}:
        assert ClassicState.OUT in MOVES[state]
    for state in IN_A_ROUND | {ClassicState.STABLE}:
        assert {ClassicState.WAITING, ClassicState.FAILED} <= MOVES[state]


def test_a_part_is_only_taken_after_a_whole_round() -> None:
    """STABLE is reached by TAKING alone, that by SYNCING, and that by JOINING."""
    line = [
        ClassicState.JOINING,
        ClassicState.SYNCING,
        ClassicState.TAKING,
        ClassicState.STABLE,
    ]
    for before, after in pairwise(line):
        assert [old for old in ClassicState if after in MOVES[old]] == [before]
