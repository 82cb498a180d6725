"""The table of a member by the consumer protocol."""

import pytest

from prokurist.network_thread.membership.consumer.state import (
    COUNTED,
    MOVES,
    MemberState,
    moved,
)


@pytest.mark.parametrize("now", MemberState)
@pytest.mark.parametrize("to", MemberState)
def test_every_move(now: MemberState, to: MemberState) -> None:
    """What the table does not hold raises."""
    if to in MOVES[now]:
        assert moved(now, to) is to
    else:
        with pytest.raises(AssertionError, match=f"from {now.value} to {to.value}"):
            moved(now, to)


def test_from_everywhere_one_can_leave() -> None:
    """B143, B153: from every state."""
    assert all(MemberState.OUT in moves for moves in MOVES.values())


def test_only_who_is_counted_can_be_put_out() -> None:
    """B141: and each of those states can be."""
    assert {now for now, moves in MOVES.items() if MemberState.FENCED in moves} == COUNTED
