"""When the network thread lets others go first: while its group is shared out."""

import pytest

from prokurist.network_thread.giving_way import AFTERWARDS, MOVING, GivingWay
from prokurist.network_thread.timer import Timer
from prokurist.types import MembershipState


@pytest.mark.parametrize("moving", sorted(MOVING, key=str))
def test_from_the_first_move_until_a_while_after_the_last(moving: MembershipState) -> None:
    """It is asked once each way, whatever the number of turns."""
    timer, asked = Timer(0.0), list[tuple[float, bool]]()
    giving = GivingWay(timer, lambda on: asked.append((timer.now, on)))
    for now, standing in (
        (1.0, MembershipState.OUT),
        (2.0, moving),
        (3.0, moving),
        (3.5, MembershipState.STABLE),
        (3.0 + 0.9 * AFTERWARDS, MembershipState.STABLE),
        (3.0 + AFTERWARDS, MembershipState.STABLE),
        (9.0, MembershipState.STABLE),
    ):
        timer.now = now
        giving.look(standing)
        assert giving.now is (2.0 <= now < 3.0 + AFTERWARDS)
    assert asked == [(2.0, True), (3.0 + AFTERWARDS, False)]


@pytest.mark.parametrize("standing", sorted(set(MembershipState) - MOVING, key=str))
def test_nobody_else_gives_way(standing: MembershipState) -> None:
    """Who is at rest with his group, or in none, has no reason to."""
    asked = list[bool]()
    giving = GivingWay(Timer(5.0), asked.append)
    giving.look(standing)
    assert not giving.now
    assert not asked
