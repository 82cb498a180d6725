"""`max.poll.interval.ms`, read lazily: no thread is woken for a poll."""

from typing import NamedTuple

import pytest

from prokurist.config import OffsetReset
from prokurist.events.hand import make_hand
from prokurist.events.member_identity import PollActivity
from prokurist.events.position_state import Position
from prokurist.network_thread.membership.poll_guard import PollGuard
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import TopicPartition
from tests.consumer_table import ConsumerTable

TP = TopicPartition("t", 0)


class Record(NamedTuple):
    """As much of a record as counts here."""

    offset: int
    leader_epoch: int


class Bench:
    """A guard of ten seconds, and a clock."""

    def __init__(self) -> None:
        self.timer = Timer(100.0)
        self.poll_activity = PollActivity()
        self.missed: list[float] = []
        self.table = ConsumerTable(OffsetReset("none"))
        self.guard = PollGuard(
            self.poll_activity,
            self.table.fetching.in_hand,
            self.timer,
            10.0,
            self.missed.append,
        )

    def at(self, moment: float) -> list[float]:
        """Let time pass, entry by entry."""
        while (top := self.timer.top()) is not None and top.at <= moment:
            self.timer.now = max(self.timer.now, top.at)
            self.timer.fire(self.timer.mark())
        self.timer.now = moment
        return self.missed


@pytest.fixture
def bench() -> Bench:
    """Such a one, whose member has joined inside a poll that ended at once."""
    made = Bench()
    made.poll_activity.enter()
    made.guard.start()
    made.poll_activity.leave(100.0)
    return made


def test_it_is_missed_when_the_interval_is_over_and_once(bench: Bench) -> None:
    """B150: not a moment before."""
    assert bench.at(109.9) == []
    assert bench.at(200.0) == [10.0]
    assert len(bench.timer) == 0


def test_each_poll_restarts_it_silently(bench: Bench) -> None:
    """B120: counted from its end."""
    bench.poll_activity.enter()
    bench.poll_activity.leave(105.0)
    assert bench.at(114.9) == []
    assert bench.at(115.0) == [10.0]


def test_a_poll_never_exceeds_the_interval_itself(bench: Bench) -> None:
    """B118: and afterwards he has the whole interval."""
    bench.poll_activity.enter()
    assert bench.at(150.0) == []
    bench.poll_activity.leave(150.0)
    assert bench.at(159.9) == []
    bench.at(170.0)
    assert len(bench.missed) == 1


def test_a_member_that_joins_again_by_itself_gains_no_time(bench: Bench) -> None:
    """B150: the poll before counts, and not the fence."""
    bench.at(107.0)
    bench.guard.start()
    assert bench.at(110.0) == [10.0]


def test_one_that_is_stopped_misses_nothing(bench: Bench) -> None:
    """Nor leaves anything in the Timer."""
    bench.guard.stop()
    assert len(bench.timer) == 0
    assert bench.at(200.0) == []


def test_each_step_of_an_iteration_is_a_sign_of_life(bench: Bench) -> None:
    """B120, B150: he is late when he has made none for so long, and a grain later at most."""
    table = bench.table
    table.assigned.assign([TP])
    table.positions.seek(TP, Position(0))
    [wish] = table.fetching.fetchable()
    bench.poll_activity.enter()
    bench.poll_activity.leave(100.0)
    hand = make_hand(table.assigned.steady, (), lambda: 0.0)
    for nth in range(6):
        assert table.fetching.hand_out(TP, wish.ticket, Record(nth, 1), hand)
        assert bench.at(107.0 + 7 * nth) == []
    # The last record was handed out at 135.
    assert bench.at(144.9) == []
    assert bench.at(135.0 + 10.0 + 1.25) == [10.0]
    assert len(bench.timer) == 0


def test_a_record_that_stays_in_hand_is_none(bench: Bench) -> None:
    """B150: who works on one for too long is late, regardless of the time before it."""
    bench.table.assigned.assign([TP])
    bench.table.positions.seek(TP, Position(0))
    [wish] = bench.table.fetching.fetchable()
    bench.poll_activity.enter()
    bench.poll_activity.leave(104.0)
    hand = make_hand(bench.table.assigned.steady, (), lambda: 0.0)
    assert bench.table.fetching.hand_out(TP, wish.ticket, Record(0, 1), hand)
    assert bench.at(113.9) == []
    assert bench.at(115.25) == [10.0]


def test_what_is_due_by_the_sum_is_due(bench: Bench) -> None:
    """B265: in spite of rounding; else the loop would look again and again."""
    left = next(at for at in (120.1 + nth / 7 for nth in range(50)) if at + 10.0 - at < 10.0)
    bench.poll_activity.enter()
    bench.at(left)
    bench.poll_activity.leave(left)
    assert len(bench.at(left + 10.0)) == 1
    assert len(bench.timer) == 0
