"""What the group has given: bound to the term, and held back between two hands."""

import re
from collections.abc import Callable
from uuid import UUID

import pytest

from prokurist import SubscriptionPattern, errors
from prokurist.config import OffsetReset
from prokurist.events.assigned import Assigned, AssignedState, SubscribedTopic
from prokurist.events.fetching import Use
from prokurist.events.position_state import Position
from prokurist.types import TopicPartition
from tests.consumer_table import ConsumerTable

A, B = (TopicPartition("orders", number) for number in range(2))
HERE = Position(5)
ID = UUID(int=1)


@pytest.fixture
def table() -> ConsumerTable:
    """One that is subscribed to a topic, in its first term."""
    made = ConsumerTable(OffsetReset("latest"))
    made.assigned.subscribe(["orders"], listens=True)
    return made


def ticket(table: ConsumerTable, tp: TopicPartition) -> int:
    """Under which its data counts."""
    return table.assigned.rows[tp].ticket


def read(table: ConsumerTable, *partitions: TopicPartition) -> None:
    """Have them given, told and read."""
    table.assigned.add(0, partitions, awaiting=False)
    for tp in partitions:
        table.positions.seek(tp, HERE)


def test_nothing_is_fetched_or_asked_for_before_the_callback(
    table: ConsumerTable,
) -> None:
    """B151: kept, if it is there; and not looked up."""
    table.assigned.add(0, [A], awaiting=True)
    assert not table.positions.ask_missing()
    table.positions.seek(A, HERE)
    assert not table.fetching.fetchable()
    assert table.fetching.use_of(A, ticket(table, A)) is Use.KEEP
    assert table.assigned.begin(0, [A])
    assert [each.position for each in table.fetching.fetchable()] == [HERE]


def test_what_is_given_up_is_not_returned(table: ConsumerTable) -> None:
    """B100: not by a poll that has found it already; but who has it is done with it."""
    read(table, A, B)
    table.assigned.give_up(0, [A])
    old = ticket(table, A)
    assert table.fetching.use_of(A, old) is Use.DROP
    assert not table.fetching.advance(A, old, Position(9))
    assert table.committable.snapshot().offsets[A].offset == 5
    assert table.fetching.advance(A, old, Position(6), has_it=True)
    assert table.committable.snapshot().offsets[A].offset == 6
    assert [each.partition for each in table.fetching.fetchable()] == [B]


def test_a_term_that_is_over_changes_nothing(table: ConsumerTable) -> None:
    """B149: regardless of earlier decisions of the network thread."""
    read(table, A)
    table.assigned.let_go()
    decisions: tuple[Callable[[], bool], ...] = (
        lambda: table.assigned.add(0, [B], awaiting=False),
        lambda: table.assigned.drop(0, [A]),
        lambda: table.assigned.give_up(0, [A]),
        lambda: table.assigned.begin(0, [A]),
    )
    for decision in decisions:
        assert not decision()
    table.assigned.unsubscribe()
    table.assigned.subscribe(["orders"], listens=False)
    assert not table.assigned.add(0, [B], awaiting=False)
    assert table.assigned.add(1, [B], awaiting=False)
    assert table.assigned.partitions() == {B}


def test_only_what_was_told_is_told_to_go(table: ConsumerTable) -> None:
    """B160: and it is told from the moment its callback is called."""
    table.assigned.add(0, [A, B], awaiting=True)
    assert not table.assigned.told()
    table.assigned.hears([A])
    assert table.assigned.lose(0) == frozenset({A})
    assert table.assigned.let_go() == {A}


def test_who_has_heard_sees_it_gone(table: ConsumerTable) -> None:
    """At once; what is not given up stays."""
    read(table, A, B)
    table.assigned.give_up(0, [A])
    table.assigned.heard(frozenset([A, B]))
    assert table.assigned.partitions() == {B}


def test_by_hand_or_by_the_group(table: ConsumerTable) -> None:
    """CONTRACT §3: never both."""
    with pytest.raises(errors.IllegalStateException):
        table.assigned.assign([A])
    by_hand = ConsumerTable(OffsetReset("latest"))
    by_hand.assigned.assign([A])
    with pytest.raises(errors.IllegalStateException):
        by_hand.assigned.subscribe(["orders"], listens=False)
    assert by_hand.assigned.partitions() == {A}
    assert not by_hand.assigned.owned()


def test_what_a_pattern_matches_is_kept_with_it(table: ConsumerTable) -> None:
    """B129: it makes another version; another pattern begins with nothing."""
    pattern = re.compile("ord.*")
    table.assigned.subscribe(pattern, listens=False)
    version = table.assigned.subscribed.version  # type: ignore[union-attr]
    assert table.assigned.matched(version, ["orders"])
    assert not table.assigned.matched(version, ["older"]), "of an older version"
    table.assigned.subscribe(re.compile("ord.*"), listens=True)
    assert table.assigned.topics() == {"orders"}
    table.assigned.subscribe(SubscriptionPattern("x"), listens=True)
    assert not table.assigned.topics()


def test_an_error_about_a_topic_is_wanted_for_as_long_as_it_is_subscribed_to(
    table: ConsumerTable,
) -> None:
    """B166, CONTRACT 2.8: what the user has changed since is dropped."""
    (asked,) = table.assigned.held(["orders", "other"])
    assert table.positions.still_wanted(asked)
    table.assigned.unsubscribe()
    table.assigned.subscribe(["orders"], listens=False)
    assert not table.positions.still_wanted(asked)


def test_it_stands_without_positions() -> None:
    """A member whose partitions have no positions: assigned, given up, lost, told of."""
    assigned = Assigned(AssignedState)
    assigned.subscribe(["orders"], listens=False)
    assert assigned.add(0, [A, B], awaiting=False, ids={A: ID})
    assert assigned.owned() == assigned.told() == {A, B}
    assert assigned.give_up(0, [A])
    assert [state.is_held_back for state in assigned.rows.values()] == [True, False]
    assert assigned.drop(0, [A])
    assert assigned.lose(0) == frozenset({B})
    (held,) = assigned.held(["orders"]) - {SubscribedTopic("orders", 0)}
    assert assigned.still_wanted(held)
    assigned.unsubscribe()
    assert not assigned.still_wanted(held)
    assert not assigned.is_used
    assert not assigned.stale
