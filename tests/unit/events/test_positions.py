"""What is read and how far it has come, between two threads."""

from collections.abc import Callable

import pytest

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.assigned import Assigned, AssignedPartition
from prokurist.events.fetching import Fetching
from prokurist.events.position_state import MOVES, FetchState, Position, PositionState
from prokurist.events.positions import Positions
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.consumer_table import ConsumerTable

A, B, C = (TopicPartition("orders", number) for number in range(3))
EARLIEST, LATEST = OffsetReset("earliest"), OffsetReset("latest")


def reading(*partitions: TopicPartition) -> ConsumerTable:
    """A subscription with these assigned."""
    table = ConsumerTable(LATEST)
    table.assigned.assign(partitions)
    return table


@pytest.mark.parametrize("standing", FetchState)
@pytest.mark.parametrize(
    ("act", "goal"),
    [
        pytest.param(lambda s: s.settle(Position(7)), FetchState.VALID, id="settle"),
        pytest.param(lambda s: s.need_reset(EARLIEST), FetchState.RESETTING, id="need_reset"),
        pytest.param(
            lambda s: s.need_validation(), FetchState.VALIDATING, id="need_validation"
        ),
    ],
)
def test_the_table_of_moves(
    standing: FetchState, act: Callable[[PositionState], None], goal: FetchState
) -> None:
    """Each of these may come in each state."""
    state = PositionState(1)
    state.standing, state.position = standing, Position(3)
    assert goal in MOVES[standing]
    act(state)
    assert state.standing is goal


@pytest.mark.parametrize("standing", FetchState)
def test_a_move_that_is_not_in_the_table(standing: FetchState) -> None:
    """It raises and changes nothing: no partition becomes a new one again."""
    state = PositionState(1)
    state.standing, state.position = standing, Position(3)
    with pytest.raises(AssertionError, match="does not go"):
        state._move(FetchState.NEW)
    assert (state.standing, state.position) == (standing, Position(3))


def test_what_stays_assigned_keeps_its_place() -> None:
    """Assigning again starts again only for what is new."""
    table = reading(A, B)
    table.positions.seek(A, Position(5))
    table.positions.pause([A], paused=True)
    assert table.assigned.assign([A, C])
    assert table.assigned.partitions() == {A, C}
    assert table.positions.position(A) == 5
    assert table.positions.paused() == {A}
    assert [each.partition for each in table.positions.wanted()] == [C]
    generation = table.assigned.generation
    assert not table.assigned.assign([C, A])
    assert table.assigned.generation == generation
    assert table.assigned.assign([])
    assert not table.assigned.assign([])


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda s: s.positions.seek(C, Position(1)), id="seek"),
        pytest.param(lambda s: s.positions.seek_by([A, C], EARLIEST), id="seek_by"),
        pytest.param(lambda s: s.positions.pause([A, C], paused=True), id="pause"),
        pytest.param(lambda s: s.positions.pause([A, C], paused=False), id="resume"),
        pytest.param(lambda s: s.positions.position(C), id="position"),
    ],
)
def test_what_is_not_assigned_is_refused(act: Callable[[ConsumerTable], object]) -> None:
    """B78: IllegalState that names the partition, and nothing of it is done."""
    table = reading(A)
    with pytest.raises(IllegalStateException, match="orders-2, which is not assigned"):
        act(table)
    assert not table.positions.paused()
    assert [each.reset for each in table.positions.wanted()] == [None]


def test_an_answer_settles_what_was_asked() -> None:
    """From nothing to a position, by way of the policy where nothing is committed."""
    table = reading(A)
    (asked,) = table.positions.wanted()
    assert asked.reset is None
    assert table.positions.position(A) is None
    assert table.positions.need_reset(asked, EARLIEST)
    (again,) = table.positions.wanted()
    assert again.reset == EARLIEST
    assert table.positions.settle(again, Position(9, 2))
    assert table.positions.position(A) == 9
    assert table.committable.snapshot().offsets == {A: OffsetAndMetadata(9, "", 2)}
    assert not table.positions.wanted()


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda s: s.positions.seek(A, Position(1)), id="sought"),
        pytest.param(lambda s: s.positions.seek_by([A], LATEST), id="sought by policy"),
        pytest.param(lambda s: s.assigned.assign([B]), id="unassigned"),
        pytest.param(
            lambda s: (s.assigned.assign([B]), s.assigned.assign([A, B])), id="assigned again"
        ),
    ],
)
def test_a_late_answer_is_dropped(meanwhile: Callable[[ConsumerTable], object]) -> None:
    """B90: what the user did in the meantime counts, the answer does not."""
    table = reading(A)
    (asked,) = table.positions.wanted()
    meanwhile(table)
    before = repr(table), table.positions.wanted(), table.committable.snapshot().offsets
    assert not table.positions.settle(asked, Position(99))
    assert not table.positions.need_reset(asked, EARLIEST)
    assert (
        repr(table),
        table.positions.wanted(),
        table.committable.snapshot().offsets,
    ) == before


