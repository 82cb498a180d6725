"""A fetch session by itself: what is said, under which number, and its table."""

from uuid import UUID

import pytest

from prokurist.events.fetching import Wish
from prokurist.events.position_state import Position
from prokurist.network_thread.fetch.session import (
    LAST_NUMBER,
    FetchSession,
    SessionPartition,
    Terms,
)
from prokurist.network_thread.wire.fetch import Fetch, FetchQuestion
from prokurist.types import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
IDS = {"a": UUID(int=1), "b": UUID(int=2)}
TERMS = Terms(0.5, 1, read_committed=False, rack="")


def asked(tp: TopicPartition, offset: int = 0) -> SessionPartition:
    """What is wanted of a partition."""
    return SessionPartition(Wish(tp, 1, Position(offset)), FetchQuestion(tp, offset, 100))


def ask(
    session: FetchSession, *wanted: SessionPartition, ids: dict[str, UUID] | None = None
) -> Fetch:
    """The next request."""
    return session.request(wanted, IDS if ids is None else ids, TERMS, 1000)


def named(request: Fetch) -> tuple[int, int, list[str], list[str]]:
    """Its session, its number, what it asks about, and what it forgets."""
    return (
        request.session_id,
        request.session_epoch,
        [each.partition.topic for each in request.questions],
        [each.topic for each in request.forgotten],
    )


def test_only_what_changes_is_said() -> None:
    """New, moved on, forgotten; and nothing at all."""
    session = FetchSession()
    assert named(ask(session, asked(A))) == (0, 0, ["a"], [])
    session.answered(7)
    assert named(ask(session, asked(A), asked(B))) == (7, 1, ["b"], [])
    session.answered(7)
    assert named(ask(session, asked(A, 5), asked(B))) == (7, 2, ["a"], [])
    session.answered(7)
    assert named(ask(session, asked(A, 5), asked(B))) == (7, 3, [], [])
    session.answered(7)
    assert named(ask(session, asked(A, 5))) == (7, 4, [], ["b"])


def test_without_a_session_everything_is_said() -> None:
    """The broker has no room for one."""
    session = FetchSession()
    for _ in range(2):
        assert named(ask(session, asked(A))) == (0, 0, ["a"], [])
        session.answered(0)


@pytest.mark.parametrize(("unknown", "number"), [(True, 0), (False, 7)])
def test_a_lost_session_is_replaced(*, unknown: bool, number: int) -> None:
    """The old one is named, so that the broker ends it, unless it has forgotten it."""
    session = FetchSession()
    ask(session, asked(A))
    session.answered(7)
    session.lost(unknown=unknown)
    assert named(ask(session, asked(A))) == (number, 0, ["a"], [])


@pytest.mark.parametrize("ids", [{}, {"a": UUID(int=9)}])
def test_another_way_to_name_topics_begins_a_new_one(ids: dict[str, UUID]) -> None:
    """By their names, or by ids of topics that were created again."""
    session = FetchSession()
    ask(session, asked(A))
    session.answered(7)
    assert named(ask(session, asked(A), ids=ids)) == (7, 0, ["a"], [])


def test_the_numbers_go_round() -> None:
    """After the greatest comes 1: 0 would begin a session."""
    session = FetchSession()
    ask(session, asked(A))
    session.answered(7)
    session._epoch = LAST_NUMBER
    assert named(ask(session, asked(A)))[1] == LAST_NUMBER
    session.answered(7)
    assert named(ask(session, asked(A)))[1] == 1


def test_the_end() -> None:
    """Only of one that the broker keeps; and then there is no other."""
    session = FetchSession()
    assert session.end() is None
    session = FetchSession()
    ask(session, asked(A))
    session.answered(7)
    end = session.end()
    assert end is not None
    assert (end.session_id, end.session_epoch) == (7, -1)
    with pytest.raises(AssertionError, match="from closed to full"):
        session.lost()
    assert "closed" in repr(session)
