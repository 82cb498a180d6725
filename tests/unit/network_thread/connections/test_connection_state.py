"""The table of a connection's life: every move that it holds, and every other."""

import pytest

from prokurist.network_thread.connections.connection_state import (
    MOVES,
    ConnectionState,
    transition,
)

# In the order of the class: each process that shares these tests has to collect the same.
LEGAL = [(old, new) for old in ConnectionState for new in ConnectionState if new in MOVES[old]]
ILLEGAL = [
    (old, new) for old in ConnectionState for new in ConnectionState if (old, new) not in LEGAL
]


@pytest.mark.parametrize(("old", "new"), LEGAL)
def test_a_move_of_the_table_is_made(old: ConnectionState, new: ConnectionState) -> None:
    """The new state is what it returns."""
    assert transition(old, new) is new


@pytest.mark.parametrize(("old", "new"), ILLEGAL)
def test_any_other_move_raises(old: ConnectionState, new: ConnectionState) -> None:
    """A bug of ours, with both names; who assigns the result has changed nothing."""
    state = old
    with pytest.raises(AssertionError, match=f"from {old.value} to {new.value}"):
        state = transition(state, new)
    assert state is old


def test_the_table_is_whole() -> None:
    """Each state has its row, all but DOWN lead down, and all can be reached from there."""
    assert set(MOVES) == set(ConnectionState)
    for state in ConnectionState:
        assert (ConnectionState.DOWN in MOVES[state]) is (state is not ConnectionState.DOWN)
    reached, todo = set(), [ConnectionState.DOWN]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += MOVES[state]
    assert reached == set(ConnectionState)
