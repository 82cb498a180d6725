"""What the group has given: bound to the term, and held back between two hands."""

import re
from collections.abc import Callable

import pytest

from prokurist import SubscriptionPattern, errors
from prokurist.config import OffsetReset
from prokurist.events.fetching import Use
from prokurist.events.partition_state import Position
from prokurist.events.subscription import Subscription
from prokurist.types import TopicPartition

A, B = (TopicPartition("orders", number) for number in range(2))
HERE = Position(5)


@pytest.fixture
def subscription() -> Subscription:
    """One that is subscribed to a topic, in its first term."""
    made = Subscription(OffsetReset("latest"))
    made.subscribe(["orders"], listens=True)
    return made


def ticket(subscription: Subscription, tp: TopicPartition) -> int:
    """Under which its data counts."""
    return subscription._partitions[tp].ticket


def read(subscription: Subscription, *partitions: TopicPartition) -> None:
    """Have them given, told and read."""
    subscription.add(0, partitions, awaiting=False)
    for tp in partitions:
        subscription.seek(tp, HERE)


def test_nothing_is_fetched_or_asked_for_before_the_callback(
    subscription: Subscription,
) -> None:
    """B151: kept, if it is there; and not looked up."""
    subscription.add(0, [A], awaiting=True)
    assert not subscription.ask_missing()
    subscription.seek(A, HERE)
    assert not subscription.fetchable()
    assert subscription.use_of(A, ticket(subscription, A)) is Use.KEEP
    assert subscription.begin(0, [A])
    assert [each.position for each in subscription.fetchable()] == [HERE]


def test_what_is_given_up_is_not_returned(subscription: Subscription) -> None:
    """B100: not by a poll that has found it already; but who has it is done with it."""
    read(subscription, A, B)
    subscription.give_up(0, [A])
    old = ticket(subscription, A)
    assert subscription.use_of(A, old) is Use.DROP
    assert not subscription.advance(A, old, Position(9))
    assert subscription.committable().offsets[A].offset == 5
    assert subscription.advance(A, old, Position(6), has_it=True)
    assert subscription.committable().offsets[A].offset == 6
    assert [each.partition for each in subscription.fetchable()] == [B]


def test_a_term_that_is_over_changes_nothing(subscription: Subscription) -> None:
    """B149: regardless of earlier decisions of the network thread."""
    read(subscription, A)
    subscription.let_go()
    decisions: tuple[Callable[[], bool], ...] = (
        lambda: subscription.add(0, [B], awaiting=False),
        lambda: subscription.drop(0, [A]),
        lambda: subscription.give_up(0, [A]),
        lambda: subscription.begin(0, [A]),
    )
    for decision in decisions:
        assert not decision()
    subscription.unsubscribe()
    subscription.subscribe(["orders"], listens=False)
    assert not subscription.add(0, [B], awaiting=False)
    assert subscription.add(1, [B], awaiting=False)
    assert subscription.assigned() == {B}


def test_only_what_was_told_is_told_to_go(subscription: Subscription) -> None:
    """B160: and it is told from the moment its callback is called."""
    subscription.add(0, [A, B], awaiting=True)
    assert not subscription.told()
    subscription.hears([A])
    assert subscription.lose(0) == frozenset({A})
    assert subscription.let_go() == {A}


def test_who_has_heard_sees_it_gone(subscription: Subscription) -> None:
    """At once; what is not given up stays."""
    read(subscription, A, B)
    subscription.give_up(0, [A])
    subscription.heard(frozenset([A, B]))
    assert subscription.assigned() == {B}


def test_by_hand_or_by_the_group(subscription: Subscription) -> None:
    """CONTRACT §3: never both."""
    with pytest.raises(errors.IllegalStateException):
        subscription.assign([A])
    by_hand = Subscription(OffsetReset("latest"))
    by_hand.assign([A])
    with pytest.raises(errors.IllegalStateException):
        by_hand.subscribe(["orders"], listens=False)
    assert by_hand.assigned() == {A}
    assert not by_hand.owned()


def test_what_a_pattern_matches_is_kept_with_it(subscription: Subscription) -> None:
    """B129: it makes another version; another pattern begins with nothing."""
    pattern = re.compile("ord.*")
    subscription.subscribe(pattern, listens=False)
    version = subscription.subscribed.version  # type: ignore[union-attr]
    assert subscription.matched(version, ["orders"])
    assert not subscription.matched(version, ["older"]), "of an older version"
    subscription.subscribe(re.compile("ord.*"), listens=True)
    assert subscription.topics() == {"orders"}
    subscription.subscribe(SubscriptionPattern("x"), listens=True)
    assert not subscription.topics()


def test_an_error_about_a_topic_is_wanted_for_as_long_as_it_is_subscribed_to(
    subscription: Subscription,
) -> None:
    """B166, CONTRACT 2.8: what the user has changed since is dropped."""
    (asked,) = subscription.held(["orders", "other"])
    assert subscription.still_wanted(asked)
    subscription.unsubscribe()
    subscription.subscribe(["orders"], listens=False)
    assert not subscription.still_wanted(asked)
