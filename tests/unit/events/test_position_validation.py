"""Positions that a leader has to confirm, and logs that were cut back."""

import pytest

from prokurist.config import OffsetReset
from prokurist.events.partition_state import FetchState, PartitionState, Position
from prokurist.events.subscription import Subscription
from prokurist.types import OffsetAndMetadata, TopicPartition

A, B = (TopicPartition("orders", number) for number in range(2))
LATEST, NONE = OffsetReset("latest"), OffsetReset("none")


def reading(policy: OffsetReset = LATEST, epoch: int | None = 1) -> Subscription:
    """A subscription with a position at offset 8, which is confirmed in leader epoch 2."""
    subscription = Subscription(policy)
    subscription.assign([A])
    (wanted,) = subscription.wanted()
    subscription.settle(wanted, Position(8, epoch), 2)
    return subscription


def state_of(subscription: Subscription) -> PartitionState:
    """What is known of the partition."""
    return subscription._partitions[A]


def test_a_seek_with_an_epoch_has_to_be_confirmed() -> None:
    """B91: it counts when it is; one without an epoch counts at once."""
    subscription = reading()
    subscription.seek(A, Position(3, 1))
    assert subscription.position(A) is None
    (wanted,) = subscription.wanted()
    assert (wanted.confirm, wanted.reset) == (Position(3, 1), None)
    subscription.confirmed(wanted, 2)
    assert subscription.position(A) == 3
    assert not subscription.leaders_are({A: 2})
    subscription.seek(A, Position(4))
    assert subscription.position(A) == 4


def test_what_the_group_has_committed_has_to_be_confirmed() -> None:
    """B91: under the ticket of the look-up; late, it is dropped."""
    subscription = Subscription(LATEST)
    subscription.assign([A, B])
    first, second = subscription.wanted()
    unconfirmed = subscription.settle_committed(first, Position(3, 1))
    assert unconfirmed is not None
    assert (unconfirmed.ticket, unconfirmed.confirm) == (first.ticket, Position(3, 1))
    assert subscription.settle_committed(second, Position(3)) is None
    assert subscription.position(B) == 3
    subscription.seek(A, Position(5))
    assert subscription.settle_committed(first, Position(9, 1)) is None
    subscription.confirmed(unconfirmed, 2)
    assert subscription.position(A) == 5


@pytest.mark.parametrize("epoch", [1, 3])
def test_another_leader_epoch_makes_a_position_doubtful(epoch: int) -> None:
    """B91, B196: a newer one, or an older one of a topic created again; with another ticket."""
    subscription = reading()
    ticket = state_of(subscription).ticket
    assert not subscription.leaders_are({A: 2, B: 7})
    assert subscription.leaders_are({A: epoch})
    assert subscription.position(A) is None
    assert state_of(subscription).ticket != ticket
    assert not subscription.leaders_are({A: epoch + 1})
    assert subscription.ask_missing()


def test_a_position_without_an_epoch_is_never_doubted() -> None:
    """B92: there is nothing to compare it by."""
    subscription = reading(epoch=None)
    assert not subscription.leaders_are({A: 3})
    assert subscription.position(A) == 8


def fetched_ahead() -> Subscription:
    """A position at offset 8 without an epoch, and records behind it that have one."""
    subscription = reading(epoch=None)
    (wish,) = subscription.fetchable()
    assert subscription.fetched(wish, Position(12, 2), leader_epoch=2)
    return subscription


def test_what_was_fetched_behind_a_position_without_an_epoch() -> None:
    """B91: under a new leader it is given up, and no request is sent about the position."""
    subscription = fetched_ahead()
    ticket, settled = state_of(subscription).ticket, subscription.settled
    assert not subscription.leaders_are({A: 3})
    assert subscription.position(A) == 8
    assert not subscription.ask_missing()
    (wish,) = subscription.fetchable()
    assert (wish.position, wish.ticket > ticket) == (Position(8), True)
    assert subscription.settled > settled
    assert not subscription.leaders_are({A: 3})
    assert subscription.fetchable() == [wish]


def doubted(subscription: Subscription) -> int:
    """Another leader epoch makes the position doubtful: its ticket."""
    assert subscription.leaders_are({A: 3})
    return state_of(subscription).ticket


def test_a_log_that_was_cut_back_with_a_policy() -> None:
    """B91: reading goes on where the logs part; an answer for an older position is dropped."""
    subscription = reading()
    valid = state_of(subscription).ticket
    ticket = doubted(subscription)
    assert ticket != valid
    assert subscription.diverged(A, valid, 0, 1, 3) is None
    assert subscription.diverged(A, ticket, 0, 5, 3) is None
    assert subscription.position(A) == 5
    assert subscription.committable().offsets == {A: OffsetAndMetadata(5, "", 0)}
    assert not subscription.leaders_are({A: 3})
    assert subscription.diverged(A, ticket, 0, 1) is None
    assert subscription.position(A) == 5


def test_a_log_that_was_cut_back_who_knows_where() -> None:
    """B91: the policy is asked."""
    subscription = reading()
    assert subscription.diverged(A, doubted(subscription), None, None) is None
    (wanted,) = subscription.wanted()
    assert (wanted.reset, wanted.confirm) == (LATEST, None)


def test_a_log_that_was_cut_back_without_a_policy() -> None:
    """B91: the user hears of it, and nothing is read before he has sought elsewhere."""
    subscription = reading(NONE)
    error = subscription.diverged(A, doubted(subscription), 0, 5)
    assert error is not None
    assert (error.offsets, error.partitions) == ({A: 8}, (A,))
    assert error.divergent_offsets == {A: OffsetAndMetadata(5, "", 0)}
    assert state_of(subscription).standing is FetchState.VALIDATING
    (wanted,) = subscription.wanted()
    assert wanted.confirm == Position(8, 1)
    again = subscription.diverged(A, wanted.ticket, None, None)
    assert again is not None
    assert again.divergent_offsets == {}
    subscription.seek(A, Position(5))
    assert subscription.position(A) == 5


def test_what_is_held_is_held_until_it_is_let_go() -> None:
    """CONTRACT 2.8: errors about an assignment are bound to it."""
    subscription = reading()
    (held,) = subscription.held({"orders"})
    assert not subscription.held({"other"})
    assert subscription.topics() == {"orders"}
    assert subscription.still_wanted(held)
    subscription.assign([B])
    subscription.assign([A])
    assert not subscription.still_wanted(held)
