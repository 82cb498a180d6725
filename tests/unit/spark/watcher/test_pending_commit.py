"""When a group is told what, in virtual time."""

import math

from prokurist.events.backoff import Backoff
from prokurist.spark.watcher.pending_commit import REFUSED_FOR, RENEWED_EVERY, PendingCommit
from prokurist.types import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def commitment(*, allow_rewind: bool = False) -> PendingCommit:
    """One whose pauses are 1, 2, 4 … seconds and 8 at most."""
    return PendingCommit(Backoff(1.0, 8.0, lambda: 0.5), allow_rewind=allow_rewind)


def test_where_nothing_has_ended_nothing_is_due() -> None:
    """Ever."""
    assert commitment().due_at == math.inf
    assert not commitment().is_open


def test_first_the_group_is_asked_then_it_is_told() -> None:
    """It is told of what it does not have."""
    state = commitment()
    state.ended({A0: 5, A1: 7})
    assert (state.unknown, state.pending) == ((A0, A1), {})
    state.has({A0: None, A1: 7}, 0.0)
    assert (state.unknown, state.pending) == ((), {A0: 5})
    state.told({A0: 5}, 0.0)
    assert not state.is_open
    assert state.committed == {A0: 5, A1: 7}


def test_a_newer_end_takes_the_place_of_one_that_waits() -> None:
    """After an outage there is one commit, of the newest."""
    state = commitment()
    state.ended({A0: 5})
    state.has({A0: 0}, 0.0)
    for end in range(6, 100):
        state.ended({A0: end})
        state.failed(float(end))
    assert state.pending == {A0: 99}


def test_failures_in_a_row_are_followed_by_longer_pauses() -> None:
    """And a newer batch does not cut them short; who waits does."""
    state = commitment()
    state.ended({A0: 5})
    state.failed(100.0)
    assert state.due_at == 101.0
    state.failed(101.0)
    state.ended({A0: 6})
    assert state.due_at == 103.0
    state.hurry(102.0)
    assert state.due_at == 102.0


def test_success_ends_the_row() -> None:
    """The next failure's pause is the first one again."""
    state = commitment()
    state.ended({A0: 5})
    state.failed(0.0)
    state.failed(0.0)
    state.has({A0: 0}, 5.0)
    state.told({A0: 5}, 5.0)
    state.ended({A0: 6})
    assert state.due_at == 5.0
    state.failed(10.0)
    assert state.due_at == 11.0


def test_a_group_that_refuses_is_asked_again_after_a_while() -> None:
    """Its members may have gone."""
    state = commitment()
    state.ended({A0: 5})
    state.refused(100.0)
    state.ended({A0: 6})
    assert state.due_at == 100.0 + REFUSED_FOR


def test_what_has_not_changed_is_told_once_an_hour() -> None:
    """A group without members forgets; it is asked first: another client may have moved it."""
    state = commitment()
    state.ended({A0: 5, A1: 7})
    state.has({A0: None, A1: None}, 0.0)
    state.told({A0: 5, A1: 7}, 0.0)
    assert state.due_at == RENEWED_EVERY
    state.renew(RENEWED_EVERY)
    assert state.due_at == RENEWED_EVERY
    assert state.unknown == (A0, A1)
    state.has({A0: 5, A1: 9}, RENEWED_EVERY)
    assert state.pending == {A0: 5}
    state.told({A0: 5}, RENEWED_EVERY)
    assert state.due_at == 2 * RENEWED_EVERY


def test_a_commit_within_the_hour_begins_another_hour() -> None:
    """It is an hour since the group was told last."""
    state = commitment()
    state.ended({A0: 5})
    state.has({A0: None}, 0.0)
    state.told({A0: 5}, 0.0)
    state.ended({A0: 6})
    state.told({A0: 6}, 3000.0)
    assert state.due_at == 3000.0 + RENEWED_EVERY


def test_an_offset_does_not_go_back() -> None:
    """The group's place is kept, and which it is is known; others are told."""
    state = commitment()
    state.ended({A0: 5, A1: 7})
    state.has({A0: 50, A1: 6}, 0.0)
    assert state.pending == {A1: 7}
    assert state.kept_back == {A0: 50}
    state.told({A1: 7}, 0.0)
    assert not state.is_open
    state.ended({A0: 51, A1: 7})
    assert (state.pending, state.kept_back) == ({A0: 51}, {})


def test_a_group_is_asked_again_where_an_end_has_gone_back() -> None:
    """B511: the offset of a topic that was created again is gone with the former."""
    state = commitment()
    state.ended({A0: 100, A1: 7})
    state.has({A0: None, A1: None}, 0.0)
    state.told({A0: 100, A1: 7}, 0.0)
    state.ended({A0: 5, A1: 7})
    assert (state.unknown, state.kept_back) == ((A0,), {})
    state.has({A0: None}, 1.0)
    assert state.pending == {A0: 5}
    state.told({A0: 5}, 1.0)
    state.ended({A0: 4, A1: 7})
    state.has({A0: 5}, 2.0)
    assert (state.pending, state.kept_back) == ({}, {A0: 5})
    state.ended({A0: 4, A1: 8})
    assert state.unknown == ()


def test_it_goes_back_where_that_is_allowed() -> None:
    """A checkpoint that was deleted on purpose."""
    state = commitment(allow_rewind=True)
    state.ended({A0: 5})
    state.has({A0: 50}, 0.0)
    assert (state.pending, state.kept_back) == ({A0: 5}, {})


def test_a_partition_that_is_no_more_is_forgotten() -> None:
    """And one that comes is asked about."""
    state = commitment()
    state.ended({A0: 5})
    state.has({A0: None}, 0.0)
    state.ended({A1: 1})
    assert (state.unknown, dict(state.committed), state.pending) == ((A1,), {}, {})