def test_a_seek_by_policy_is_lazy() -> None:
    """B82: there is no position until it was looked up, and nothing to commit either."""
    table = reading(A)
    table.positions.seek(A, Position(5))
    table.positions.seek_by([A], LATEST)
    assert table.positions.position(A) is None
    assert table.committable.snapshot().offsets == {}
    assert [each.reset for each in table.positions.wanted()] == [LATEST]


def test_a_poll_asks_once_for_what_is_missing() -> None:
    """B93: again only for what is new, sought again, or given up."""
    table = reading(A, B)
    assert table.positions.ask_missing()
    assert not table.positions.ask_missing()
    table.positions.seek(A, Position(1))
    assert not table.positions.ask_missing()
    table.positions.seek_by([B], EARLIEST)
    assert table.positions.ask_missing()
    (wanted,) = table.positions.wanted()
    assert table.positions.given_up([wanted])
    assert table.positions.ask_missing()
    assert table.positions.settle(wanted, Position(3))
    assert not table.positions.given_up([wanted])
    assert not table.positions.ask_missing()
    table.assigned.assign([A, B, C])
    assert table.positions.ask_missing()


def test_what_was_asked_for_in_vain_is_told_once() -> None:
    """B90: a seek or an assignment makes it worthless; an unsolicited one is not."""
    table = reading(A, B)
    table.positions.seek(A, Position(1))
    assert not table.positions.take_stale()
    table.positions.ask_missing()
    table.positions.seek(A, Position(2))
    assert not table.positions.take_stale()
    table.positions.seek(B, Position(2))
    assert table.positions.take_stale()
    assert not table.positions.take_stale()
    table.positions.seek_by([B], EARLIEST)
    table.positions.ask_missing()
    table.assigned.assign([B])
    assert not table.positions.take_stale()
    table.assigned.assign([])
    assert table.positions.take_stale()


def test_an_answer_is_of_use_while_its_ticket_is() -> None:
    """B90: not after a seek, a settled position or another assignment."""
    table = reading(A)
    (wanted,) = table.positions.wanted()
    assert table.positions.still_wanted(wanted)
    assert table.positions.need_reset(wanted, EARLIEST)
    assert table.positions.still_wanted(wanted)
    table.positions.settle(wanted, Position(1))
    assert not table.positions.still_wanted(wanted)
    table.positions.seek_by([A], EARLIEST)
    assert not table.positions.still_wanted(wanted)
    assert not table.positions.given_up([wanted])


def test_a_lag_lies_between_the_position_and_the_end() -> None:
    """B94: one asks for the end; it survives a seek, and no assignment."""
    table = reading(A)
    lag, born = table.positions.lag(A)
    assert lag is None
    assert born is not None
    assert table.positions.lag(A) == (None, None)
    table.positions.end_found(A, born, None)
    assert table.positions.lag(A) == (None, born)
    table.positions.end_found(A, born, 5)
    assert table.positions.lag(A) == (None, None)
    table.positions.seek(A, Position(2))
    assert table.positions.lag(A) == (3, None)
    table.positions.seek(A, Position(7))
    assert table.positions.lag(A) == (0, None)
    assert table.positions.still_wanted(AssignedPartition(A, born))
    table.assigned.assign([B])
    table.assigned.assign([A])
    table.positions.end_found(A, born, 9)
    assert not table.positions.still_wanted(AssignedPartition(A, born))
    assert table.positions.lag(A)[1] not in (None, born)
    with pytest.raises(IllegalStateException):
        table.positions.lag(B)


def test_they_stand_without_commits() -> None:
    """Sought, fetched, returned, lost and cut back, with nothing kept of what is done."""
    assigned = Assigned(PositionState)
    positions = Positions(assigned, EARLIEST)
    fetching = Fetching(positions)
    assigned.subscribe(["orders"], listens=False)
    assigned.add(0, [A], awaiting=False)
    assert positions.ask_missing()
    (wanted,) = positions.wanted()
    assert positions.settle_committed(wanted, Position(3)) is None
    (wish,) = fetching.fetchable()
    assert fetching.fetched(wish, Position(6, 1), end=9, leader_epoch=1)
    assert fetching.advance(A, wish.ticket, Position(4, 1), handed=(((3,), 1),))
    bookmark = fetching.bookmark(A, wish.ticket)
    assert bookmark is not None
    assert fetching.advance(A, wish.ticket, Position(5, 1), handed=(((4,), 1),))
    fetching.take_back(A, bookmark)
    assert positions.position(A) == 4
    positions.seek(A, Position(8, 1))
    (wanted,) = positions.wanted()
    assert positions.diverged(A, wanted.ticket, 0, 7) is None
    assert positions.position(A) == 7
    assert assigned.lose(0) == frozenset({A})
    assert not fetching.fetchable()
