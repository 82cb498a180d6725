"""When the network thread keeps still for a poll: while its group is shared out."""

import math

import pytest

from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.network_thread.giving_way import AFTERWARDS, MOVING, NEAR, SHORTEST, GivingWay
from prokurist.network_thread.timer import Timer
from prokurist.types import MembershipState

BEGAN = 100.0


class Bench:
    """Whose rests end at once, and a poll that waits."""

    def __init__(self, lasts: float = 0.2) -> None:
        self.timer = Timer(BEGAN)
        self.background = BackgroundEvents()
        self.rests: list[float] = []
        self.giving = GivingWay(self.timer, self.background, self._rest)
        self.poll = Call("poll", BEGAN, Deadline(BEGAN + lasts))
        self.background.idle(self.poll)

    def _rest(self, seconds: float) -> None:
        self.rests.append(self.timer.now + seconds)

    def rests_at(self, moment: float, standing: MembershipState) -> bool:
        """Whether it rests in a turn at this time, and until when: just beyond the poll."""
        self.timer.now = moment
        self.rests.clear()
        self.giving.look(standing)
        rests = self.giving.rest()
        assert self.rests == pytest.approx([self.poll.deadline.at + NEAR] * rests)
        return rests


@pytest.mark.parametrize("moving", sorted(MOVING, key=str))
def test_from_the_first_move_until_a_while_after_the_last(moving: MembershipState) -> None:
    """Whoever has just got his part has still much to do."""
    bench = Bench()
    for now, standing in (
        (1.0, MembershipState.OUT),
        (2.0, moving),
        (3.0, moving),
        (3.5, MembershipState.STABLE),
        (3.0 + 0.9 * AFTERWARDS, MembershipState.STABLE),
        (3.0 + AFTERWARDS, MembershipState.STABLE),
        (9.0, MembershipState.STABLE),
    ):
        bench.timer.now = now
        bench.giving.look(standing)
        assert bench.giving.now is (2.0 <= now < 3.0 + AFTERWARDS)


@pytest.mark.parametrize("standing", sorted(set(MembershipState) - MOVING, key=str))
def test_nobody_else_gives_way(standing: MembershipState) -> None:
    """Who is at rest with his group, or in none, has no reason to."""
    bench = Bench()
    assert not bench.rests_at(bench.poll.deadline.at - NEAR / 2, standing)
    assert not bench.giving.now


@pytest.mark.parametrize(
    ("before_the_end", "rests"),
    [(0.2, False), (1.1 * NEAR, False), (0.9 * NEAR, True), (0.0, True), (-0.9 * NEAR, True)],
)
def test_near_the_end_of_a_poll(before_the_end: float, rests: bool) -> None:  # noqa: FBT001
    """It rests until the poll has ended, and not much longer than that should take."""
    bench = Bench()
    moment = bench.poll.deadline.at - before_the_end
    assert bench.rests_at(moment, MembershipState.JOINING) is rests
    assert bench.giving.rests == rests


def test_a_poll_that_does_not_end_is_waited_for_no_longer() -> None:
    """Its thread may be stopped, by a debugger say: heartbeats go on."""
    bench = Bench()
    assert not bench.rests_at(bench.poll.deadline.at + NEAR, MembershipState.JOINING)


@pytest.mark.parametrize("lasts", [0.0, 0.9 * SHORTEST, math.inf])
def test_polls_that_are_not_given_way_to(lasts: float) -> None:
    """Of a short one too little would be left; an endless one has no end."""
    bench = Bench(lasts)
    assert not bench.rests_at(
        BEGAN + max(0.0, min(lasts, 9.0) - 0.001), MembershipState.JOINING
    )


def test_who_is_not_idle_in_a_poll_is_not_waited_for() -> None:
    """A listener that commits is in a poll, and waits for the network thread."""
    bench = Bench()
    bench.background.idle(None)
    bench.background.watch(bench.poll)
    assert not bench.rests_at(bench.poll.deadline.at - NEAR / 2, MembershipState.RECONCILING)


def test_the_turn_s_wait_ends_where_that_for_the_poll_begins() -> None:
    """So that what comes from then on wakes nobody; once for each poll."""
    bench = Bench()
    bench.background.watch(bench.poll)
    bench.giving.look(MembershipState.JOINING)
    bench.giving.look(MembershipState.JOINING)
    assert bench.timer.next_at == bench.poll.deadline.at - NEAR
    assert len(bench.timer) == 1
    bench.timer.now = bench.poll.deadline.at - NEAR / 2
    bench.timer.fire(bench.timer.mark())
    bench.giving.look(MembershipState.JOINING)
    assert not len(bench.timer)
    bench.background.watch(Call("poll", bench.timer.now, Deadline(bench.timer.now + 1.0)))
    bench.giving.look(MembershipState.JOINING)
    assert bench.timer.next_at == bench.timer.now + 1.0 - NEAR
    bench.background.watch(None)
    bench.giving.look(MembershipState.JOINING)
    assert not len(bench.timer)
