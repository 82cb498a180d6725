"""What the network thread has to tell a poll."""

from collections.abc import Callable

import pytest

from prokurist.errors import KafkaException, NetworkThreadDiedException
from prokurist.events.background_events import BackgroundError, BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.events.subscription import Wanted
from prokurist.types import TopicPartition

A, B = (Wanted(TopicPartition("orders", number), number, None) for number in range(2))


def everything(_: Wanted) -> bool:
    """The user still wants it."""
    return True


def error(text: str, *about: Wanted) -> BackgroundError:
    """An error about some positions."""
    return BackgroundError(KafkaException(text), frozenset(about))


def test_errors_are_taken_one_by_one_in_order() -> None:
    """B164: and then there are none."""
    events = BackgroundEvents()
    events.post(error("first", A))
    events.post(error("second"))
    assert [str(events.take(everything)) for _ in range(3)] == ["first", "second", "None"]


def test_what_nobody_wants_any_more_is_dropped() -> None:
    """CONTRACT 2.8: unless the error is about nothing in particular."""
    events = BackgroundEvents()
    events.post(error("dropped", A))
    events.post(error("kept", A, B))
    events.post(error("always"))
    assert str(events.take(B.__eq__)) == "kept"
    assert str(events.take(B.__eq__)) == "always"


def test_of_one_cause_there_is_one_error() -> None:
    """The newest; others keep their place."""
    events = BackgroundEvents()
    events.post(error("old", A))
    events.post(error("other", B))
    events.post(error("new", A))
    assert repr(events) == "BackgroundEvents(open, 2 errors)"
    assert [str(events.take(everything)) for _ in range(2)] == ["other", "new"]


def test_whatever_comes_ends_the_wait_of_a_poll() -> None:
    """An error, a nudge, the end of the thread: each opens its gate, from then on no more."""
    events = BackgroundEvents()
    ways: list[Callable[[], None]] = [
        lambda: events.post(error("e")),
        events.nudge,
        lambda: events.close(KafkaException("over")),
    ]
    for come in ways:
        watched, gone = Call("poll", 0.0, NEVER), Call("poll", 0.0, NEVER)
        events.watch(gone)
        events.watch(watched)
        come()
        assert watched.gate.is_open
        assert not gone.gate.is_open
        events.watch(None)
        come()


def test_once_closed_every_look_says_why() -> None:
    """The first reason counts, and does not grow with every look."""
    events = BackgroundEvents()
    events.check_open()
    died = NetworkThreadDiedException("died")
    events.close(died)
    events.close(KafkaException("later"))
    depths = []
    for _ in range(3):
        with pytest.raises(NetworkThreadDiedException) as caught:
            events.check_open()
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1
