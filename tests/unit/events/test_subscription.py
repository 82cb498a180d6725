"""What is read and how far it has come, between two threads."""

from collections.abc import Callable

import pytest

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.partition_state import MOVES, FetchState, PartitionState, Position
from prokurist.events.subscription import Subscription
from prokurist.types import OffsetAndMetadata, TopicPartition

A, B, C = (TopicPartition("orders", number) for number in range(3))
EARLIEST, LATEST = OffsetReset("earliest"), OffsetReset("latest")


def reading(*partitions: TopicPartition) -> Subscription:
    """A subscription with these assigned."""
    subscription = Subscription(LATEST)
    subscription.assign(partitions)
    return subscription


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
    standing: FetchState, act: Callable[[PartitionState], None], goal: FetchState
) -> None:
    """Each of these may come in each state."""
    state = PartitionState(1)
    state.standing, state.position = standing, Position(3)
    assert goal in MOVES[standing]
    act(state)
    assert state.standing is goal


@pytest.mark.parametrize("standing", FetchState)
def test_a_move_that_is_not_in_the_table(standing: FetchState) -> None:
    """It raises and changes nothing: no partition becomes a new one again."""
    state = PartitionState(1)
    state.standing, state.position = standing, Position(3)
    with pytest.raises(AssertionError, match="does not go"):
        state._move(FetchState.NEW)
    assert (state.standing, state.position) == (standing, Position(3))


def test_what_stays_assigned_keeps_its_place() -> None:
    """Assigning again starts again only for what is new."""
    subscription = reading(A, B)
    subscription.seek(A, Position(5))
    subscription.pause([A], paused=True)
    assert subscription.assign([A, C])
    assert subscription.assigned() == {A, C}
    assert subscription.position(A) == 5
    assert subscription.paused() == {A}
    assert [each.partition for each in subscription.wanted()] == [C]
    generation = subscription.generation
    assert not subscription.assign([C, A])
    assert subscription.generation == generation
    assert subscription.assign([])
    assert not subscription.assign([])


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda s: s.seek(C, Position(1)), id="seek"),
        pytest.param(lambda s: s.seek_by([A, C], EARLIEST), id="seek_by"),
        pytest.param(lambda s: s.pause([A, C], paused=True), id="pause"),
        pytest.param(lambda s: s.pause([A, C], paused=False), id="resume"),
        pytest.param(lambda s: s.position(C), id="position"),
    ],
)
def test_what_is_not_assigned_is_refused(act: Callable[[Subscription], object]) -> None:
    """B78: IllegalState that names the partition, and nothing of it is done."""
    subscription = reading(A)
    with pytest.raises(IllegalStateException, match="orders-2, which is not assigned"):
        act(subscription)
    assert not subscription.paused()
    assert [each.reset for each in subscription.wanted()] == [None]


def test_an_answer_settles_what_was_asked() -> None:
    """From nothing to a position, by way of the policy where nothing is committed."""
    subscription = reading(A)
    (asked,) = subscription.wanted()
    assert asked.reset is None
    assert subscription.position(A) is None
    assert subscription.need_reset(asked, EARLIEST)
    (again,) = subscription.wanted()
    assert again.reset == EARLIEST
    assert subscription.settle(again, Position(9, 2))
    assert subscription.position(A) == 9
    assert subscription.committable().offsets == {A: OffsetAndMetadata(9, "", 2)}
    assert not subscription.wanted()


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda s: s.seek(A, Position(1)), id="sought"),
        pytest.param(lambda s: s.seek_by([A], LATEST), id="sought by policy"),
        pytest.param(lambda s: s.assign([B]), id="unassigned"),
        pytest.param(lambda s: (s.assign([B]), s.assign([A, B])), id="assigned again"),
    ],
)
def test_a_late_answer_is_dropped(meanwhile: Callable[[Subscription], object]) -> None:
    """B90: what the user did in the meantime counts, the answer does not."""
    subscription = reading(A)
    (asked,) = subscription.wanted()
    meanwhile(subscription)
    before = repr(subscription), subscription.wanted(), subscription.committable().offsets
    assert not subscription.settle(asked, Position(99))
    assert not subscription.need_reset(asked, EARLIEST)
    assert (
        repr(subscription),
        subscription.wanted(),
        subscription.committable().offsets,
    ) == before


def test_a_seek_by_policy_is_lazy() -> None:
    """B82: there is no position until it was looked up, and nothing to commit either."""
    subscription = reading(A)
    subscription.seek(A, Position(5))
    subscription.seek_by([A], LATEST)
    assert subscription.position(A) is None
    assert subscription.committable().offsets == {}
    assert [each.reset for each in subscription.wanted()] == [LATEST]


def test_a_poll_asks_once_for_what_is_missing() -> None:
    """B93: again only for what is new, sought again, or given up."""
    subscription = reading(A, B)
    assert subscription.ask_missing()
    assert not subscription.ask_missing()
    subscription.seek(A, Position(1))
    assert not subscription.ask_missing()
    subscription.seek_by([B], EARLIEST)
    assert subscription.ask_missing()
    (wanted,) = subscription.wanted()
    assert subscription.given_up([wanted])
    assert subscription.ask_missing()
    assert subscription.settle(wanted, Position(3))
    assert not subscription.given_up([wanted])
    assert not subscription.ask_missing()
    subscription.assign([A, B, C])
    assert subscription.ask_missing()


def test_what_was_asked_for_in_vain_is_told_once() -> None:
    """B90: a seek or an assignment makes it worthless; an unsolicited one is not."""
    subscription = reading(A, B)
    subscription.seek(A, Position(1))
    assert not subscription.take_stale()
    subscription.ask_missing()
    subscription.seek(A, Position(2))
    assert not subscription.take_stale()
    subscription.seek(B, Position(2))
    assert subscription.take_stale()
    assert not subscription.take_stale()
    subscription.seek_by([B], EARLIEST)
    subscription.ask_missing()
    subscription.assign([B])
    assert not subscription.take_stale()
    subscription.assign([])
    assert subscription.take_stale()


def test_an_answer_is_of_use_while_its_ticket_is() -> None:
    """B90: not after a seek, a settled position or another assignment."""
    subscription = reading(A)
    (wanted,) = subscription.wanted()
    assert subscription.still_wanted(wanted)
    assert subscription.need_reset(wanted, EARLIEST)
    assert subscription.still_wanted(wanted)
    subscription.settle(wanted, Position(1))
    assert not subscription.still_wanted(wanted)
    subscription.seek_by([A], EARLIEST)
    assert not subscription.still_wanted(wanted)
    assert not subscription.given_up([wanted])


def test_a_lag_lies_between_the_position_and_the_end() -> None:
    """B94: one asks for the end; it survives a seek, and no assignment."""
    subscription = reading(A)
    lag, born = subscription.lag(A)
    assert lag is None
    assert born is not None
    assert subscription.lag(A) == (None, None)
    subscription.end_found(A, born, None)
    assert subscription.lag(A) == (None, born)
    subscription.end_found(A, born, 5)
    assert subscription.lag(A) == (None, None)
    subscription.seek(A, Position(2))
    assert subscription.lag(A) == (3, None)
    subscription.seek(A, Position(7))
    assert subscription.lag(A) == (0, None)
    assert subscription.end_wanted(A, born)
    subscription.assign([B])
    subscription.assign([A])
    subscription.end_found(A, born, 9)
    assert not subscription.end_wanted(A, born)
    assert subscription.lag(A)[1] not in (None, born)
    with pytest.raises(IllegalStateException):
        subscription.lag(B)
