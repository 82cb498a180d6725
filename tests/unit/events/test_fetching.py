"""Positions that run ahead, and what follows them."""

from typing import NamedTuple

import pytest

from prokurist.config import OffsetReset
from prokurist.events.fetching import Use, Wish
from prokurist.events.hand import Hand, make_hand
from prokurist.events.position_state import Position
from prokurist.types import TopicPartition
from tests.consumer_table import ConsumerTable

TP = TopicPartition("t", 0)


class Record(NamedTuple):
    """As much of a record as counts here."""

    offset: int
    leader_epoch: int


@pytest.fixture
def table() -> ConsumerTable:
    """One partition, fetched up to 6 and returned up to 2."""
    made = ConsumerTable(OffsetReset("earliest"))
    made.assigned.assign([TP])
    made.positions.seek(TP, Position(0))
    [wish] = made.fetching.fetchable()
    assert made.fetching.fetched(wish, Position(6, 1), end=9, leader_epoch=1)
    assert made.fetching.advance(TP, wish.ticket, Position(2, 1))
    return made


def hand_for(table: ConsumerTable) -> Hand:
    """The hand of an iteration: one for all of a test."""
    state = table.assigned.rows.get(TP)
    return (state and state.hand) or make_hand(table.assigned.steady, (), lambda: 0.0)


def wish_of(table: ConsumerTable) -> Wish:
    """What may be fetched next."""
    [wish] = table.fetching.fetchable()
    return wish


def test_fetching_runs_ahead(table: ConsumerTable) -> None:
    """What is returned follows; the lag counts from there."""
    assert wish_of(table).position == Position(6, 1)
    assert table.positions.position(TP) == 2
    assert table.positions.lag(TP) == (7, None)


def test_a_record_in_hand(table: ConsumerTable) -> None:
    """It is the user's, and commits end before it until he has done with it."""
    ticket = wish_of(table).ticket
    assert table.fetching.hand_out(TP, ticket, Record(2, 1), hand_for(table))
    assert table.positions.position(TP) == 2
    assert table.committable.snapshot().offsets[TP].offset == 2
    assert table.positions.lag(TP) == (7, None)
    assert table.positions.leaders_are({TP: 2})
    [wanted] = table.positions.wanted()
    assert wanted.confirm == Position(3, 1)
    table.positions.confirmed(wanted, 2)
    assert table.committable.snapshot().offsets[TP].offset == 2
    assert table.fetching.in_hand() == (TP, 2)
    table.fetching.done_with(TP)
    assert table.fetching.in_hand() is None
    assert table.committable.snapshot().offsets[TP].offset == table.positions.position(TP) == 3


def test_a_record_that_must_not_be_handed_out(table: ConsumerTable) -> None:
    """Of what is paused, in doubt, or sought away from."""
    ticket = wish_of(table).ticket
    table.positions.pause([TP], paused=True)
    assert not table.fetching.hand_out(TP, ticket, Record(2, 1), hand_for(table))
    table.positions.pause([TP], paused=False)
    table.positions.leaders_are({TP: 2})
    later = table.positions.wanted()[0].ticket
    assert not table.fetching.hand_out(TP, ticket, Record(2, 1), hand_for(table))
    assert not table.fetching.hand_out(TP, later, Record(2, 1), hand_for(table))
    table.assigned.assign([])
    assert not table.fetching.hand_out(TP, later, Record(2, 1), hand_for(table))
    table.fetching.done_with(TP)


def test_an_answer_counts_once(table: ConsumerTable) -> None:
    """Nor does one to a question that was put before a seek."""
    wish = wish_of(table)
    assert table.fetching.fetched(wish, Position(8, 1))
    assert not table.fetching.fetched(wish, Position(8, 1))
    later = wish_of(table)
    table.positions.seek(TP, Position(3))
    assert not table.fetching.fetched(later, Position(9, 1))
    assert not table.fetching.advance(TP, later.ticket, Position(9, 1))
    assert table.fetching.use_of(TP, later.ticket) is Use.DROP
    assert table.positions.position(TP) == 3


def test_what_is_stuck_is_not_fetched(table: ConsumerTable) -> None:
    """Until a poll has seen why, or one has sought elsewhere."""
    wish = wish_of(table)
    assert table.fetching.stick(wish)
    assert table.fetching.fetchable() == []
    table.fetching.unstick(TP, wish.ticket - 1)
    assert table.fetching.fetchable() == []
    table.fetching.unstick(TP, wish.ticket)
    assert table.fetching.stick(wish_of(table))
    table.positions.seek(TP, Position(1))
    assert wish_of(table).position == Position(1)


def test_a_paused_partition_keeps_what_it_has(table: ConsumerTable) -> None:
    """Nothing more is fetched of it."""
    ticket = wish_of(table).ticket
    table.positions.pause([TP], paused=True)
    assert table.fetching.use_of(TP, ticket) is Use.KEEP
    assert table.fetching.fetchable() == []


def test_a_log_cut_back_behind_what_was_returned(table: ConsumerTable) -> None:
    """What was fetched ahead is given up; reading goes on where the logs part."""
    assert table.positions.leaders_are({TP: 2})
    [wanted] = table.positions.wanted()
    assert wanted.confirm == Position(2, 1)
    table.positions.diverged(TP, wanted.ticket, 0, 1, 2)
    assert wish_of(table).position == Position(1, 0)


def test_out_of_range_is_reset_by_the_policy(table: ConsumerTable) -> None:
    """Under its own ticket alone."""
    ticket = wish_of(table).ticket
    table.fetching.reset(TP, ticket - 1)
    assert table.positions.position(TP) == 2
    table.fetching.reset(TP, ticket)
    assert table.positions.position(TP) is None
    assert [each.reset for each in table.positions.wanted()] == [OffsetReset("earliest")]
