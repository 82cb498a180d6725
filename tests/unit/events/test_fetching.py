"""Positions that run ahead, and what follows them."""

from typing import NamedTuple

import pytest

from prokurist.config import OffsetReset
from prokurist.events.fetching import Use, Wish
from prokurist.events.hand import Hand, make_hand
from prokurist.events.partition_state import Position
from prokurist.events.subscription import Subscription
from prokurist.types import TopicPartition

TP = TopicPartition("t", 0)


class Record(NamedTuple):
    """As much of a record as counts here."""

    offset: int
    leader_epoch: int


@pytest.fixture
def subscription() -> Subscription:
    """One partition, fetched up to 6 and returned up to 2."""
    made = Subscription(OffsetReset("earliest"))
    made.assign([TP])
    made.seek(TP, Position(0))
    [wish] = made.fetchable()
    assert made.fetched(wish, Position(6, 1), end=9, leader_epoch=1)
    assert made.advance(TP, wish.ticket, Position(2, 1))
    return made


def hand_for(subscription: Subscription) -> Hand:
    """The hand of an iteration: one for all of a test."""
    state = subscription._partitions.get(TP)
    return (state and state.hand) or make_hand(subscription.steady, (), lambda: 0.0)


def wish_of(subscription: Subscription) -> Wish:
    """What may be fetched next."""
    [wish] = subscription.fetchable()
    return wish


def test_fetching_runs_ahead(subscription: Subscription) -> None:
    """What is returned follows; the lag counts from there."""
    assert wish_of(subscription).position == Position(6, 1)
    assert subscription.position(TP) == 2
    assert subscription.lag(TP) == (7, None)


def test_a_record_in_hand(subscription: Subscription) -> None:
    """It is the user's, and commits end before it until he has done with it."""
    ticket = wish_of(subscription).ticket
    assert subscription.hand_out(TP, ticket, Record(2, 1), hand_for(subscription))
    assert subscription.position(TP) == 2
    assert subscription.committable().offsets[TP].offset == 2
    assert subscription.lag(TP) == (7, None)
    assert subscription.leaders_are({TP: 2})
    [wanted] = subscription.wanted()
    assert wanted.confirm == Position(3, 1)
    subscription.confirmed(wanted, 2)
    assert subscription.committable().offsets[TP].offset == 2
    assert subscription.in_hand() == (TP, 2)
    subscription.done_with(TP)
    assert subscription.in_hand() is None
    assert subscription.committable().offsets[TP].offset == subscription.position(TP) == 3


def test_a_record_that_must_not_be_handed_out(subscription: Subscription) -> None:
    """Of what is paused, in doubt, or sought away from."""
    ticket = wish_of(subscription).ticket
    subscription.pause([TP], paused=True)
    assert not subscription.hand_out(TP, ticket, Record(2, 1), hand_for(subscription))
    subscription.pause([TP], paused=False)
    subscription.leaders_are({TP: 2})
    later = subscription.wanted()[0].ticket
    assert not subscription.hand_out(TP, ticket, Record(2, 1), hand_for(subscription))
    assert not subscription.hand_out(TP, later, Record(2, 1), hand_for(subscription))
    subscription.assign([])
    assert not subscription.hand_out(TP, later, Record(2, 1), hand_for(subscription))
    subscription.done_with(TP)


def test_an_answer_counts_once(subscription: Subscription) -> None:
    """Nor does one to a question that was put before a seek."""
    wish = wish_of(subscription)
    assert subscription.fetched(wish, Position(8, 1))
    assert not subscription.fetched(wish, Position(8, 1))
    later = wish_of(subscription)
    subscription.seek(TP, Position(3))
    assert not subscription.fetched(later, Position(9, 1))
    assert not subscription.advance(TP, later.ticket, Position(9, 1))
    assert subscription.use_of(TP, later.ticket) is Use.DROP
    assert subscription.position(TP) == 3


def test_what_is_stuck_is_not_fetched(subscription: Subscription) -> None:
    """Until a poll has seen why, or one has sought elsewhere."""
    wish = wish_of(subscription)
    assert subscription.stick(wish)
    assert subscription.fetchable() == []
    subscription.unstick(TP, wish.ticket - 1)
    assert subscription.fetchable() == []
    subscription.unstick(TP, wish.ticket)
    assert subscription.stick(wish_of(subscription))
    subscription.seek(TP, Position(1))
    assert wish_of(subscription).position == Position(1)


def test_a_paused_partition_keeps_what_it_has(subscription: Subscription) -> None:
    """Nothing more is fetched of it."""
    ticket = wish_of(subscription).ticket
    subscription.pause([TP], paused=True)
    assert subscription.use_of(TP, ticket) is Use.KEEP
    assert subscription.fetchable() == []


def test_a_log_cut_back_behind_what_was_returned(subscription: Subscription) -> None:
    """What was fetched ahead is given up; reading goes on where the logs part."""
    assert subscription.leaders_are({TP: 2})
    [wanted] = subscription.wanted()
    assert wanted.confirm == Position(2, 1)
    subscription.diverged(TP, wanted.ticket, 0, 1, 2)
    assert wish_of(subscription).position == Position(1, 0)


def test_out_of_range_is_reset_by_the_policy(subscription: Subscription) -> None:
    """Under its own ticket alone."""
    ticket = wish_of(subscription).ticket
    subscription.reset(TP, ticket - 1)
    assert subscription.position(TP) == 2
    subscription.reset(TP, ticket)
    assert subscription.position(TP) is None
    assert [each.reset for each in subscription.wanted()] == [OffsetReset("earliest")]
