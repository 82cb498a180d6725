"""Positions that a leader has to confirm, and logs that were cut back."""

import pytest

from prokurist.config import OffsetReset
from prokurist.events.position_state import FetchState, Position, PositionState
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.consumer_table import ConsumerTable

A, B = (TopicPartition("orders", number) for number in range(2))
LATEST, NONE = OffsetReset("latest"), OffsetReset("none")


def reading(policy: OffsetReset = LATEST, epoch: int | None = 1) -> ConsumerTable:
    """A subscription with a position at offset 8, which is confirmed in leader epoch 2."""
    table = ConsumerTable(policy)
    table.assigned.assign([A])
    (wanted,) = table.positions.wanted()
    table.positions.settle(wanted, Position(8, epoch), 2)
    return table


def state_of(table: ConsumerTable) -> PositionState:
    """What is known of the partition."""
    return table.assigned.rows[A]


def test_a_seek_with_an_epoch_has_to_be_confirmed() -> None:
    """B91: it counts when it is; one without an epoch counts at once."""
    table = reading()
    table.positions.seek(A, Position(3, 1))
    assert table.positions.position(A) is None
    (wanted,) = table.positions.wanted()
    assert (wanted.confirm, wanted.reset) == (Position(3, 1), None)
    table.positions.confirmed(wanted, 2)
    assert table.positions.position(A) == 3
    assert not table.positions.leaders_are({A: 2})
    table.positions.seek(A, Position(4))
    assert table.positions.position(A) == 4


def test_what_the_group_has_committed_has_to_be_confirmed() -> None:
    """B91: under the ticket of the look-up; late, it is dropped."""
    table = ConsumerTable(LATEST)
    table.assigned.assign([A, B])
    first, second = table.positions.wanted()
    unconfirmed = table.positions.settle_committed(first, Position(3, 1))
    assert unconfirmed is not None
    assert (unconfirmed.ticket, unconfirmed.confirm) == (first.ticket, Position(3, 1))
    assert table.positions.settle_committed(second, Position(3)) is None
    assert table.positions.position(B) == 3
    table.positions.seek(A, Position(5))
    assert table.positions.settle_committed(first, Position(9, 1)) is None
    table.positions.confirmed(unconfirmed, 2)
    assert table.positions.position(A) == 5


@pytest.mark.parametrize("epoch", [1, 3])
def test_another_leader_epoch_makes_a_position_doubtful(epoch: int) -> None:
    """B91, B196: a newer one, or an older one of a topic created again; with another ticket."""
    table = reading()
    ticket = state_of(table).ticket
    assert not table.positions.leaders_are({A: 2, B: 7})
    assert table.positions.leaders_are({A: epoch})
    assert table.positions.position(A) is None
    assert state_of(table).ticket != ticket
    assert not table.positions.leaders_are({A: epoch + 1})
    assert table.positions.ask_missing()


def test_a_position_without_an_epoch_is_never_doubted() -> None:
    """B92: there is nothing to compare it by."""
    table = reading(epoch=None)
    assert not table.positions.leaders_are({A: 3})
    assert table.positions.position(A) == 8


def fetched_ahead() -> ConsumerTable:
    """A position at offset 8 without an epoch, and records behind it that have one."""
    table = reading(epoch=None)
    (wish,) = table.fetching.fetchable()
    assert table.fetching.fetched(wish, Position(12, 2), leader_epoch=2)
    return table


def test_what_was_fetched_behind_a_position_without_an_epoch() -> None:
    """B91: under a new leader it is given up, and no request is sent about the position."""
    table = fetched_ahead()
    ticket, settled = state_of(table).ticket, table.positions.settled
    assert not table.positions.leaders_are({A: 3})
    assert table.positions.position(A) == 8
    assert not table.positions.ask_missing()
    (wish,) = table.fetching.fetchable()
    assert (wish.position, wish.ticket > ticket) == (Position(8), True)
    assert table.positions.settled > settled
    assert not table.positions.leaders_are({A: 3})
    assert table.fetching.fetchable() == [wish]


def doubted(table: ConsumerTable) -> int:
    """Another leader epoch makes the position doubtful: its ticket."""
    assert table.positions.leaders_are({A: 3})
    return state_of(table).ticket


def test_a_log_that_was_cut_back_with_a_policy() -> None:
    """B91: reading goes on where the logs part; an answer for an older position is dropped."""
    table = reading()
    valid = state_of(table).ticket
    ticket = doubted(table)
    assert ticket != valid
    assert table.positions.diverged(A, valid, 0, 1, 3) is None
    assert table.positions.diverged(A, ticket, 0, 5, 3) is None
    assert table.positions.position(A) == 5
    assert table.committable.snapshot().offsets == {A: OffsetAndMetadata(5, "", 0)}
    assert not table.positions.leaders_are({A: 3})
    assert table.positions.diverged(A, ticket, 0, 1) is None
    assert table.positions.position(A) == 5


def test_a_log_that_was_cut_back_who_knows_where() -> None:
    """B91: the policy is asked."""
    table = reading()
    assert table.positions.diverged(A, doubted(table), None, None) is None
    (wanted,) = table.positions.wanted()
    assert (wanted.reset, wanted.confirm) == (LATEST, None)


def test_a_log_that_was_cut_back_without_a_policy() -> None:
    """B91: the user hears of it, and nothing is read before he has sought elsewhere."""
    table = reading(NONE)
    error = table.positions.diverged(A, doubted(table), 0, 5)
    assert error is not None
    assert (error.offsets, error.partitions) == ({A: 8}, (A,))
    assert error.divergent_offsets == {A: OffsetAndMetadata(5, "", 0)}
    assert state_of(table).standing is FetchState.VALIDATING
    (wanted,) = table.positions.wanted()
    assert wanted.confirm == Position(8, 1)
    again = table.positions.diverged(A, wanted.ticket, None, None)
    assert again is not None
    assert again.divergent_offsets == {}
    table.positions.seek(A, Position(5))
    assert table.positions.position(A) == 5


def test_what_is_held_is_held_until_it_is_let_go() -> None:
    """CONTRACT 2.8: errors about an assignment are bound to it."""
    table = reading()
    (held,) = table.assigned.held({"orders"})
    assert not table.assigned.held({"other"})
    assert table.assigned.topics() == {"orders"}
    assert table.positions.still_wanted(held)
    table.assigned.assign([B])
    table.assigned.assign([A])
    assert not table.positions.still_wanted(held)
